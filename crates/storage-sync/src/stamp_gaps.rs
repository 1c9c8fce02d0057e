//! Times in which nobody was given a stamp, in SQL.

use diesel::prelude::*;
use diesel::query_dsl::methods;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use pia_kernel::{Timestamp, Unavailable};
use pia_storage::schema::{accounts, ledgers, silences};
use pia_storage::{Database, DbError, DbInstant, in_tx};
use pia_sync::{StampGap, StampGaps};

use crate::head_query::latest;

/// So many are kept, the latest ones.
const MAX_GAPS: i64 = 1_000;

/// Keeps times in which nobody was given a stamp, in SQL.
#[derive(Debug, Clone)]
pub struct SqlStampGaps {
    db: Database,
}

impl SqlStampGaps {
    /// Keeps them in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    /// Puts down that from the highest stamp there is until now nobody was given
    /// any, and gives all that were put down. Call it before anybody is served.
    pub async fn end(&self, now: Timestamp) -> Result<StampGaps, Unavailable> {
        use silences::{began_at, ended_at};
        Ok(in_tx!(self.db, async |conn| -> Result<StampGaps, DbError> {
            let stamp: Option<DbInstant> =
                ledgers::table.select(latest(ledgers::last_stamp)).first(conn).await?;
            // The first stamp that somebody's devices are told.
            let account: Option<DbInstant> =
                accounts::table.select(latest(accounts::created_at)).first(conn).await?;
            let last = stamp.into_iter().chain(account).map(|it| it.0).max();
            if let Some(last) = last.filter(|it| *it < now) {
                let put = diesel::insert_into(silences::table)
                    .values((began_at.eq(DbInstant(last)), ended_at.eq(DbInstant(now))))
                    .on_conflict(began_at)
                    .do_update()
                    .set(ended_at.eq(excluded(ended_at)));
                // Of servers that start at once, the last to do so counts.
                let put = methods::FilterDsl::filter(put, ended_at.lt(excluded(ended_at)));
                put.execute(conn).await?;
            }
            let kept = silences::table.order(began_at.desc()).limit(MAX_GAPS);
            let rows: Vec<(DbInstant, DbInstant)> = kept.load(conn).await?;
            if let Some((oldest, _)) = rows.last() {
                diesel::delete(silences::table.filter(began_at.lt(*oldest))).execute(conn).await?;
            }
            let told = |(began, ended): (DbInstant, DbInstant)| StampGap {
                began_at: began.0,
                ended_at: ended.0,
            };
            Ok(StampGaps::new(rows.into_iter().map(told).collect()))
        })?)
    }
}
