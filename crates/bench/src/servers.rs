//! The server on each database, for what concerns no model.

use std::net::SocketAddr;
use std::path::Path;

use crate::contenders::Server;
use crate::failure::Outcome;
use crate::installation::{CROWD, Database};
use crate::postgres::OwnDatabase;

/// Server on SQLite and, where there is a PostgreSQL, one on that.
pub(crate) fn start(
    program: &Path,
    postgres: Option<&OwnDatabase>,
    dir: &Path,
) -> Outcome<Vec<(&'static str, Server)>> {
    // Nobody is asked there.
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 9));
    let mut databases = vec![("server, SQLite", Database::Sqlite)];
    databases.extend(postgres.map(|it| ("server, PostgreSQL", Database::Postgres(it.url.clone()))));
    databases
        .into_iter()
        .map(|(name, database)| {
            Ok((name, Server::start(name, program, &database, (dir, nowhere), CROWD)?))
        })
        .collect()
}
