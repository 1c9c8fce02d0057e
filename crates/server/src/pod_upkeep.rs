//! Upkeep of the pods that are connected to this instance.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, Unavailable};
use pia_pods::{PodLink, PodRegistry};
use pia_uplink::{ALIVE, LocalLinks};
use tokio_util::sync::CancellationToken;

use crate::assignment_worker::{log, repeat};

/// Interval of recording that pods are connected, and of looking for revoked tokens.
const RUN_INTERVAL: Duration = Duration::from_secs(2);
/// Time after which the row of a pod whose instance has ended is removed.
const ROW_LIFETIME: Duration = Duration::from_mins(10);

/// Records that pods are connected, and disconnects those whose token is no longer
/// valid, until stopped.
pub(crate) async fn run(
    registry: Arc<dyn PodRegistry>,
    links: Arc<LocalLinks>,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) {
    let keeping = repeat(RUN_INTERVAL, stop.clone(), || async {
        log(keep_alive(&*registry, &links, &*clock).await, "pods could not be kept alive");
    });
    let sweeping = repeat(ROW_LIFETIME, stop, || async {
        let outcome = registry.sweep(clock.now() - ROW_LIFETIME).await;
        log(outcome, "pods of instances that have ended could not be removed");
    });
    tokio::join!(keeping, sweeping);
}

async fn keep_alive(
    registry: &dyn PodRegistry,
    links: &LocalLinks,
    clock: &dyn Clock,
) -> Result<(), Unavailable> {
    let pods = links.pods();
    if pods.is_empty() {
        return Ok(());
    }
    let now = clock.now();
    for (pod, state) in registry.keep_alive(pods, now, now + ALIVE).await? {
        links.change(pod, state);
    }
    Ok(())
}
