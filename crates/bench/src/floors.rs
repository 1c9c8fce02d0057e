//! Lower bounds: the fastest times possible on this machine, measured in the
//! same run.

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
const TRIES: usize = 40;
const PACED: usize = 500;
const HASHES: usize = 3;

/// A commit that a call waits for, at 1000 calls a second: what was not busy
/// for most of a millisecond takes longer than what never rests.
pub(crate) const SQLITE_COMMIT: &str = "SQLite, one-row commit, 1000/s";
pub(crate) const POSTGRES_COMMIT: &str = "PostgreSQL, one-row commit, 1000/s";
const PACE: Duration = Duration::from_millis(1);

/// Pragmas that the server sets on its write connection.
const SQLITE_WRITES: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;";
const TABLE: &str = "CREATE TABLE pia_bench_floor (id INTEGER NOT NULL, note TEXT NOT NULL)";
const ROW: &str = "INSERT INTO pia_bench_floor (id, note) VALUES (1, 'one row')";
const NOTHING: &str = "SELECT 1";

/// The floors, and what was measured of them.
pub(crate) struct Floors {
    sqlite: SqliteConnection,
    postgres: Option<Session>,
    found: Vec<Floor>,
}

/// Floor's milliseconds, a round each.
#[derive(Debug, Clone)]
pub(crate) struct Floor {
    pub(crate) what: &'static str,
    pub(crate) rounds: Vec<f64>,
}

impl Floors {
    /// Puts a small table into each database.
    pub(crate) fn prepare(dir: &Path, postgres: Option<&str>) -> Outcome<Self> {
        let file = dir.join("floor.db");
        let mut sqlite = SqliteConnection::establish(&file.to_string_lossy())?;
        sqlite.batch_execute(SQLITE_WRITES)?;
        sqlite.batch_execute(TABLE)?;
        let postgres = postgres.map(Session::open).transpose()?;
        if let Some(session) = &postgres {
            session.run(TABLE)?;
        }
        Ok(Self { sqlite, postgres, found: Vec::new() })
    }

    /// Measures all of them once.
    pub(crate) fn measure(&mut self) -> Outcome<()> {
        let sqlite = &mut self.sqlite;
        let read = milliseconds(TRIES, None, || Ok(sqlite.batch_execute(NOTHING)?))?;
        let commit = milliseconds(TRIES, None, || Ok(sqlite.batch_execute(ROW)?))?;
        let paced = milliseconds(PACED, Some(PACE), || Ok(sqlite.batch_execute(ROW)?))?;
        self.record("SQLite, `SELECT 1`", read);
        self.record("SQLite, one-row commit", commit);
        self.record(SQLITE_COMMIT, paced);
        if let Some(session) = &self.postgres {
            let read = milliseconds(TRIES, None, || session.run(NOTHING))?;
            let commit = milliseconds(TRIES, None, || session.run(ROW))?;
            let paced = milliseconds(PACED, Some(PACE), || session.run(ROW))?;
            self.record("PostgreSQL, `SELECT 1`", read);
            self.record("PostgreSQL, one-row commit", commit);
            self.record(POSTGRES_COMMIT, paced);
        }
        let argon2 = hasher()?;
        let hash = milliseconds(HASHES, None, || hash(&argon2))?;
        self.record("Argon2id hash, 19 MiB, t=2, p=1", hash);
        Ok(())
    }

    pub(crate) fn found(&self) -> &[Floor] {
        &self.found
    }

    fn record(&mut self, what: &'static str, value: f64) {
        match self.found.iter_mut().find(|it| it.what == what) {
            Some(floor) => floor.rounds.push(value),
            None => self.found.push(Floor { what, rounds: vec![value] }),
        }
    }
}

/// The median of what one try takes, one after the other or each at its time.
fn milliseconds(
    tries: usize,
    pace: Option<Duration>,
    mut attempt: impl FnMut() -> Outcome<()>,
) -> Outcome<f64> {
    let mut took = Vec::with_capacity(tries);
    let mut due = Instant::now();
    for _ in 0..tries {
        if let Some(pace) = pace {
            due += pace;
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        let begun = Instant::now();
        attempt()?;
        took.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    median(&took).ok_or_else(|| "nothing was tried".into())
}

/// The server's default, which is OWASP's.
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
