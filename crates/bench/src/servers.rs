//! Servers on each database, for benchmarks without a model.

use std::net::SocketAddr;
use std::path::Path;

use crate::contenders::Server;
use crate::failure::Outcome;
use crate::installation::{ACCOUNTS, Database};
use crate::postgres::OwnDatabase;

/// Starts a server on SQLite and, if PostgreSQL is configured, one on that.
pub(crate) fn start(
    program: &Path,
    postgres: Option<&OwnDatabase>,
    dir: &Path,
) -> Outcome<Vec<(&'static str, Server)>> {
    // The upstream is never called.
    let unused = SocketAddr::from(([127, 0, 0, 1], 9));
    let mut databases = vec![("server, SQLite", Database::Sqlite)];
    databases.extend(postgres.map(|it| ("server, PostgreSQL", Database::Postgres(it.url.clone()))));
    databases
        .into_iter()
        .map(|(name, database)| {
            Ok((name, Server::start(name, program, &database, (dir, unused), ACCOUNTS)?))
        })
        .collect()
}
