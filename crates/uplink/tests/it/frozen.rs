//! Pods that neither read nor write any more.

use std::time::Duration;

use futures_util::future::join_all;
use pia_pods::{PodLink, ToolCallError};

use crate::raw_pod::RawPod;
use crate::server::Server;

/// Time after which a silent pod is disconnected, with some more.
const GONE: Duration = Duration::from_secs(34);

#[actix_web::test]
async fn a_frozen_pod_is_called_in_vain_and_disconnected() {
    let server = Server::start();
    let idle = RawPod::connect(server.address, 1, "idle", 1).await;
    let full = RawPod::connect(server.address, 2, "full", 1).await;

    assert_eq!(server.call("idle", "").await, Err(ToolCallError::TimedOut));
    // More than the buffers of the operating system hold.
    let text = "x".repeat(60 * 1024);
    for _ in 0..4 {
        let calls = join_all((0..50).map(|_| server.call("full", &text))).await;
        let ended = |it: &_| {
            matches!(
                it,
                Err(ToolCallError::TimedOut
                    | ToolCallError::Busy
                    | ToolCallError::Lost
                    | ToolCallError::NotGranted)
            )
        };
        assert!(calls.iter().all(ended), "{calls:?}");
    }

    server.registry.until_within(GONE, Vec::is_empty).await;
    assert!(server.links.is_idle());
    drop((idle, full));
}
