//! Direct access to the tables of a server in PostgreSQL.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::items::Rng;
use super::pgbench::Pgbench;
use super::raw::{ROWS, RowOwner};
use super::seeding::BATCH;
use crate::failure::Outcome;
use crate::postgres::Session;
use crate::stats::count;

/// Columns of an item's row, except for its owner.
const COLUMNS: &str = "channel, id, stamp, changed_at, deleted_at, encrypted, size, digest, body";
/// Expression for a row in the format of `COPY`, for items that are not
/// deleted.
const ROW: &str = r"
    E'\t' || channel || E'\t' || id || E'\t' || stamp || E'\t' || changed_at || E'\t\\N\t'
    || encrypted || E'\t' || size || E'\t\\' || digest::text || E'\t\\' || body::text || E'\n'";
const CREATE_TARGET: &str = "CREATE TABLE pia_bench_items (LIKE sync_items INCLUDING ALL)";

/// Database of a server, with an additional table for raw inserts.
pub(super) struct Postgres {
    session: Session,
    url: String,
    pgbench: Pgbench,
    script: PathBuf,
    user: String,
    since: String,
    rows: Vec<String>,
}

impl Postgres {
    pub(super) fn open(url: &str, dir: &Path, owner: &RowOwner<'_>) -> Outcome<Self> {
        let session = Session::open(url)?;
        let script = dir.join("page.sql");
        // `reads` checks the number of rows, as `pgbench` does not.
        fs::write(
            &script,
            format!(
                "SELECT channel, id, stamp, body FROM sync_items \
                 WHERE user_id = :person AND stamp > :since ORDER BY stamp LIMIT {ROWS};\n"
            ),
        )?;
        let user = format!("SELECT id::text FROM accounts WHERE email_folded = '{}'", owner.email);
        let user = session.text(&user)?;
        let rows = session.texts(&format!(
            "SELECT {ROW} FROM sync_items WHERE user_id = '{user}' LIMIT {BATCH}"
        ))?;
        session.run(CREATE_TARGET)?;

        Ok(Self {
            session,
            url: url.to_owned(),
            pgbench: Pgbench::find(),
            script,
            user,
            since: owner.since.to_owned(),
            rows,
        })
    }

    pub(super) fn copy(&self, users: u32) -> Outcome<()> {
        let user = &self.user;
        let mut rng = Rng::new(3);
        for number in 0..users {
            let other = rng.id();
            let email = format!("copy{number}@bench.example");
            self.session.run(&format!(
                "INSERT INTO accounts (id, email, email_folded, provider, customer_type, created_at)
                    VALUES ('{other}', '{email}', '{email}', 'local', 0, now());
                INSERT INTO sync_items (user_id, {COLUMNS}) SELECT '{other}', {COLUMNS}
                    FROM sync_items WHERE user_id = '{user}' ORDER BY stamp"
            ))?;
        }

        // Work that PostgreSQL would do in the background is not part of a
        // round.
        self.session.run("VACUUM (ANALYZE) sync_items")?;

        self.session.run("CHECKPOINT")
    }

    pub(super) fn reads(&self, connections: usize, duration: Duration) -> Outcome<f64> {
        let rows = self.session.number(&format!(
            "SELECT count(*) FROM sync_items WHERE user_id = '{}' AND stamp > '{}'",
            self.user, self.since
        ))?;
        if rows != i64::from(ROWS) {
            return Err(format!("{rows} rows would be read, not {ROWS}").into());
        }
        let variables = [("person", self.user.as_str()), ("since", &self.since)];
        self.pgbench.per_second(&self.url, &self.script, &variables, (connections, duration))
    }

    pub(super) fn inserts(&self, rng: &mut Rng, transactions: usize) -> Outcome<f64> {
        let copy = format!("COPY pia_bench_items (user_id, {COLUMNS}) FROM STDIN");
        let start = Instant::now();
        for _ in 0..transactions {
            let user = rng.id();
            let rows: String = self.rows.iter().flat_map(|row| [user.as_str(), row]).collect();
            self.session.copy(&copy, rows.into_bytes())?;
        }
        Ok(count(transactions * self.rows.len()) / start.elapsed().as_secs_f64())
    }
}
