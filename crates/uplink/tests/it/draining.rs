//! Pods that take no further calls.

use std::time::Duration;

use pia_pods::{PodLink, ToolCallError};
use serde_json::Value;

use crate::raw_pod::{RawPod, description};
use crate::server::Server;

#[actix_web::test]
async fn the_tools_of_a_pod_that_drains_while_it_registers_are_not_offered() {
    let server = Server::start();
    let mut pod = RawPod::open(server.address, 1).await;
    pod.shake_hands("json", 1).await;
    let putting = server.registry.putting.lock().await;
    pod.invoke("hello", "Hello", vec![description("raw", 1)]).await;
    pod.invoke("drain", "Drain", Vec::new()).await;
    assert_eq!(pod.completion_of("drain").await["result"], Value::Null);
    drop(putting);
    pod.completion_of("hello").await;

    assert_eq!(server.call("raw", "").await.unwrap_err(), ToolCallError::NotGranted);
    server.registry.until(|pods| pods.iter().all(|it| it.is_draining)).await;
    // It is registered anew, and withdrawn again.
    pod.hello("again", description("raw", 1)).await;
    assert_eq!(server.call("raw", "").await.unwrap_err(), ToolCallError::NotGranted);
    server.registry.until(|pods| pods.iter().all(|it| it.is_draining)).await;
    assert!(server.registry.tools().is_empty());
}

#[actix_web::test]
async fn a_call_in_progress_is_answered_while_a_pod_drains() {
    let server = Server::start();
    let mut pod = RawPod::connect(server.address, 1, "raw", 10).await;
    let (reply, ()) = futures_util::future::join(server.call("raw", ""), async {
        let (id, _) = pod.called().await;
        pod.invoke("drain", "Drain", Vec::new()).await;
        pod.completion_of("drain").await;
        assert_eq!(server.call("raw", "").await.unwrap_err(), ToolCallError::NotGranted);
        let result = serde_json::json!({ "content": "late" });
        pod.send(&crate::raw_pod::completion(&id, &result)).await;
    })
    .await;

    assert_eq!(reply.unwrap().into_text(), "late");
}

#[actix_web::test]
async fn a_pod_that_goes_before_its_tools_are_withdrawn_is_forgotten() {
    let server = Server::start();
    let mut pod = RawPod::connect(server.address, 1, "raw", 10).await;
    let putting = server.registry.putting.lock().await;
    pod.invoke("drain", "Drain", Vec::new()).await;
    pod.completion_of("drain").await;
    drop(pod);
    while !server.links.is_idle() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(putting);
    // It is stored in its turn.
    drop(server.registry.putting.lock().await);

    server.registry.until(Vec::is_empty).await;
}
