//! Performance of the database when it is queried without a server.

use std::path::Path;
use std::time::Duration;

use super::figures::Metric;
use super::items::Dice;
use super::postgres::Postgres;
use super::sqlite::Sqlite;
use crate::contenders::Server;
use crate::failure::Outcome;
use crate::installation::DATABASE_FILE;

/// Number of rows in one read.
pub(super) const ROWS: u8 = 100;

/// The database of a server.
pub(super) enum Raw {
    Sqlite(Box<Sqlite>),
    Postgres(Box<Postgres>),
}

/// Owner of the rows that are read: their changes after a stamp.
pub(super) struct RowOwner<'a> {
    pub(super) email: String,
    pub(super) since: &'a str,
}

impl Raw {
    /// Looks up who that is; a server without a URL is one on SQLite.
    pub(super) fn of(server: &Server, url: Option<&str>, whose: &RowOwner<'_>) -> Outcome<Self> {
        let dir: &Path = &server.installation.dir;
        Ok(match url {
            None => Self::Sqlite(Box::new(Sqlite::open(&dir.join(DATABASE_FILE), dir, whose)?)),
            Some(url) => Self::Postgres(Box::new(Postgres::open(url, dir, whose)?)),
        })
    }

    /// Gives so many people more a copy of all that this one has.
    pub(super) fn copy(&mut self, people: u32) -> Outcome<()> {
        match self {
            Self::Sqlite(raw) => raw.copy(people),
            Self::Postgres(raw) => raw.copy(people),
        }
    }

    /// Returns the number of reads a second on this number of connections.
    pub(super) fn reads(&self, connections: usize, lasts: Duration) -> Outcome<f64> {
        match self {
            Self::Sqlite(raw) => raw.reads(connections, lasts),
            Self::Postgres(raw) => raw.reads(connections, lasts),
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

    /// Rows a second that are inserted in so many transactions.
    pub(super) fn inserts(&mut self, dice: &mut Dice, transactions: usize) -> Outcome<f64> {
        match self {
            Self::Sqlite(raw) => raw.inserts(dice, transactions),
            Self::Postgres(raw) => raw.inserts(dice, transactions),
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

    fn whose() -> RowOwner<'static> {
        RowOwner { email: EMAIL.to_owned(), since: BEFORE }
    }

    /// Somebody with one thing, as the tables are in this version.
    fn somebody(id: &str, time: &str, bytes: &str) -> String {
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
        assert!(raw.inserts(&mut Dice::new(1), 2).unwrap() > 0.0);
    }

    #[test]
    fn the_tables_of_a_file_are_filled_without_a_server() {
        let (runtime, dir) = (Runtime::new().unwrap(), tempfile::tempdir().unwrap());
        let fresh = TestDatabase::sqlite();
        drop(runtime.block_on(fresh.connect()));
        let file = Path::new(fresh.url.strip_prefix("sqlite://").unwrap());
        let id = "x'00112233445566778899aabbccddeeff'";
        let mut conn = SqliteConnection::establish(&file.to_string_lossy()).unwrap();
        conn.batch_execute(&somebody(id, "1", "x'7b7d'")).unwrap();

        fill(Raw::Sqlite(Box::new(Sqlite::open(file, dir.path(), &whose()).unwrap())));
    }

    #[test]
    fn the_tables_of_a_cluster_are_filled_without_a_server() {
        let (runtime, dir) = (Runtime::new().unwrap(), tempfile::tempdir().unwrap());
        let fresh = runtime.block_on(TestDatabase::postgres());
        let session = Session::open(&fresh.url).unwrap();
        let id = "'00112233-4455-6677-8899-aabbccddeeff'";
        session.run(&somebody(id, "now()", r"'\x7b7d'")).unwrap();

        fill(Raw::Postgres(Box::new(Postgres::open(&fresh.url, dir.path(), &whose()).unwrap())));

        let count = |table| session.number(&format!("SELECT count(*) FROM {table}")).unwrap();
        assert_eq!((count("sync_items"), count("pia_bench_items")), (4, 2));
    }
}
