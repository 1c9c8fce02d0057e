//! Performance of the database when it is queried without a server.
//!
//! The numbers stand beside those of the server: a share of 0.5 means that the
//! server pulls half as many pages a second as the database alone reads.

use std::path::Path;
use std::time::Duration;

use super::figures::Metric;
use super::items::Rng;
use super::postgres::Postgres;
use super::sqlite::Sqlite;
use crate::contenders::Server;
use crate::failure::Outcome;
use crate::installation::DATABASE_FILE;

/// Number of rows in one read.
pub(super) const ROWS: u8 = 100;

/// Database of a server.
pub(super) enum Raw {
    Sqlite(Box<Sqlite>),
    Postgres(Box<Postgres>),
}

/// Owner of the rows that are read, and the stamp after which they are read.
pub(super) struct RowOwner<'a> {
    pub(super) email: String,
    pub(super) since: &'a str,
}

impl Raw {
    /// Opens the database and looks up the owner; without a URL it is SQLite.
    pub(super) fn open(server: &Server, url: Option<&str>, owner: &RowOwner<'_>) -> Outcome<Self> {
        let dir: &Path = &server.installation.dir;
        Ok(match url {
            None => Self::Sqlite(Box::new(Sqlite::open(&dir.join(DATABASE_FILE), dir, owner)?)),
            Some(url) => Self::Postgres(Box::new(Postgres::open(url, dir, owner)?)),
        })
    }

    /// Copies the data of the owner to this number of additional users.
    pub(super) fn copy(&mut self, users: u32) -> Outcome<()> {
        match self {
            Self::Sqlite(raw) => raw.copy(users),
            Self::Postgres(raw) => raw.copy(users),
        }
    }

    /// Returns the number of reads a second on this number of connections.
    pub(super) fn reads(&self, connections: usize, duration: Duration) -> Outcome<f64> {
        match self {
            Self::Sqlite(raw) => raw.reads(connections, duration),
            Self::Postgres(raw) => raw.reads(connections, duration),
        }
    }

    /// Returns the metrics for pulls as a share of these reads, over one
    /// connection and over four. A SQLite file is read within the process,
    /// without a client-server round trip, so that the comparison says less
    /// about a server than the one with another client of its database.
    pub(super) fn share_metrics(&self) -> [Metric; 2] {
        match self {
            Self::Sqlite(_) => [Metric::InProcessOne, Metric::InProcessFour],
            Self::Postgres(_) => [Metric::ShareOne, Metric::ShareFour],
        }
    }

    /// Returns the rows a second inserted in this number of transactions.
    pub(super) fn inserts(&mut self, rng: &mut Rng, transactions: usize) -> Outcome<f64> {
        match self {
            Self::Sqlite(raw) => raw.inserts(rng, transactions),
            Self::Postgres(raw) => raw.inserts(rng, transactions),
        }
    }
}

#[cfg(test)]
mod tests {
    use diesel::connection::SimpleConnection;
    use diesel::prelude::*;
    use pia_testkit::databases::TestDatabase;
    use tokio::runtime::Runtime;

    use super::*;
    use crate::postgres::Session;

    const EMAIL: &str = "ada@bench.example";
    const BEFORE: &str = "2026-01-01T00:00:00Z";

    fn owner() -> RowOwner<'static> {
        RowOwner { email: EMAIL.to_owned(), since: BEFORE }
    }

    /// Returns statements that insert a user with one item.
    fn user_with_item(id: &str, time: &str, bytes: &str) -> String {
        format!(
            "INSERT INTO accounts (id, email, email_folded, provider, customer_type, created_at)
                VALUES ({id}, '{EMAIL}', '{EMAIL}', 'local', 0, {time});
            INSERT INTO sync_items (user_id, channel, id, stamp, changed_at, encrypted, size,
                    digest, body)
                VALUES ({id}, 5, {id}, {time}, {time}, false, 2, {bytes}, {bytes});"
        )
    }

    fn fill(mut raw: Raw) {
        raw.copy(3).unwrap();
        assert!(raw.inserts(&mut Rng::new(1), 2).unwrap() > 0.0);
    }

    #[test]
    fn sqlite_tables_are_filled_without_a_server() {
        let runtime = Runtime::new().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let database = TestDatabase::sqlite();
        drop(runtime.block_on(database.connect()));
        let file = Path::new(database.url.strip_prefix("sqlite://").unwrap());
        let id = "x'00112233445566778899aabbccddeeff'";
        let mut conn = SqliteConnection::establish(&file.to_string_lossy()).unwrap();
        conn.batch_execute(&user_with_item(id, "1", "x'7b7d'")).unwrap();

        fill(Raw::Sqlite(Box::new(Sqlite::open(file, dir.path(), &owner()).unwrap())));
    }

    #[test]
    fn postgres_tables_are_filled_without_a_server() {
        let runtime = Runtime::new().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let database = runtime.block_on(TestDatabase::postgres());
        let session = Session::open(&database.url).unwrap();
        let id = "'00112233-4455-6677-8899-aabbccddeeff'";
        session.run(&user_with_item(id, "now()", r"'\x7b7d'")).unwrap();

        fill(Raw::Postgres(Box::new(Postgres::open(&database.url, dir.path(), &owner()).unwrap())));

        let count = |table| session.number(&format!("SELECT count(*) FROM {table}")).unwrap();
        assert_eq!(count("sync_items"), 4);
        assert_eq!(count("pia_bench_items"), 2);
    }
}
