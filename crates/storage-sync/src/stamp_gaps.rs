//! SQL storage of stamp gaps. The server's composition records one at each start,
//! before it serves requests; after a restore, the gap covers the stamps that
//! were lost.

use diesel::prelude::*;
use diesel::query_dsl::methods;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use pia_kernel::{Timestamp, Unavailable};
use pia_storage::schema::{accounts, ledgers, silences as stamp_gaps};
use pia_storage::{Database, DbError, DbInstant, in_tx};
use pia_sync::{StampGap, StampGaps};

use crate::head_query::latest;

/// Maximum number of stored gaps; the latest ones stay.
const MAX_GAPS: i64 = 1_000;

/// Store of the times in which no stamp was issued.
#[derive(Debug, Clone)]
pub struct SqlStampGaps {
    db: Database,
}

impl SqlStampGaps {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    /// Records the gap between the latest stamp and `now`, and returns all
    /// recorded gaps. Call it before serving requests.
    pub async fn record_gap_until(&self, now: Timestamp) -> Result<StampGaps, Unavailable> {
        use stamp_gaps::{began_at, ended_at};

        Ok(in_tx!(self.db, async |conn| -> Result<StampGaps, DbError> {
            let stamp: Option<DbInstant> =
                ledgers::table.select(latest(ledgers::last_stamp)).first(conn).await?;
            // A new account's first stamp is its creation time.
            let account: Option<DbInstant> =
                accounts::table.select(latest(accounts::created_at)).first(conn).await?;
            let last = stamp.into_iter().chain(account).map(|it| it.0).max();
            if let Some(last) = last.filter(|it| *it < now) {
                let upsert = diesel::insert_into(stamp_gaps::table)
                    .values((began_at.eq(DbInstant(last)), ended_at.eq(DbInstant(now))))
                    .on_conflict(began_at)
                    .do_update()
                    .set(ended_at.eq(excluded(ended_at)));
                // If several servers start at once, the latest end wins.
                methods::FilterDsl::filter(upsert, ended_at.lt(excluded(ended_at)))
                    .execute(conn)
                    .await?;
            }

            let rows: Vec<(DbInstant, DbInstant)> =
                stamp_gaps::table.order(began_at.desc()).limit(MAX_GAPS).load(conn).await?;
            if let Some((oldest, _)) = rows.last() {
                diesel::delete(stamp_gaps::table.filter(began_at.lt(*oldest)))
                    .execute(conn)
                    .await?;
            }

            let to_gap = |(began, ended): (DbInstant, DbInstant)| StampGap {
                began_at: began.0,
                ended_at: ended.0,
            };
            Ok(StampGaps::new(rows.into_iter().map(to_gap).collect()))
        })?)
    }
}
