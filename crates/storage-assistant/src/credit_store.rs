//! Credits and usage in SQL.
//!
//! `admit` queues its request, starts a booking unless one is under way, and waits for
//! the reply. `settle` and `record` only queue. `start` spawns the two tasks of an
//! instance: `sequencer::run`, which books the rest, and `run_lease`, which renews the
//! lease and looks for dead instances. At shutdown call `drain`, once no records are
//! added any more.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_assistant::{
    AdmissionOutcome, AdmissionRequest, CreditHolder, CreditMismatch, CreditStore, CreditWindows,
    GroupBudget, Micros, Settlement, SettlementSink, TopUpOutcome, UsageLog, UsageRecord, Weeks,
    Window, WindowKey, WindowKind,
};
use pia_kernel::{BudgetPeriod, Clock, GroupId, LiveSetting, SideEffects, Unavailable};
use pia_storage::schema::credit_windows;
use pia_storage::{Database, DbError, DbUid, InsertAll, WriteEffects, in_tx, on_conn};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::booking::{fill_pool, last_week, pool_of};
use crate::context::BookingContext;
use crate::group_budgets::{self, GroupBudgetStatements};
use crate::lease;
use crate::member_windows::MemberWindowStatements;
use crate::queue::{Entry, PendingRequest, Queue};
use crate::sequencer::{self, Sequencer, source_message};
use crate::statements::{LockWindows, Statements};
use crate::tally::{Counts, add};
use crate::window_row::WindowRow;

/// Maximum number of usage records queued while the database is unavailable:
/// some minutes at full load, in about 30 MB.
const MAX_QUEUED_RECORDS: usize = 100_000;

/// Store of credits and usage in SQL.
///
/// One task books all queued entries in one transaction: ended calls, their
/// usage, and admission requests. Beyond 100,000 records of usage the oldest
/// are dropped and counted. Clones share one queue.
#[derive(Clone)]
pub struct SqlCreditStore {
    context: BookingContext,
    sequencer: Arc<Mutex<Sequencer>>,
    instances: LiveSetting<u32>,
}

impl SqlCreditStore {
    /// Creates a store that reads windows and books top-ups, but admits no call, as it
    /// has no booking task.
    pub fn idle(db: Database, weeks: LiveSetting<Weeks>, clock: Arc<dyn Clock>) -> Self {
        let credit_store = Self::open(db, weeks, clock, TaskTracker::new());
        credit_store.context.queue.close();
        credit_store
    }

    /// Creates a store whose booking tasks run in `tasks` on the runtime `main`,
    /// until [`drain`](Self::drain) ends them.
    pub fn start(
        db: Database,
        weeks: LiveSetting<Weeks>,
        clock: Arc<dyn Clock>,
        tasks: &TaskTracker,
        main: &Handle,
    ) -> Self {
        let credit_store = Self::open(db, weeks, clock, tasks.clone());
        let sequencer = Arc::clone(&credit_store.sequencer);
        tasks.spawn_on(sequencer::run(credit_store.context.clone(), sequencer), main);
        tasks.spawn_on(credit_store.clone().run_lease(), main);
        credit_store
    }

    fn open(
        db: Database,
        weeks: LiveSetting<Weeks>,
        clock: Arc<dyn Clock>,
        tasks: TaskTracker,
    ) -> Self {
        let context = BookingContext {
            db,
            queue: Arc::new(Queue::new(MAX_QUEUED_RECORDS)),
            lease: Arc::default(),
            tally: Arc::default(),
            hurry: Arc::default(),
            stop: CancellationToken::new(),
            clock,
            weeks,
            tasks,
        };

        Self { context, sequencer: Arc::default(), instances: LiveSetting::new(1) }
    }

    /// Waits until all records are written, for at most `limit`, and ends the
    /// tasks. Returns the number of records that were not written. No records
    /// may be added any more.
    pub async fn drain(&self, limit: Duration) -> u64 {
        self.context.hurry.notify_one();
        // Only the wait is cancelled, never a running statement.
        drop(tokio::time::timeout(limit, self.context.queue.wait_until_empty()).await);
        self.context.stop.cancel();
        let lost_records = self.waiting_count();
        if lost_records > 0 {
            tracing::error!(records = lost_records, "usage records lost at shutdown");
        }
        lost_records
    }

    /// Releases the reservations of dead instances, as happens every few
    /// seconds. Returns the number of reservations, one a window.
    pub async fn reap(&self) -> Result<u64, Unavailable> {
        let released_count = lease::reap(&self.context.db).await?;
        add(&self.context.tally.reaped_reservations, released_count);
        Ok(released_count)
    }

    /// Renews the lease of this instance and counts the live ones, itself
    /// included, as happens every few seconds.
    pub async fn heartbeat(&self) -> Result<u32, Unavailable> {
        Ok(self.renew_lease().await?)
    }

    /// Returns the number of live instances as of the last renewal; 1 before the
    /// first. Limits on upstreams are divided by it.
    pub fn instances(&self) -> LiveSetting<u32> {
        self.instances.clone()
    }

    /// Returns the number of records written since the start.
    pub fn written_count(&self) -> u64 {
        self.context.queue.written_count()
    }

    /// Returns the number of entries not yet written.
    pub fn waiting_count(&self) -> u64 {
        self.context.queue.waiting_count()
    }

    /// Returns the number of records lost because the queue was full.
    pub fn dropped_count(&self) -> u64 {
        self.context.queue.dropped_count()
    }

    /// Returns the number of batches that could not be written and were queued
    /// again.
    pub fn failure_count(&self) -> u64 {
        self.context.queue.failure_count()
    }

    /// Returns the admission counters.
    pub fn counts(&self) -> Counts {
        self.context.tally.counts()
    }

    /// Renews the lease, and releases the reservations of dead instances.
    async fn run_lease(self) {
        loop {
            if let Err(err) = self.renew_lease().await {
                let cause = source_message(&err);
                tracing::warn!(error = %err, cause, "failed to renew the instance lease");
            }

            match self.reap().await {
                Ok(0) => {}
                Ok(reaped) => {
                    tracing::warn!(
                        reservations = reaped,
                        "released reservations of dead instances"
                    );
                }
                Err(err) => tracing::warn!(error = %err, "failed to check for dead instances"),
            }

            let pause = tokio::time::sleep(lease::RENEWAL_INTERVAL);
            if self.context.stop.run_until_cancelled(pause).await.is_none() {
                break;
            }
        }

        // Other instances release its remaining reservations at once.
        drop(self.context.lease.end(&self.context.db).await);
    }

    async fn renew_lease(&self) -> Result<u32, DbError> {
        self.context.lease.renew(&self.context.db).await?;
        let living = lease::count_live(&self.context.db).await?.max(1);
        if *self.instances.get() != living {
            self.instances.set(living);
        }
        Ok(living)
    }
}

impl UsageLog for SqlCreditStore {
    fn record(&self, usage: UsageRecord) {
        self.context.queue.push(Entry::Used(usage));
    }
}

impl SettlementSink for SqlCreditStore {
    fn settle(&self, settlement: Settlement) {
        self.context.queue.push(Entry::Settled(settlement));
    }
}

#[async_trait]
impl CreditStore for SqlCreditStore {
    async fn admit(&self, request: AdmissionRequest) -> Result<AdmissionOutcome, Unavailable> {
        let admission = async {
            loop {
                let (reply, receiver) = oneshot::channel();
                if !self.context.queue.push_request(PendingRequest { request, reply }) {
                    return Err(Unavailable::new("credits", "the server is stopping"));
                }

                sequencer::spawn_booking(&self.context, &self.sequencer);
                // The task that took the request may end with its caller's runtime;
                // a reservation it made ends with this instance's lease.
                if let Ok(result) = receiver.await {
                    return result;
                }
            }
        };

        match tokio::time::timeout(self.context.db.statement_timeout(), admission).await {
            Ok(result) => result,
            Err(_) => Err(Unavailable::new("credits", "no answer in time")),
        }
    }

    async fn load_windows(&self, holder: CreditHolder) -> Result<CreditWindows, Unavailable> {
        let keys: Vec<String> = holder.windows().map(|it| it.to_string()).collect();
        let now = self.context.clock.now();
        let weeks = *self.context.weeks.get();
        Ok(on_conn!(self.context.db.reader(), |conn| {
            let rows = conn.windows(&keys).await?;
            let mut credit_windows = CreditWindows { windows: BTreeMap::new(), weeks, now };
            for key in holder.windows() {
                let empty_row = WindowRow::new(key, None, None);
                let row = rows.iter().find(|it| it.key == empty_row.key).unwrap_or(&empty_row);
                let mut window = row.window()?;
                window.roll_over(weeks, now);
                credit_windows.windows.insert(key, window);
            }

            if pool_of(&holder, &credit_windows).is_some() {
                let unused_credits =
                    conn.unused_credits(last_week(&holder, &credit_windows)).await?;
                fill_pool(&mut credit_windows, &holder, unused_credits);
            }

            credit_windows
        })?)
    }

    async fn load_group_budgets(&self, min_share: Micros) -> Result<Vec<GroupBudget>, Unavailable> {
        let weeks = *self.context.weeks.get();
        let now = self.context.clock.now();
        Ok(on_conn!(self.context.db.reader(), |conn| {
            let windows = conn.used_group_windows(min_share, now).await?;
            group_budgets::current(windows, min_share, weeks, now)?
        })?)
    }

    async fn load_member_windows(
        &self,
        group: GroupId,
        period: BudgetPeriod,
    ) -> Result<Vec<Window>, Unavailable> {
        let weeks = *self.context.weeks.get();
        let now = self.context.clock.now();
        Ok(on_conn!(self.context.db.reader(), |conn| {
            let mut windows = Vec::new();
            for row in conn.windows_of_members(group, period, now).await? {
                let mut window = row.window()?;
                window.roll_over(weeks, now);
                windows.push(window);
            }

            windows
        })?)
    }

    async fn top_up(
        &self,
        group: GroupId,
        credits: Micros,
        expected: Option<Micros>,
        effects: SideEffects,
    ) -> Result<TopUpOutcome, Unavailable> {
        let key = WindowKey { kind: WindowKind::TopUp, owner: group.0 };
        let row = WindowRow::new(key, None, Some(DbUid(group.0)));
        let keys = [key.to_string()];
        in_tx!(self.context.db, async |conn| {
            if conn.existing_ids(&[], &[DbUid(group.0)]).await?.is_empty() {
                return Ok(TopUpOutcome::UnknownGroup);
            }

            conn.insert_all(vec![row.clone()]).await?;
            let locked_rows = conn.lock_windows(&keys).await?;
            let before = locked_rows.as_slice().first().map_or(0, |it| it.total);
            if expected.is_some_and(|it| it.0 != before) {
                return Ok(TopUpOutcome::Stale);
            }

            let total = before.saturating_add(credits.0);
            diesel::update(credit_windows::table.find(key.to_string()))
                .set(credit_windows::total.eq(total))
                .execute(conn)
                .await?;

            let audit_fields = |micros| BTreeMap::from([("topUpMicros", micros)]);
            let effects =
                effects.with_changes(Some(&audit_fields(before)), Some(&audit_fields(total)));
            conn.write_effects(&self.context.db, &effects).await?;

            Ok(TopUpOutcome::Done(Micros(total)))
        })
    }

    async fn load_top_ups(&self, group: GroupId) -> Result<Micros, Unavailable> {
        let key = WindowKey { kind: WindowKind::TopUp, owner: group.0 };
        let window = credit_windows::table.find(key.to_string()).select(credit_windows::total);
        let total: Option<i64> =
            on_conn!(self.context.db.reader(), |conn| window.first(conn).await.optional()?)?;
        Ok(Micros(total.unwrap_or_default()))
    }

    async fn find_mismatches(&self) -> Result<Vec<CreditMismatch>, Unavailable> {
        let rows = on_conn!(self.context.db.reader(), |conn| conn.mismatches().await?)?;
        let mismatches = rows
            .into_iter()
            .map(|it| CreditMismatch {
                window: it.window_key,
                reserved: Micros(it.reserved),
                open: Micros(it.open),
            })
            .collect();
        Ok(mismatches)
    }
}

impl std::fmt::Debug for SqlCreditStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqlCreditStore").field("queue", &self.context.queue).finish_non_exhaustive()
    }
}
