//! Connected pods that groups may use.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, GroupId, RecentCache, Unavailable};

use crate::connected_pod::ConnectedPod;
use crate::ports::pod_registry::PodRegistry;
/// Maximum age of the cached pods: a grant that another instance withdraws ends up to
/// this much later.
const MAX_AGE: Duration = Duration::from_secs(1);
/// Maximum number of groups whose pods are cached.
const MAX_GROUPS: usize = 256;
/// Connected pods that groups may use, read from the registry a second ago at most.
/// Clones share the cache.
#[derive(Clone)]
pub struct GrantedPods {
    pub(crate) registry: Arc<dyn PodRegistry>,
    pub(crate) clock: Arc<dyn Clock>,
    groups: Arc<RecentCache<GroupId, Arc<[ConnectedPod]>>>,
}

impl GrantedPods {
    /// Creates the cache of a registry.
    pub fn new(registry: Arc<dyn PodRegistry>, clock: Arc<dyn Clock>) -> Self {
        let groups = RecentCache::new(Arc::clone(&clock), MAX_GROUPS).with_max_age(MAX_AGE);
        Self { registry, clock, groups: Arc::new(groups) }
    }

    /// Empties the cache, after a change of connectors or pods.
    pub fn invalidate(&self) {
        self.groups.invalidate_all();
    }

    /// Lists the connected pods of connectors that are granted to a group, the longest
    /// connected first.
    pub(crate) async fn of(&self, group: GroupId) -> Result<Arc<[ConnectedPod]>, Unavailable> {
        if let Some(pods) = self.groups.get(group, &group) {
            return Ok(pods);
        }
        let read_start = self.groups.begin_read(group);
        let pods: Arc<[_]> =
            self.registry.list_connected(Some(group), self.clock.now()).await?.into();
        self.groups.insert(group, group, Arc::clone(&pods), read_start);
        Ok(pods)
    }
}

#[cfg(test)]
mod tests {
    use pia_kernel::{ConnectorId, GroupSelection, Timestamp};
    use pia_testkit::ManualClock;

    use super::*;
    use crate::{
        ConnectorChangeOutcome, Connectors, MockConnectorStore, MockPodRegistry, NoToolServers,
        PodId,
    };

    #[tokio::test]
    async fn grants_are_read_again_after_a_second_and_after_each_change() {
        let mut registry = MockPodRegistry::new();
        let mut store = MockConnectorStore::new();
        registry.expect_list_connected().times(6).returning(|_, _| Ok(Vec::new()));
        registry.expect_drain().returning(|_, _| Ok(true));
        store.expect_grant().returning(|_, _, _| Ok(ConnectorChangeOutcome::Done));
        store.expect_delete().returning(|_, _| Ok(ConnectorChangeOutcome::Done));
        let clock = Arc::new(ManualClock::new(Timestamp::UNIX_EPOCH));
        let shared: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
        let registry: Arc<dyn PodRegistry> = Arc::new(registry);
        let granted = GrantedPods::new(Arc::clone(&registry), Arc::clone(&shared));
        let connectors = Connectors {
            store: Arc::new(store),
            registry,
            granted: granted.clone(),
            servers: Arc::new(NoToolServers),
            clock: shared,
        };
        let group = GroupId::generate();
        let id = ConnectorId::generate();
        let read_grants = async || drop(granted.of(group).await.unwrap());

        // Each is read once: at first, after a second, after three changes, and another
        // group's.
        read_grants().await;
        clock.advance(MAX_AGE);
        read_grants().await;
        clock.advance(Duration::from_millis(1));
        read_grants().await;
        read_grants().await;
        connectors.grant(None, id, GroupSelection::Exactly(Vec::new())).await.unwrap();
        read_grants().await;
        connectors.delete(None, id).await.unwrap();
        read_grants().await;
        connectors.drain(None, PodId(id.0)).await.unwrap();
        read_grants().await;
        read_grants().await;
        drop(granted.of(GroupId::generate()).await.unwrap());
    }
}
