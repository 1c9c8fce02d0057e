//! Worker of assignments over a Temporal server, registered while it works.

use pia_temporal::TemporalWorker;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::assignment_worker::repeat;
use crate::worker_lease::{RENEW_INTERVAL, WorkerLease};

/// Starts the worker, which ends when stopped, once its steps have ended.
pub(crate) fn start(
    worker: TemporalWorker,
    lease: WorkerLease,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) {
    let stop = stop.clone();
    tasks.spawn(async move {
        let ended = CancellationToken::new();
        let work = async {
            worker.work(&stop).await;
            ended.cancel();
        };
        tokio::join!(work, repeat(RENEW_INTERVAL, ended.clone(), || lease.renew()));
        lease.retire().await;
    });
}
