//! Lower bounds: the fastest times possible on this machine, measured in the
//! same run.
//!
//! One measurement of each a round, beside the contenders: `SELECT 1`, a commit of
//! one row, and a password hash. `aims.rs` uses the commits as limits.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use argon2::{Algorithm, Argon2, Params, Version};
use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};

use crate::failure::Outcome;
use crate::postgres::Session;
use crate::stats::median;

/// Number of measurements of each floor in a round.
const ATTEMPTS: usize = 40;
/// Number of commits of a floor that is measured at a fixed rate.
const PACED_ATTEMPTS: usize = 500;
const HASH_ATTEMPTS: usize = 3;

/// Names of the commit times at 1000 commits a second, as calls wait for them:
/// a database that was idle for most of a millisecond is slower than a busy
/// one.
pub(crate) const SQLITE_COMMIT: &str = "SQLite, one-row commit, 1000/s";
pub(crate) const POSTGRES_COMMIT: &str = "PostgreSQL, one-row commit, 1000/s";
const PACE: Duration = Duration::from_millis(1);

/// Pragmas that the server sets on its write connection.
const SQLITE_WRITES: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;";
const CREATE_TABLE: &str = "CREATE TABLE pia_bench_floor (id INTEGER NOT NULL, note TEXT NOT NULL)";
const INSERT_ROW: &str = "INSERT INTO pia_bench_floor (id, note) VALUES (1, 'one row')";
const SELECT_NOTHING: &str = "SELECT 1";

/// Connections that the floors are measured on, and the results.
pub(crate) struct Floors {
    sqlite: SqliteConnection,
    postgres: Option<Session>,
    list: Vec<Floor>,
}

/// Times of a floor in milliseconds, one a round.
#[derive(Debug, Clone)]
pub(crate) struct Floor {
    pub(crate) name: &'static str,
    pub(crate) rounds: Vec<f64>,
}

impl Floors {
    /// Creates a small table in each database.
    pub(crate) fn prepare(dir: &Path, postgres: Option<&str>) -> Outcome<Self> {
        let file = dir.join("floor.db");
        let mut sqlite = SqliteConnection::establish(&file.to_string_lossy())?;
        sqlite.batch_execute(SQLITE_WRITES)?;
        sqlite.batch_execute(CREATE_TABLE)?;
        let postgres = postgres.map(Session::open).transpose()?;
        if let Some(session) = &postgres {
            session.run(CREATE_TABLE)?;
        }
        Ok(Self { sqlite, postgres, list: Vec::new() })
    }

    /// Measures every floor once.
    pub(crate) fn measure(&mut self) -> Outcome<()> {
        let sqlite = &mut self.sqlite;
        let read = milliseconds(ATTEMPTS, None, || Ok(sqlite.batch_execute(SELECT_NOTHING)?))?;
        let commit = milliseconds(ATTEMPTS, None, || Ok(sqlite.batch_execute(INSERT_ROW)?))?;
        let paced =
            milliseconds(PACED_ATTEMPTS, Some(PACE), || Ok(sqlite.batch_execute(INSERT_ROW)?))?;
        self.record("SQLite, `SELECT 1`", read);
        self.record("SQLite, one-row commit", commit);
        self.record(SQLITE_COMMIT, paced);

        if let Some(session) = &self.postgres {
            let read = milliseconds(ATTEMPTS, None, || session.run(SELECT_NOTHING))?;
            let commit = milliseconds(ATTEMPTS, None, || session.run(INSERT_ROW))?;
            let paced = milliseconds(PACED_ATTEMPTS, Some(PACE), || session.run(INSERT_ROW))?;
            self.record("PostgreSQL, `SELECT 1`", read);
            self.record("PostgreSQL, one-row commit", commit);
            self.record(POSTGRES_COMMIT, paced);
        }

        let argon2 = hasher()?;
        let hash = milliseconds(HASH_ATTEMPTS, None, || hash(&argon2))?;
        self.record("Argon2id hash, 19 MiB, t=2, p=1", hash);

        Ok(())
    }

    pub(crate) fn floors(&self) -> &[Floor] {
        &self.list
    }

    fn record(&mut self, name: &'static str, value: f64) {
        match self.list.iter_mut().find(|it| it.name == name) {
            Some(floor) => floor.rounds.push(value),
            None => self.list.push(Floor { name, rounds: vec![value] }),
        }
    }
}

/// Returns the median time of an attempt; attempts are made without a pause, or
/// one every `pace`.
fn milliseconds(
    attempts: usize,
    pace: Option<Duration>,
    mut attempt: impl FnMut() -> Outcome<()>,
) -> Outcome<f64> {
    let mut samples = Vec::with_capacity(attempts);
    let mut due = Instant::now();
    for _ in 0..attempts {
        if let Some(pace) = pace {
            due += pace;
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        let start = Instant::now();
        attempt()?;
        samples.push(start.elapsed().as_secs_f64() * 1e3);
    }

    median(&samples).ok_or_else(|| "nothing was tried".into())
}

/// Returns a hasher with the server's default cost, which is OWASP's.
pub(crate) fn hasher() -> Outcome<Argon2<'static>> {
    let params = Params::new(19 * 1024, 2, 1, None).map_err(|err| err.to_string())?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

pub(crate) fn hash(argon2: &Argon2<'_>) -> Outcome<()> {
    let mut out = [0; 32];
    argon2
        .hash_password_into(b"a password of a benchmark", b"sixteen bytes ok", &mut out)
        .map_err(|err| err.to_string())?;
    std::hint::black_box(out);
    Ok(())
}
