//! Lease that shows that an instance is alive, and the release of the calls of dead ones.
//!
//! Reservations carry the id of their instance. An instance renews its lease every
//! five seconds, for fifteen, and admits calls for ten. Every instance calls `reap` at
//! the same interval: it deletes expired leases, and releases the reservations whose
//! instance has none. A call of such an instance that ends later is charged as late.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use diesel::dsl::{exists, not};
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl;
use pia_storage::schema::{credit_instances, credit_reservations};
use pia_storage::{Database, DatabaseKind, DbError, DbUid, Uid, in_tx, on_conn};
use tokio::time::Instant;
use uuid::Uuid;

use crate::booking::PutWindows;
use crate::statements::LockWindows;

/// Interval at which an instance renews its lease, and looks for expired ones.
pub(crate) const RENEWAL_INTERVAL: Duration = Duration::from_secs(5);
/// Time for which calls are admitted, from the start of a renewal. The lease lasts
/// five seconds longer, in which bookings that were started complete.
const ADMITS_FOR: Duration = Duration::from_secs(10);

/// Lease of an instance. Its expiry is checked with the database's clock, so that
/// the clocks of instances do not matter.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) instance: Uuid,
    renewed_at: Mutex<Option<Instant>>,
}

impl Default for Lease {
    fn default() -> Self {
        Self { instance: Uuid::now_v7(), renewed_at: Mutex::default() }
    }
}

impl Lease {
    /// Returns whether calls may be admitted under the lease, by this process's clock.
    pub(crate) fn holds(&self) -> bool {
        let renewed_at = *self.renewed_at.lock().unwrap_or_else(PoisonError::into_inner);
        renewed_at.is_some_and(|it| it.elapsed() < ADMITS_FOR)
    }

    /// Renews the lease for fifteen seconds.
    pub(crate) async fn renew(&self, db: &Database) -> Result<(), DbError> {
        let started_at = Instant::now();

        let end = match db.provider() {
            DatabaseKind::Postgres => "clock_timestamp() + interval '15 seconds'",
            DatabaseKind::Sqlite => "CAST(unixepoch('subsec') * 1000000 AS INTEGER) + 15000000",
        };

        let renewal = diesel::sql_query(format!(
            "INSERT INTO credit_instances (id, alive_until) VALUES ($1, {end})
             ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until"
        ))
        .bind::<Uid, _>(DbUid(self.instance));

        on_conn!(db.writer(), |conn| {
            renewal.execute(conn).await?;
        })?;
        *self.renewed_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(started_at);

        Ok(())
    }

    /// Ends the lease: any instance may release the remaining reservations.
    pub(crate) async fn end(&self, db: &Database) -> Result<(), DbError> {
        *self.renewed_at.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let deletion = diesel::delete(credit_instances::table.find(DbUid(self.instance)));
        on_conn!(db.writer(), |conn| {
            deletion.execute(conn).await?;
        })?;
        Ok(())
    }
}

#[derive(QueryableByName)]
struct LiveInstances {
    #[diesel(sql_type = BigInt)]
    living: i64,
}

/// Returns the number of live instances.
pub(crate) async fn count_live(db: &Database) -> Result<u32, DbError> {
    let count = diesel::sql_query(match db.provider() {
        DatabaseKind::Postgres => {
            "SELECT count(*) AS living FROM credit_instances
             WHERE alive_until >= clock_timestamp()"
        }
        DatabaseKind::Sqlite => {
            "SELECT count(*) AS living FROM credit_instances
             WHERE alive_until >= CAST(unixepoch('subsec') * 1000000 AS INTEGER)"
        }
    });
    let LiveInstances { living } = on_conn!(db.reader(), |conn| count.get_result(conn).await?)?;
    Ok(u32::try_from(living).unwrap_or(u32::MAX))
}

/// Releases the reservations of dead instances. Returns the number of
/// reservations, one a window.
pub(crate) async fn reap(db: &Database) -> Result<u64, DbError> {
    let delete_dead = match db.provider() {
        DatabaseKind::Postgres => {
            "DELETE FROM credit_instances WHERE id IN (
                 SELECT id FROM credit_instances WHERE alive_until < clock_timestamp()
                 ORDER BY id FOR UPDATE SKIP LOCKED)"
        }
        DatabaseKind::Sqlite => {
            "DELETE FROM credit_instances
             WHERE alive_until < CAST(unixepoch('subsec') * 1000000 AS INTEGER)"
        }
    };

    // An instance stores its lease before it reserves anything, so that
    // reservations without one are a dead instance's.
    let owner =
        credit_instances::table.filter(credit_instances::id.eq(credit_reservations::instance_id));
    let orphaned_reservations = credit_reservations::table.filter(not(exists(owner)));
    let window_keys = orphaned_reservations.select(credit_reservations::window_key).distinct();
    in_tx!(db, async |conn| -> Result<u64, DbError> {
        diesel::sql_query(delete_dead).execute(conn).await?;
        let keys: Vec<String> = window_keys.load(conn).await?;
        if keys.is_empty() {
            return Ok(0);
        }
        let mut rows = conn.lock_windows(&keys).await?;
        let reservations =
            orphaned_reservations.filter(credit_reservations::window_key.eq_any(&keys));
        let released_amounts: Vec<(String, i64)> = diesel::delete(reservations)
            .returning((credit_reservations::window_key, credit_reservations::amount))
            .get_results(conn)
            .await?;
        let count = released_amounts.len() as u64;
        let mut sums: BTreeMap<String, i64> = BTreeMap::new();
        for (key, amount) in released_amounts {
            *sums.entry(key).or_default() += amount;
        }
        for row in &mut rows {
            row.reserved -= sums.get(&row.key).copied().unwrap_or_default();
        }
        conn.put_windows(rows).await?;
        Ok(count)
    })
}
