//! Ingestion of documents while the server runs.
//!
//! Two kinds of loops: some that ingest the next document due, and one that brings
//! the vector store into agreement with the database. The steps of both are in
//! `knowledge/src/ingestion.rs` and `reconciliation.rs`.

use std::time::Duration;

use pia_kernel::Unavailable;
use pia_knowledge::{Ingestion, IngestionOutcome, Reconciliation};
use tokio::runtime::Handle;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bridges::FeatureLicence;

/// Interval of polling the queue, one read of an index.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of comparing the vector store with the database.
const SWEEP_INTERVAL: Duration = Duration::from_hours(6);
/// Delay after a comparison that failed.
const SWEEP_RETRY_DELAY: Duration = Duration::from_mins(1);

/// Workers that ingest documents, and the task that keeps the vector store in
/// agreement with the database. Every instance runs them; each document goes to
/// one worker.
pub(crate) struct KnowledgeWorker {
    pub(crate) ingestion: Ingestion,
    pub(crate) reconciliation: Reconciliation,
    /// Without a licence documents wait.
    pub(crate) licence: FeatureLicence,
    /// Number of documents that are ingested at once.
    pub(crate) workers: usize,
}

impl KnowledgeWorker {
    /// Starts all tasks, which end when stopped.
    pub(crate) fn start(self, tasks: &TaskTracker, stop: &CancellationToken) {
        for _ in 0..self.workers {
            tasks.spawn(ingest(self.ingestion.clone(), self.licence.clone(), stop.clone()));
        }
        tasks.spawn(reconcile(self.reconciliation, stop.clone()));
    }
}

/// Ingests documents that are due, one after the other.
async fn ingest(ingestion: Ingestion, licence: FeatureLicence, stop: CancellationToken) {
    let mut tick = interval(POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);

    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }

        while !stop.is_cancelled() && licence.is_valid() {
            match ingest_next(&ingestion, &stop).await {
                Ok(IngestionOutcome::Attempted) => {}
                Ok(IngestionOutcome::NothingDue) => break,
                Err(err) => {
                    tracing::warn!(error = %err, "failed to ingest a document");
                    break;
                }
            }
        }
    }
}

/// Ingests one document on a thread that may block: cutting a text takes long.
/// When stopped, the ingestion ends between two steps, as after a crash.
async fn ingest_next(
    ingestion: &Ingestion,
    stop: &CancellationToken,
) -> Result<IngestionOutcome, Unavailable> {
    let ingestion = ingestion.clone();
    let stop = stop.clone();
    let runtime = Handle::current();
    let work = tokio::task::spawn_blocking(move || {
        runtime.block_on(async {
            tokio::select! {
                () = stop.cancelled() => Ok(IngestionOutcome::NothingDue),
                outcome = ingestion.ingest_next() => outcome,
            }
        })
    });

    work.await.map_err(|err| Unavailable::new("ingestion", err))?
}

/// Removes points of deleted chunks at once, and compares everything now and
/// then.
async fn reconcile(reconciliation: Reconciliation, stop: CancellationToken) {
    let mut tick = interval(POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut next_sweep = Instant::now();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }

        // Outside of `select!`, so that no removal is cancelled half-way.
        if let Err(err) = reconciliation.delete_removed().await {
            tracing::warn!(error = %err, "failed to remove points from the vector store");
        }

        if next_sweep <= Instant::now() {
            let delay =
                if sweep(&reconciliation).await { SWEEP_INTERVAL } else { SWEEP_RETRY_DELAY };
            next_sweep = Instant::now() + delay;
        }
    }
}

/// Compares the vector store with the database. Returns whether everything was
/// compared.
async fn sweep(reconciliation: &Reconciliation) -> bool {
    let outcome = reconciliation.sweep().await;
    match &outcome {
        Ok(repaired) if repaired.restored == 0 && repaired.deleted == 0 => {}
        Ok(repaired) => tracing::info!(
            restored = repaired.restored,
            deleted = repaired.deleted,
            "vector store repaired"
        ),
        Err(err) => tracing::warn!(error = %err, "failed to compare the vector store"),
    }
    outcome.is_ok()
}
