//! Registry of connected pods in memory.

use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::{GroupId, SideEffects, Timestamp, Unavailable};
use pia_pods::{CallRecord, ConnectedPod, PodId, PodRegistrationOutcome, PodRegistry, PodStanding};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

/// Registry of connected pods in memory.
#[derive(Default)]
pub(crate) struct MemoryRegistry {
    pods: watch::Sender<Vec<ConnectedPod>>,
    /// Held by a test while no pod is to be stored.
    pub(crate) putting: Mutex<()>,
}

impl MemoryRegistry {
    /// Waits until the registered pods are as expected.
    pub(crate) async fn until(&self, expected: impl FnMut(&Vec<ConnectedPod>) -> bool) {
        self.until_within(Duration::from_secs(20), expected).await;
    }

    pub(crate) async fn until_within(
        &self,
        limit: Duration,
        expected: impl FnMut(&Vec<ConnectedPod>) -> bool,
    ) {
        let mut pods = self.pods.subscribe();
        let outcome = timeout(limit, pods.wait_for(expected)).await;
        assert!(outcome.is_ok(), "not in time: {:?}", self.pods.borrow().len());
    }

    /// Returns the names of all tools that may be called.
    pub(crate) fn tools(&self) -> Vec<String> {
        let pods = self.pods.borrow();
        pods.iter()
            .filter(|it| !it.is_draining)
            .flat_map(|it| &it.description.tools)
            .map(|it| it.name.clone())
            .collect()
    }
}

#[async_trait]
impl PodRegistry for MemoryRegistry {
    async fn put(
        &self,
        pod: ConnectedPod,
        _: Timestamp,
    ) -> Result<PodRegistrationOutcome, Unavailable> {
        let _turn = self.putting.lock().await;
        self.pods.send_modify(|pods| match pods.iter_mut().find(|it| it.id == pod.id) {
            Some(stored) => *stored = ConnectedPod { is_draining: stored.is_draining, ..pod },
            None => pods.push(pod),
        });
        Ok(PodRegistrationOutcome::Done { token_expires_at: Some(Timestamp::UNIX_EPOCH) })
    }

    async fn keep_alive(
        &self,
        _pods: Vec<PodId>,
        _now: Timestamp,
        _until: Timestamp,
    ) -> Result<Vec<(PodId, PodStanding)>, Unavailable> {
        Ok(Vec::new())
    }

    async fn drain(&self, pod: PodId, _effects: SideEffects) -> Result<bool, Unavailable> {
        let _turn = self.putting.lock().await;
        Ok(self.pods.send_if_modified(|pods| {
            let stored = pods.iter_mut().find(|it| it.id == pod);
            stored.map(|it| it.is_draining = true).is_some()
        }))
    }

    async fn remove(&self, pod: PodId) -> Result<(), Unavailable> {
        self.pods.send_modify(|pods| pods.retain(|it| it.id != pod));
        Ok(())
    }

    async fn sweep(&self, _before: Timestamp) -> Result<(), Unavailable> {
        Ok(())
    }

    async fn list_connected(
        &self,
        _granted_to: Option<GroupId>,
        _now: Timestamp,
    ) -> Result<Vec<ConnectedPod>, Unavailable> {
        Ok(self.pods.borrow().clone())
    }

    async fn record(&self, _call: CallRecord, _effects: SideEffects) {}
}
