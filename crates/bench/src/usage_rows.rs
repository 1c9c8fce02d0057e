//! Check in the database that the usage of each call was recorded.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::sql_types::BigInt;
use diesel::{Connection, RunQueryDsl, SqliteConnection};

use crate::failure::Outcome;
use crate::postgres::Session;

const COUNT: &str = "SELECT count(*) FROM ai_usage";
/// Maximum wait for usage records, which a server writes after the response.
const MAX_WAIT: Duration = Duration::from_secs(15);

/// Usage records of a server.
pub(crate) enum UsageRows {
    /// Database in a file.
    Sqlite(PathBuf),
    /// Database of a PostgreSQL server.
    Postgres(Box<Session>),
}

impl UsageRows {
    /// Returns the number of recorded calls.
    pub(crate) fn count(&self) -> Outcome<i64> {
        match self {
            Self::Sqlite(file) => {
                let mut sqlite = SqliteConnection::establish(&file.to_string_lossy())?;
                sqlite.batch_execute("PRAGMA busy_timeout = 5000; PRAGMA query_only = ON;")?;
                Ok(sql::<BigInt>(COUNT).get_result(&mut sqlite)?)
            }
            Self::Postgres(session) => session.number(COUNT),
        }
    }

    /// Returns the number of records beyond `before`, once that reaches
    /// `expected` or the maximum wait is over.
    pub(crate) fn since(&self, before: i64, expected: i64) -> Outcome<i64> {
        let start = Instant::now();
        loop {
            let more = self.count()?.saturating_sub(before);
            if more >= expected || start.elapsed() > MAX_WAIT {
                return Ok(more);
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_in_a_sqlite_file_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.db");
        let mut sqlite = SqliteConnection::establish(&file.to_string_lossy()).unwrap();
        sqlite.batch_execute("CREATE TABLE ai_usage (id INTEGER)").unwrap();
        let rows = UsageRows::Sqlite(file);
        let before = rows.count().unwrap();

        sqlite.batch_execute("INSERT INTO ai_usage VALUES (1), (2), (3)").unwrap();

        assert_eq!(before, 0);
        assert_eq!(rows.since(before, 3).unwrap(), 3);
    }
}
