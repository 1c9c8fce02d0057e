//! Servers on each database, for benchmarks without a model.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::contenders::{Server, ServerSetup};
use crate::failure::Outcome;
use crate::installation::{ACCOUNTS, Database};
use crate::options::Options;
use crate::postgres::OwnDatabase;
use crate::programs::server_program;
use crate::{machine, page};

/// Servers on each database, for benchmarks without a model.
///
/// Dropped in the order of the fields: the servers end before their databases.
pub(crate) struct Servers {
    /// Servers with their names: on SQLite and, if PostgreSQL is configured, on that.
    pub(crate) list: Vec<(&'static str, Server)>,
    /// Database of the second server.
    pub(crate) postgres: Option<OwnDatabase>,
    /// Machine and databases, for the report.
    pub(crate) machine: Vec<(&'static str, String)>,
    /// Program of the servers.
    pub(crate) program: PathBuf,
    _dir: TempDir,
}

impl Servers {
    /// Starts the servers in a folder of their own.
    pub(crate) fn start(options: &Options) -> Outcome<Self> {
        let program = server_program(options)?;
        let dir = tempfile::tempdir()?;
        let postgres = options.postgres_url.as_deref().map(OwnDatabase::create).transpose()?;
        let mut machine = machine::describe(dir.path());
        if let Some(database) = &postgres {
            machine.push(("PostgreSQL", database.describe()?));
        }

        let mut databases = vec![("server, SQLite", Database::Sqlite)];
        let url = postgres.as_ref().map(|it| it.url.clone());
        databases.extend(url.map(|url| ("server, PostgreSQL", Database::Postgres(url))));
        // The upstream is never called.
        let unused = SocketAddr::from(([127, 0, 0, 1], 9));
        let mut list = Vec::new();
        for (name, database) in databases {
            let setup = ServerSetup { database: &database, upstream: unused, accounts: ACCOUNTS };
            list.push((name, Server::start(name, &program, setup, dir.path())?));
        }

        Ok(Self { list, postgres, machine, program, _dir: dir })
    }

    /// Returns the names of the servers.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.list.iter().map(|(name, _)| *name).collect()
    }

    /// Returns the URL of a server's database; `None` for SQLite.
    pub(crate) fn postgres_url(&self, index: usize) -> Option<&str> {
        if index == 0 {
            return None;
        }
        self.postgres.as_ref().map(|it| it.url.as_str())
    }
}

/// Prints a report, and writes it to the section of the configured file.
pub(crate) fn publish(options: &Options, section: &str, report: &str) -> Outcome<()> {
    std::io::stdout().lock().write_all(report.as_bytes())?;
    options.out.as_deref().map_or(Ok(()), |file| page::write(file, section, report))
}

/// Reports progress on stderr; if that is closed, not at all.
pub(crate) fn log_progress(message: &str) {
    drop(writeln!(std::io::stderr().lock(), "pia-bench: {message}"));
}
