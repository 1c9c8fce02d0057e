//! Records of calls, which are written together: the audit entry of each, and the
//! counts of its pod.
//!
//! A tool has had its effect by then, so that a record that fails is logged and
//! does not fail the call; `add` waits only if too many records do.

use std::collections::BTreeMap;
use std::slice::from_ref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_kernel::{RequestContext, SideEffects};
use pia_pods::{CallRecord, PodCallOutcome, PodId};
use pia_storage::schema::connected_pods;
use pia_storage::{Database, DbError, DbUid, WriteEffects, in_tx};
use tokio::runtime::Handle;
use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;

/// Number of records that may wait to be written, beyond which their calls wait too.
const MAX_WAITING: usize = 1_000;

/// Records of calls that wait to be written. One task writes at a time: all records
/// that have come meanwhile, in one transaction, since each commit waits for the disk.
#[derive(Debug, Clone)]
pub(crate) struct CallRecords {
    db: Database,
    /// Tasks that write, which the end of the server waits for.
    tasks: TaskTracker,
    runtime: Handle,
    waiting: Arc<Mutex<Vec<WaitingRecord>>>,
    writing: Arc<AsyncMutex<()>>,
    slots: Arc<Semaphore>,
}

#[derive(Debug)]
struct WaitingRecord {
    call: CallRecord,
    effects: SideEffects,
    /// Context of the request that called.
    context: RequestContext,
    _slot: OwnedSemaphorePermit,
}

/// Sums of the calls of a pod.
#[derive(Debug, Clone, Copy, Default)]
struct CallTotals {
    calls: i64,
    failures: i64,
    milliseconds: i64,
}

impl CallRecords {
    /// Creates the records in `db`, which tasks on the current runtime write.
    pub(crate) fn new(db: Database, tasks: TaskTracker) -> Self {
        let waiting = Arc::default();
        let writing = Arc::default();
        let slots = Semaphore::new(MAX_WAITING);
        Self { db, tasks, runtime: Handle::current(), waiting, writing, slots: Arc::new(slots) }
    }

    /// Adds a record, which is written soon.
    pub(crate) async fn add(&self, call: CallRecord, effects: SideEffects) {
        // The semaphore is never closed.
        let Ok(slot) = Arc::clone(&self.slots).acquire_owned().await else { return };
        let context = RequestContext::current();
        self.lock_waiting().push(WaitingRecord { call, effects, context, _slot: slot });
        let records = self.clone();
        self.tasks.spawn_on(async move { records.write_waiting().await }, &self.runtime);
    }

    async fn write_waiting(&self) {
        let _turn = self.writing.lock().await;
        let records = std::mem::take(&mut *self.lock_waiting());
        if records.is_empty() || self.write(&records).await.is_ok() {
            return;
        }

        // One record may be the reason, and must not take the others with it.
        join_all(records.iter().map(async |it| {
            if let Err(err) = self.write(from_ref(it)).await {
                let pod = it.call.pod.0;
                tracing::error!(error = %err, %pod, "a call of a pod could not be recorded");
            }
        }))
        .await;
    }

    async fn write(&self, records: &[WaitingRecord]) -> Result<(), DbError> {
        // In the order of their ids, so that no two instances wait for one another.
        let mut totals_by_pod = BTreeMap::<PodId, CallTotals>::new();
        for WaitingRecord { call, .. } in records {
            let totals = totals_by_pod.entry(call.pod).or_default();
            totals.calls += 1;
            totals.failures += i64::from(call.outcome == PodCallOutcome::Failed);
            totals.milliseconds += call.milliseconds;
        }

        in_tx!(self.db, async |conn| -> Result<(), DbError> {
            for record in records {
                let write = conn.write_effects(&self.db, &record.effects);
                record.context.clone().scope(write).await?;
            }
            for (pod, totals) in &totals_by_pod {
                let milliseconds = connected_pods::milliseconds + totals.milliseconds;
                diesel::update(connected_pods::table.find(DbUid(pod.0)))
                    .set((
                        connected_pods::calls.eq(connected_pods::calls + totals.calls),
                        connected_pods::failures.eq(connected_pods::failures + totals.failures),
                        connected_pods::milliseconds.eq(milliseconds),
                    ))
                    .execute(conn)
                    .await?;
            }
            Ok(())
        })
    }

    /// Locks the waiting records. Nothing panics while they are locked.
    fn lock_waiting(&self) -> MutexGuard<'_, Vec<WaitingRecord>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
