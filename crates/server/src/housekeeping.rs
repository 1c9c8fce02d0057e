//! Maintenance while the server runs.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pia_kernel::Unavailable;
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_mins(10);

type Work = Box<dyn Fn() -> BoxFuture<'static, Result<u64, Unavailable>> + Send + Sync>;

/// Periodic deletion of one kind of expired data.
pub(crate) struct MaintenanceTask {
    what: &'static str,
    work: Work,
}

impl MaintenanceTask {
    /// Creates a task; `work` deletes what is expired and returns its number.
    pub(crate) fn new<W>(what: &'static str, work: impl Fn() -> W + Send + Sync + 'static) -> Self
    where
        W: Future<Output = Result<u64, Unavailable>> + Send + 'static,
    {
        Self { what, work: Box::new(move || work().boxed()) }
    }

    async fn once(&self) {
        let what = self.what;
        match (self.work)().await {
            Ok(0) => {}
            Ok(gone) => tracing::info!(what, gone, "expired data deleted"),
            Err(err) => tracing::warn!(what, error = %err, "failed to delete expired data"),
        }
    }
}

/// Runner of all maintenance tasks.
///
/// Every instance runs them; concurrent runs are harmless.
pub(crate) struct Housekeeping {
    pub(crate) tasks: Vec<MaintenanceTask>,
}

impl Housekeeping {
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut tick = tokio::time::interval(EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = tick.tick() => {}
            }
            // Outside of `select!`, so that it is not cancelled half-way.
            for task in &self.tasks {
                task.once().await;
            }
        }
    }
}
