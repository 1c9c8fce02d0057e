//! Number of statements that the server sends, counted in PostgreSQL's log.
//!
//! The log settings apply to the whole cluster, by `ALTER SYSTEM`, and are reset
//! after the calls. A benchmark that is killed in between leaves them behind. The
//! counts include all connections to the database, so that nobody else may use it
//! meanwhile.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Outcome;
use crate::postgres::Session;

/// Temporary log settings: the logged statements, and the prefix of a line.
const SETTINGS: [(&str, &str); 3] =
    [("log_line_prefix", "%d|"), ("log_parameter_max_length", "0"), ("log_statement", "all")];
/// Tables of sync. Names of other tables may contain these names.
const TABLES: [&str; 5] = ["sync_items", "sync_events", "ledgers", "person_salts", "catalogue"];
/// Maximum time until a cluster applies the settings; then the delay until its
/// other connections do too.
const MAX_WAIT: Duration = Duration::from_secs(5);
const APPLY_DELAY: Duration = Duration::from_millis(200);

/// Log of a cluster.
pub(super) struct StatementLog {
    session: Session,
    database: String,
    file: PathBuf,
}

/// Numbers of SQL statements by kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct StatementCounts {
    /// Statements on sync's tables.
    pub(super) sync: usize,
    /// Statements on other tables; transaction control is not counted.
    pub(super) others: usize,
}

impl StatementLog {
    /// Opens the log of the cluster of this database.
    pub(super) fn open(url: &str, file: &Path) -> Outcome<Self> {
        let session = Session::open(url)?;
        let database = session.text("SELECT current_database()::text")?;
        Ok(Self { session, database, file: file.to_owned() })
    }

    /// Counts the statements during `calls`, on all connections to the
    /// database.
    pub(super) fn count(&self, calls: impl FnOnce() -> Outcome<()>) -> Outcome<StatementCounts> {
        let mut log = File::open(&self.file).map_err(|err| self.unreadable(&err))?;

        for (name, value) in SETTINGS {
            self.session.run(&format!("ALTER SYSTEM SET {name} = '{value}'"))?;
        }

        self.reload("all")?;
        log.seek(SeekFrom::End(0))?;
        let outcome = calls();
        let mut bytes = Vec::new();
        let read = log.read_to_end(&mut bytes);

        for (name, _) in SETTINGS {
            self.session.run(&format!("ALTER SYSTEM RESET {name}"))?;
        }

        self.reload("none")?;
        outcome?;
        read.map_err(|err| self.unreadable(&err))?;

        Ok(count_statements(&String::from_utf8_lossy(&bytes), &self.database))
    }

    fn reload(&self, expected: &str) -> Outcome<()> {
        self.session.run("SELECT pg_reload_conf()")?;
        let start = Instant::now();
        while self.session.text("SELECT current_setting('log_statement')")? != expected {
            if start.elapsed() > MAX_WAIT {
                return Err("PostgreSQL does not log statements when asked to".into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(APPLY_DELAY);
        Ok(())
    }

    fn unreadable(&self, err: &std::io::Error) -> String {
        format!("{}: {err}", self.file.display())
    }
}

/// Counts the statements in the log. Further lines of a statement start with a
/// tab.
fn count_statements(log: &str, database: &str) -> StatementCounts {
    let prefix = format!("{database}|LOG:  ");
    let mut counts = StatementCounts::default();
    let mut statement = String::new();
    for line in log.lines().chain(std::iter::once("")) {
        if line.starts_with('\t') {
            statement += line;
            continue;
        }
        counts.record(&statement);
        line.strip_prefix(&prefix).unwrap_or_default().clone_into(&mut statement);
    }

    counts
}

impl StatementCounts {
    /// Counts a line `execute NAME: …` or `statement: …` and ignores any other.
    fn record(&mut self, line: &str) {
        let Some((kind, sql)) = line.split_once(": ") else { return };
        let is_end = ["BEGIN", "COMMIT", "ROLLBACK"].iter().any(|it| sql.starts_with(it));
        if is_end || !(kind == "statement" || kind.starts_with("execute ")) {
            return;
        }
        let is_separator = |it: char| !(it.is_alphanumeric() || it == '_');
        if sql.split(is_separator).any(|it| TABLES.contains(&it)) {
            self.sync += 1;
        } else {
            self.others += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_counted_by_the_tables_they_name() {
        let log = "b|LOG:  statement: BEGIN\n\
            b|LOG:  execute s1: SELECT \"ledgers\".\"epoch\"\n\
            b|DETAIL:  parameters: $1 = '...'\n\
            b|LOG:  execute <unnamed>: \n\
            \t    SELECT stamp FROM sync_items\n\
            \t    ORDER BY stamp\n\
            other|LOG:  execute s1: SELECT 1 FROM sync_items\n\
            b|LOG:  execute s2: SELECT 1 FROM catalogue_of_others\n\
            b|LOG:  duration: 3 ms\n\
            b|LOG:  statement: COMMIT";

        assert_eq!(count_statements(log, "b"), StatementCounts { sync: 2, others: 1 });
        assert_eq!(count_statements("", "b"), StatementCounts::default());
    }
}
