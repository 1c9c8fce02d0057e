//! Maintenance while the server runs.
//!
//! The tasks themselves are in `compose/maintenance.rs`, in the order of
//! `MaintenanceKind::ALL`.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pia_kernel::{Clock, MaintenanceKind, MaintenanceLog, Unavailable};
use tokio_util::sync::CancellationToken;

const RUN_INTERVAL: Duration = Duration::from_mins(10);

type Work = Box<dyn Fn() -> BoxFuture<'static, Result<u64, Unavailable>> + Send + Sync>;

/// Periodic deletion of one kind of expired data.
pub(crate) struct MaintenanceTask(Work);

impl MaintenanceTask {
    /// Creates a task; `work` deletes what is expired and returns how much that was.
    pub(crate) fn new<W>(work: impl Fn() -> W + Send + Sync + 'static) -> Self
    where
        W: Future<Output = Result<u64, Unavailable>> + Send + 'static,
    {
        Self(Box::new(move || work().boxed()))
    }
}

/// Runner of all maintenance tasks.
///
/// Every instance runs the tasks; concurrent runs are harmless.
pub(crate) struct Housekeeping {
    pub(crate) tasks: Vec<(MaintenanceKind, MaintenanceTask)>,
    pub(crate) log: Arc<dyn MaintenanceLog>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Name of this instance in the log.
    pub(crate) instance: String,
}

impl Housekeeping {
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut tick = tokio::time::interval(RUN_INTERVAL);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);

        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = tick.tick() => {}
            }
            // Outside of `select!`, so that no task is cancelled half-way.
            for (kind, task) in &self.tasks {
                self.run_once(*kind, task).await;
            }
        }
    }

    /// Runs a task and records the run. Runs it even if that cannot be recorded.
    async fn run_once(&self, kind: MaintenanceKind, MaintenanceTask(work): &MaintenanceTask) {
        let what = kind.name();
        let started = self.log.start(kind, &self.instance, self.clock.now()).await;

        let error = match work().await {
            Ok(0) => None,
            Ok(count) => {
                tracing::info!(what, gone = count, "expired data deleted");
                None
            }
            Err(err) => {
                tracing::warn!(what, error = %err, "failed to delete expired data");
                Some(err.to_string())
            }
        };
        let finished = self.log.finish(kind, self.clock.now(), error.as_deref()).await;
        if let Err(err) = started.and(finished) {
            tracing::warn!(what, error = %err, "failed to record the run of a maintenance task");
        }
    }
}

/// Returns the name of this instance: its host and process.
pub(crate) fn instance_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}/{}", host.trim(), std::process::id())
}
