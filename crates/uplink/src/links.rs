//! Links to the pods that are connected to this instance.
//!
//! `pod_session.rs` and `tool_server_session.rs` open a link once the pod is
//! registered, drain it before the pod leaves, and close it at the end; everybody
//! else calls. A link refuses more calls at once than the pod handles as `Busy`,
//! so that another pod is tried.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use pia_pods::{PodCall, PodId, PodLink, PodReply, PodStanding, ProgressSink, ToolCallError};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Semaphore, oneshot};
use uuid::Uuid;

use crate::input::{LinkInput, PendingCall};

/// Maximum number of calls of a pod at once, as a connection has that many open
/// invocations.
const MAX_CALLS: usize = 1024;

/// Links to the pods that are connected to this instance.
#[derive(Default)]
pub struct LocalLinks {
    links: Mutex<HashMap<PodId, Link>>,
}

#[derive(Clone)]
struct Link {
    inputs: UnboundedSender<LinkInput>,
    /// Permits of the calls that the pod handles at once.
    slots: Arc<Semaphore>,
    /// False once the pod takes no further calls.
    is_open: bool,
}

/// Cancellation of a call whose caller goes away before its end.
struct CancelOnDrop<'a>(&'a Link, Uuid);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        // A call that has ended, or a pod that is gone, is not cancelled.
        self.0.inputs.send(LinkInput::Cancel(self.1)).ok();
    }
}

impl LocalLinks {
    /// Changes the standing of a pod: one that is not registered any more registers
    /// again, or is disconnected if its token is no longer valid.
    pub fn change(&self, pod: PodId, standing: PodStanding) {
        let input = match standing {
            PodStanding::Unregistered => LinkInput::Unregistered,
            PodStanding::Draining => LinkInput::Draining,
        };
        if let Some(link) = self.links.lock().get(&pod) {
            link.inputs.send(input).ok();
        }
    }

    /// Adds a pod. It keeps its link, and its number of calls at once, if it
    /// describes itself again.
    pub(crate) fn open(&self, pod: PodId, inputs: &UnboundedSender<LinkInput>, max_calls: u32) {
        let slots = (max_calls as usize).clamp(1, MAX_CALLS);
        self.links.lock().entry(pod).or_insert_with(|| Link {
            inputs: inputs.clone(),
            slots: Arc::new(Semaphore::new(slots)),
            is_open: true,
        });
    }

    /// Refuses further calls of a pod.
    pub(crate) fn drain(&self, pod: PodId) {
        if let Some(link) = self.links.lock().get_mut(&pod) {
            link.is_open = false;
        }
    }

    /// Removes a pod, which is called no more.
    pub(crate) fn close(&self, pod: PodId) {
        self.links.lock().remove(&pod);
    }

    fn get(&self, pod: PodId) -> Option<Link> {
        self.links.lock().get(&pod).filter(|it| it.is_open).cloned()
    }
}

#[async_trait]
impl PodLink for LocalLinks {
    fn is_idle(&self) -> bool {
        self.links.lock().is_empty()
    }

    fn pods(&self) -> Vec<PodId> {
        self.links.lock().keys().copied().collect()
    }

    fn holds(&self, pod: PodId) -> bool {
        self.links.lock().contains_key(&pod)
    }

    fn is_linked(&self, pod: PodId) -> bool {
        self.get(pod).is_some()
    }

    async fn call(
        &self,
        pod: PodId,
        call: PodCall,
        progress: ProgressSink,
    ) -> Result<PodReply, ToolCallError> {
        let link = self.get(pod).ok_or(ToolCallError::Busy)?;
        let _slot = link.slots.try_acquire().map_err(|_full| ToolCallError::Busy)?;
        let (reply, answer) = oneshot::channel();
        let id = Uuid::now_v7();
        let _cancel = CancelOnDrop(&link, id);
        let pending = Box::new(PendingCall { id, call, progress, reply });
        link.inputs.send(LinkInput::Call(pending)).map_err(|_gone| ToolCallError::Busy)?;
        answer.await.map_err(|_gone| ToolCallError::Lost)?
    }
}
