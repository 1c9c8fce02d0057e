//! Pod that runs beside a test.

use std::sync::Arc;
use std::time::Duration;

use actix_web::rt;
use pia_kernel::Secret;
use pia_pod::{Pod, PodError};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::hub::{Hub, TOKEN};
use crate::tools::{Echo, Gate, Gated};

/// Pod that runs in a task of the test.
pub(crate) struct RunningPod {
    stop: CancellationToken,
    task: JoinHandle<Result<(), PodError>>,
}

impl RunningPod {
    /// Starts a pod with the tools of the tests, and waits for its hello.
    pub(crate) async fn connected(hub: &mut Hub) -> (Self, Gate) {
        let (tool, gate) = Gated::new();
        let running = Self::start(pod(hub).with_tool(Echo).with_tool(tool));
        hub.hello().await;
        (running, gate)
    }

    pub(crate) fn start(pod: impl Into<Arc<Pod>>) -> Self {
        let pod = pod.into();
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        Self { stop, task: rt::spawn(async move { pod.run(stopped).await }) }
    }

    /// Stops the pod, without waiting for its end.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits for the end of the pod.
    pub(crate) async fn ended(self) -> Result<(), PodError> {
        let ended = timeout(Duration::from_secs(20), self.task).await;
        ended.expect("an end within twenty seconds").expect("no panic")
    }
}

/// Returns a pod for the hub, without tools.
pub(crate) fn pod(hub: &Hub) -> Pod {
    Pod::new(hub.url(), &Secret::new(TOKEN.to_owned())).expect("a pod")
}
