//! Runs of assignments while the server runs, and their upkeep.
//!
//! Three independent loops: the worker, which claims runs and advances each in a
//! task of its own, if the engine is the embedded one (`compose/workflow.rs`); the
//! upkeep, which enforces time limits and cleans up; and the starts of schedules.
//! While it works, the worker renews its `WorkerLease`; runs of a worker without a
//! lease are claimed by others.

use std::sync::Arc;
use std::time::Duration;

use pia_assignments::{Advance, Run, Runs, Schedules, Upkeep};
use pia_kernel::{LiveSetting, Unavailable};
use pia_storage_assignments::SqlAssignments;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bridges::FeatureLicence;
use crate::worker_lease::{RENEW_INTERVAL, WorkerLease};

/// Interval of checking time limits, and of releasing a run again.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of looking for schedules that are due.
const SCHEDULES_INTERVAL: Duration = Duration::from_secs(5);
/// Interval of reconciling and cleaning up.
const UPKEEP_INTERVAL: Duration = Duration::from_mins(1);

/// Worker that advances runs over the embedded engine. Every instance has one;
/// each run is held by one worker.
pub(crate) struct AssignmentWorker {
    pub(crate) runs: Runs,
    pub(crate) lease: WorkerLease,
    /// Queue that other processes hand assignments over to.
    pub(crate) queue: Arc<SqlAssignments>,
    /// Maximum number of runs at once.
    pub(crate) concurrency: LiveSetting<u32>,
    /// Notified when an assignment is handed over.
    pub(crate) wake: Arc<Notify>,
}

impl AssignmentWorker {
    /// Starts the worker, which ends when stopped, once its steps have ended.
    pub(crate) fn start(self, tasks: &TaskTracker, stop: &CancellationToken) {
        let queue = Arc::clone(&self.queue);
        let wake = Arc::clone(&self.wake);
        let stopped = stop.clone();
        tasks.spawn(async move {
            stopped.run_until_cancelled(queue.wake_when_queued(&wake)).await;
        });
        tasks.spawn(self.work(stop.clone()));
    }

    async fn work(self, stop: CancellationToken) {
        // The queue is polled at the same interval.
        let mut tick = interval(RENEW_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut running = JoinSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = tick.tick() => self.lease.renew().await,
                () = self.wake.notified() => {}
                Some(_) = running.join_next() => {}
            }
            let outcome = self.fill(&mut running, &stop).await;
            log(outcome, "no assignment could be claimed");
        }

        // Models are told to stop, so that steps end soon and are released.
        while running.join_next().await.is_some() {}
        self.lease.retire().await;
    }

    /// Claims runs while there is room for them.
    async fn fill(
        &self,
        running: &mut JoinSet<()>,
        stop: &CancellationToken,
    ) -> Result<(), Unavailable> {
        while running.len() < *self.concurrency.get() as usize && !stop.is_cancelled() {
            let Some(run) = self.runs.claim(self.lease.id).await? else { return Ok(()) };
            running.spawn(advance(self.runs.clone(), run, stop.clone()));
        }
        Ok(())
    }
}

/// Advances a run until it ends, or is to be repeated.
async fn advance(runs: Runs, mut run: Run, stop: CancellationToken) {
    let claim = run.claim;

    loop {
        match runs.advance(run).await {
            // A run that is not advanced any more stays claimed until its worker
            // is removed.
            Ok(Advance::Continue(next)) if !stop.is_cancelled() => run = *next,
            Ok(Advance::Continue(_) | Advance::Repeat(_) | Advance::Ended) => return,
            Err(err) => {
                tracing::warn!(error = %err, assignment = %claim.id, "a step could not be stored");
                break;
            }
        }
    }

    // Without a release the run would wait for the end of this worker.
    while let Err(err) = runs.release(claim).await {
        tracing::warn!(error = %err, assignment = %claim.id, "a run could not be released");
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
    }
}

/// Starts the upkeep of assignments, which ends when stopped.
pub(crate) fn start_upkeep(upkeep: Upkeep, tasks: &TaskTracker, stop: &CancellationToken) {
    let expiring = upkeep.clone();
    let stopped = stop.clone();
    tasks.spawn(async move {
        repeat(POLL_INTERVAL, stopped, || async {
            log(expiring.expire().await, "the time limit of assignments could not be checked");
        })
        .await;
    });
    let stopped = stop.clone();
    tasks.spawn(async move {
        repeat(UPKEEP_INTERVAL, stopped, || async {
            log(upkeep.reconcile().await, "waiting assignments could not be looked after");
            log(upkeep.clean_up().await, "old assignments could not be cleaned up");
        })
        .await;
    });
}

/// Starts handing over the assignments of schedules that are due, until stopped.
pub(crate) fn start_schedules(
    schedules: Schedules,
    licence: FeatureLicence,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) {
    let stopped = stop.clone();
    tasks.spawn(async move {
        repeat(SCHEDULES_INTERVAL, stopped, || async {
            if licence.is_valid() {
                log(schedules.start_due().await, "due schedules could not be started");
            }
        })
        .await;
    });
}

/// Repeats work until stopped.
pub(crate) async fn repeat<F: Future<Output = ()>>(
    period: Duration,
    stop: CancellationToken,
    work: impl Fn() -> F,
) {
    let mut tick = interval(period);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        // Outside of `select!`, so that the work is not cancelled half-way.
        work().await;
    }
}

/// Logs the failure of work that will be repeated.
pub(crate) fn log(outcome: Result<(), Unavailable>, message: &str) {
    if let Err(err) = outcome {
        tracing::warn!(error = %err, "{message}");
    }
}
