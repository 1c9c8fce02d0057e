//! The tables of a server in a file, without the server.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Binary, Text};
use pia_kernel::Timestamp;

use super::items::Dice;
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

/// A server's file, and one of the benchmark's own beside it.
pub(super) struct Sqlite {
    file: PathBuf,
    user: Vec<u8>,
    since: i64,
    own: SqliteConnection,
    rows: Vec<Row>,
}

impl Sqlite {
    pub(super) fn open(file: &Path, dir: &Path, whose: &RowOwner<'_>) -> Outcome<Self> {
        let mut reader = connect(file, READS)?;
        let user = format!("(SELECT id FROM accounts WHERE email_folded = '{}')", whose.email);
        let user: Vec<u8> = diesel::select(sql::<Binary>(&user)).get_result(&mut reader)?;
        let since: Timestamp = serde_json::from_value(whose.since.into())?;
        let rows = sync_items::table
            .filter(sync_items::user_id.eq(&user))
            .limit(i64::try_from(BATCH)?)
            .load(&mut reader)?;
        let mut own = connect(&dir.join("raw.db"), WRITES)?;
        // It refers to accounts, which are not there.
        own.batch_execute("PRAGMA foreign_keys = OFF")?;
        for part in sql::<Text>(DEFINITION).load::<String>(&mut reader)? {
            own.batch_execute(&part)?;
        }
        Ok(Self { file: file.to_owned(), user, since: since.micros(), own, rows })
    }

    /// Copies the data for this many users, one at a time so that the server may write in between.
    pub(super) fn copy(&mut self, people: u32) -> Outcome<()> {
        let mut writer = connect(&self.file, WRITES)?;
        let (user, mut dice) = (digits(&self.user), Dice::new(3));
        for number in 0..people {
            let (other, email) = (digits(&dice.bytes()), format!("copy{number}@bench.example"));
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
        // What the server would do sooner or later is not part of a round.
        Ok(writer.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)")?)
    }

    pub(super) fn reads(&self, connections: usize, lasts: Duration) -> Outcome<f64> {
        let readers = (0..connections)
            .map(|_| connect(&self.file, READS))
            .collect::<Outcome<Vec<SqliteConnection>>>()?;
        let begun = Instant::now();
        let made = thread::scope(|scope| {
            let whose = (self.user.as_slice(), self.since);
            let readers: Vec<_> = readers
                .into_iter()
                .map(|reader| scope.spawn(move || read(reader, whose, begun + lasts)))
                .collect();
            readers
                .into_iter()
                .map(|it| it.join().unwrap_or_else(|_| Err("a reader panicked".into())))
                .sum::<Outcome<usize>>()
        })?;
        Ok(count(made) / begun.elapsed().as_secs_f64())
    }

    pub(super) fn inserts(&mut self, dice: &mut Dice, transactions: usize) -> Outcome<f64> {
        let begun = Instant::now();
        for _ in 0..transactions {
            let (user, rows) = (dice.bytes(), &self.rows);
            self.own.immediate_transaction(|own| {
                rows.iter().try_for_each(|row| {
                    let row = Row { user_id: user.clone(), ..row.clone() };
                    diesel::insert_into(sync_items::table).values(row).execute(own).map(drop)
                })
            })?;
        }
        Ok(count(transactions * self.rows.len()) / begun.elapsed().as_secs_f64())
    }
}

fn read(
    mut reader: SqliteConnection,
    (user, since): (&[u8], i64),
    until: Instant,
) -> Outcome<usize> {
    use sync_items::{body, channel, id, stamp, user_id};
    let mut made = 0;
    while Instant::now() < until {
        let page = sync_items::table
            .filter(user_id.eq(user))
            .filter(stamp.gt(since))
            .order(stamp)
            .limit(i64::from(ROWS))
            .select((channel, id, stamp, body));
        let rows = page.load::<(i16, Vec<u8>, i64, Option<Vec<u8>>)>(&mut reader)?;
        if rows.len() != usize::from(ROWS) {
            return Err(format!("{} rows were read, not {ROWS}", rows.len()).into());
        }
        made += 1;
    }
    Ok(made)
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn connect(file: &Path, pragmas: &str) -> Outcome<SqliteConnection> {
    let mut connection = SqliteConnection::establish(&file.to_string_lossy())?;
    connection.batch_execute(pragmas)?;
    Ok(connection)
}
