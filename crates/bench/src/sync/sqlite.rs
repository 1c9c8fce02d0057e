//! Direct access to the tables of a server in a SQLite file.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Binary, Text};
use pia_kernel::Timestamp;

use super::items::Rng;
use super::raw::{ROWS, RowOwner};
use super::seeding::BATCH;
use crate::failure::Outcome;
use crate::stats::count;

/// Pragmas that the server sets on its read connections and on its write
/// connection.
const READS: &str = "PRAGMA busy_timeout = 60000; PRAGMA query_only = ON;";
const WRITES: &str = "
    PRAGMA busy_timeout = 60000;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;";
const DEFINITION: &str =
    "SELECT sql FROM sqlite_master WHERE tbl_name = 'sync_items' AND sql <> ''";

diesel::table! {
    sync_items (user_id, channel, id) {
        user_id -> Binary,
        channel -> SmallInt,
        id -> Binary,
        stamp -> BigInt,
        changed_at -> BigInt,
        deleted_at -> Nullable<BigInt>,
        encrypted -> Bool,
        size -> Integer,
        digest -> Binary,
        body -> Nullable<Binary>,
    }
}

/// Database file of a server, with an additional file for raw inserts.
pub(super) struct Sqlite {
    file: PathBuf,
    user: Vec<u8>,
    since: i64,
    target: SqliteConnection,
    rows: Vec<Row>,
}

impl Sqlite {
    pub(super) fn open(file: &Path, dir: &Path, owner: &RowOwner<'_>) -> Outcome<Self> {
        let mut reader = connect(file, READS)?;
        let user = format!("(SELECT id FROM accounts WHERE email_folded = '{}')", owner.email);
        let user: Vec<u8> = diesel::select(sql::<Binary>(&user)).get_result(&mut reader)?;
        let since: Timestamp = serde_json::from_value(owner.since.into())?;

        let rows = sync_items::table
            .filter(sync_items::user_id.eq(&user))
            .limit(i64::try_from(BATCH)?)
            .load(&mut reader)?;

        let mut target = connect(&dir.join("raw.db"), WRITES)?;
        // The table refers to accounts, which the file does not have.
        target.batch_execute("PRAGMA foreign_keys = OFF")?;

        for part in sql::<Text>(DEFINITION).load::<String>(&mut reader)? {
            target.batch_execute(&part)?;
        }

        Ok(Self { file: file.to_owned(), user, since: since.micros(), target, rows })
    }

    /// Copies the data for this many users, one at a time so that the server may write in between.
    pub(super) fn copy(&mut self, users: u32) -> Outcome<()> {
        let mut writer = connect(&self.file, WRITES)?;
        let user = digits(&self.user);
        let mut rng = Rng::new(3);
        for number in 0..users {
            let other = digits(&rng.bytes());
            let email = format!("copy{number}@bench.example");
            writer.batch_execute(&format!(
                "BEGIN IMMEDIATE;
                INSERT INTO accounts (id, email, email_folded, provider, customer_type, created_at)
                    VALUES (x'{other}', '{email}', '{email}', 'local', 0, 0);
                INSERT INTO sync_items (user_id, channel, id, stamp, changed_at, deleted_at,
                        encrypted, size, digest, body)
                    SELECT x'{other}', channel, id, stamp, changed_at, deleted_at, encrypted, size,
                        digest, body
                    FROM sync_items WHERE user_id = x'{user}' ORDER BY stamp;
                COMMIT;"
            ))?;
        }

        // Work that the server would do in the background is not part of a
        // round.
        Ok(writer.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)")?)
    }

    pub(super) fn reads(&self, connections: usize, duration: Duration) -> Outcome<f64> {
        let readers = (0..connections)
            .map(|_| connect(&self.file, READS))
            .collect::<Outcome<Vec<SqliteConnection>>>()?;
        let start = Instant::now();
        let completed = thread::scope(|scope| {
            let owner = self.user.as_slice();
            let since = self.since;
            let readers: Vec<_> = readers
                .into_iter()
                .map(|reader| scope.spawn(move || read(reader, owner, since, start + duration)))
                .collect();
            readers
                .into_iter()
                .map(|it| it.join().unwrap_or_else(|_| Err("a reader panicked".into())))
                .sum::<Outcome<usize>>()
        })?;

        Ok(count(completed) / start.elapsed().as_secs_f64())
    }

    pub(super) fn inserts(&mut self, rng: &mut Rng, transactions: usize) -> Outcome<f64> {
        let start = Instant::now();

        for _ in 0..transactions {
            let user = rng.bytes();
            let rows = &self.rows;
            self.target.immediate_transaction(|target| {
                rows.iter().try_for_each(|row| {
                    let row = Row { user_id: user.clone(), ..row.clone() };
                    diesel::insert_into(sync_items::table).values(row).execute(target).map(drop)
                })
            })?;
        }

        Ok(count(transactions * self.rows.len()) / start.elapsed().as_secs_f64())
    }
}

#[derive(Debug, Clone, Queryable, Insertable)]
#[diesel(table_name = sync_items)]
struct Row {
    user_id: Vec<u8>,
    channel: i16,
    id: Vec<u8>,
    stamp: i64,
    changed_at: i64,
    deleted_at: Option<i64>,
    encrypted: bool,
    size: i32,
    digest: Vec<u8>,
    body: Option<Vec<u8>>,
}

fn read(mut reader: SqliteConnection, owner: &[u8], since: i64, until: Instant) -> Outcome<usize> {
    use sync_items::{body, channel, id, stamp, user_id};

    let mut completed = 0;
    while Instant::now() < until {
        let page = sync_items::table
            .filter(user_id.eq(owner))
            .filter(stamp.gt(since))
            .order(stamp)
            .limit(i64::from(ROWS))
            .select((channel, id, stamp, body));
        let rows = page.load::<(i16, Vec<u8>, i64, Option<Vec<u8>>)>(&mut reader)?;
        if rows.len() != usize::from(ROWS) {
            return Err(format!("{} rows were read, not {ROWS}", rows.len()).into());
        }

        completed += 1;
    }

    Ok(completed)
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn connect(file: &Path, pragmas: &str) -> Outcome<SqliteConnection> {
    let mut connection = SqliteConnection::establish(&file.to_string_lossy())?;
    connection.batch_execute(pragmas)?;
    Ok(connection)
}
