//! Pods over their adapters.

use std::sync::Arc;

use pia_pods::{Connectors, PodLink, PodRegistry, ToolPlane};
use pia_storage::DatabaseKind;
use pia_storage_pods::{PodRelay, SqlConnectors, SqlPodRegistry};
use pia_uplink::{LocalLinks, Uplink};
use pia_web::Runner;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::infrastructure::Infrastructure;
use crate::pod_upkeep;
use crate::worker_lease::host_name;

/// Connectors, and the pods of this instance.
pub(super) struct PodParts {
    pub(super) connectors: Connectors,
    pub(super) plane: ToolPlane,
    registry: Arc<dyn PodRegistry>,
    links: Arc<LocalLinks>,
    /// Relay of calls between instances.
    relay: Option<Arc<PodRelay>>,
}

impl PodParts {
    pub(super) fn compose(base: &Infrastructure<'_>) -> Self {
        let registry: Arc<dyn PodRegistry> = Arc::new(SqlPodRegistry::new(base.db.clone()));
        let store = Arc::new(SqlConnectors::new(base.db.clone()));
        let connectors = Connectors { store, registry: Arc::clone(&registry), clock: base.clock() };
        let (links, clock) = (Arc::<LocalLinks>::default(), base.clock());
        let local: Arc<dyn PodLink> = Arc::<LocalLinks>::clone(&links);
        // Of SQLite, this is the only instance.
        let relay = (base.db.provider() == DatabaseKind::Postgres)
            .then(|| Arc::new(PodRelay::new(base.db.clone(), Arc::clone(&local), base.clock())));
        let link = relay.clone().map_or(local, |it| it as Arc<dyn PodLink>);
        let plane = ToolPlane { registry: Arc::clone(&registry), link, clock };
        Self { connectors, plane, registry, links, relay }
    }

    /// Starts the upkeep of pods and the relay of calls, which end when stopped.
    /// Returns the hub.
    pub(super) fn start(
        &self,
        base: &Infrastructure<'_>,
        runner: &Runner,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Uplink {
        let (registry, links) = (Arc::clone(&self.registry), Arc::clone(&self.links));
        tasks.spawn(pod_upkeep::run(registry, links, base.clock(), stop.clone()));
        if let Some(relay) = self.relay.clone() {
            let stop = stop.clone();
            tasks.spawn(async move {
                stop.run_until_cancelled(relay.run()).await;
            });
        }
        Uplink {
            connectors: self.connectors.clone(),
            registry: Arc::clone(&self.registry),
            links: Arc::clone(&self.links),
            host: host_name().into(),
            clock: base.clock(),
            runner: runner.clone(),
        }
    }
}
