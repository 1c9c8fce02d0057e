//! Chaining of audit entries while the server runs.

use std::time::Duration;

use pia_storage_lifecycle::SqlAuditChain;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// Interval at which new entries are chained; each run costs one checkpoint.
const RUN_INTERVAL: Duration = Duration::from_secs(10);

/// Chains new audit entries until `stop`.
///
/// Every instance runs it; one at a time chains, and the others find nothing.
pub(crate) async fn run(chain: SqlAuditChain, stop: CancellationToken) {
    let mut tick = interval(RUN_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);

    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        // Outside of the cancellable wait, so that no step is cancelled half-way.
        loop {
            match chain.extend().await {
                Ok(0) => break,
                Ok(_) if stop.is_cancelled() => break,
                Ok(_) => {}
                Err(err) => {
                    tracing::warn!(error = %err, "failed to chain audit entries");
                    break;
                }
            }
        }
    }
}
