//! Pods over their adapters.
//!
//! A call goes to a `PodLink`: on SQLite the pods of this process (`LocalLinks`), on
//! PostgreSQL a relay that also reaches pods connected to other instances.

use std::sync::Arc;

use pia_pods::{Connectors, GrantedPods, PodLink, PodRegistry, ToolPlane, ToolServers};
use pia_storage::DatabaseKind;
use pia_storage_pods::{PodRelay, SqlConnectors, SqlPodRegistry};
use pia_uplink::{LocalLinks, ToolServerHost, Uplink};
use pia_web::Runner;
use pia_webhooks::{Egress, EgressSetupError};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::infrastructure::Infrastructure;
use crate::bridges::{McpServers, PodTools};
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
    /// Connections with the MCP servers of connectors.
    servers: ToolServerHost,
}

impl PodParts {
    pub(super) fn compose(
        base: &Infrastructure<'_>,
        tasks: &TaskTracker,
    ) -> Result<Self, EgressSetupError> {
        let registry: Arc<dyn PodRegistry> =
            Arc::new(SqlPodRegistry::new(base.db.clone(), tasks.clone()));
        let granted = GrantedPods::new(Arc::clone(&registry), base.clock());
        let store = Arc::new(SqlConnectors::new(base.db.clone()));
        let allows_private = base.config.follow(|it| it.operators.allows_private_mcp_servers);
        let mcp = Arc::new(McpServers(Egress::new(base.tls.config(), allows_private, None)?));
        let servers: Arc<dyn ToolServers> = mcp;
        let connectors = Connectors {
            store: Arc::<SqlConnectors>::clone(&store),
            registry: Arc::clone(&registry),
            granted: granted.clone(),
            servers: Arc::clone(&servers),
            clock: base.clock(),
        };

        let links = Arc::<LocalLinks>::default();
        let local: Arc<dyn PodLink> = Arc::<LocalLinks>::clone(&links);
        // Of SQLite, this is the only instance.
        let relay = (base.db.provider() == DatabaseKind::Postgres)
            .then(|| Arc::new(PodRelay::new(base.db.clone(), Arc::clone(&local), base.clock())));
        let link = relay.clone().map_or(local, |it| it as Arc<dyn PodLink>);
        let plane = ToolPlane::new(granted.clone(), link);

        let servers = ToolServerHost {
            store,
            registry: Arc::clone(&registry),
            granted,
            links: Arc::clone(&links),
            servers,
            machine: host_name().into(),
            clock: base.clock(),
        };

        Ok(Self { connectors, plane, registry, links, relay, servers })
    }

    /// Returns the tools of pods, whose queries run on the current runtime.
    pub(super) fn tools(&self, tasks: &TaskTracker) -> PodTools {
        PodTools { plane: self.plane.clone(), runtime: Handle::current(), tasks: tasks.clone() }
    }

    /// Starts the upkeep of pods and the relay of calls, which end when stopped.
    /// Returns the hub that pods connect to.
    pub(super) fn start(
        &self,
        base: &Infrastructure<'_>,
        runner: &Runner,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Uplink {
        let registry = Arc::clone(&self.registry);
        let links = Arc::clone(&self.links);
        tasks.spawn(pod_upkeep::run(registry, links, base.clock(), stop.clone()));
        tasks.spawn(self.servers.clone().run(stop.clone()));

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
