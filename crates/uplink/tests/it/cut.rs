//! Pods that are cut off in the middle of a call.

use std::time::{Duration, Instant};

use futures_util::future::join;
use pia_pods::{PodReply, ToolCallError};
use serde_json::json;

use crate::echo_pod;
use crate::raw_pod::{RawPod, completion, description};
use crate::relay::Relay;
use crate::server::Server;

#[actix_web::test]
async fn a_call_of_a_pod_whose_connection_is_reset_is_lost() {
    let server = Server::start();
    echo_pod::start(server.address, 2, "echo").await;
    let mut pod = RawPod::connect(server.address, 1, "raw", 600).await;

    let (reply, ()) = join(server.call("raw", ""), async {
        pod.called().await;
        pod.socket.get_ref().set_zero_linger().unwrap();
        drop(pod);
    })
    .await;

    assert_eq!(reply, Err(ToolCallError::Lost));
    server.registry.until(|pods| pods.len() == 1).await;
    server.assert_echo("echo").await;
}

#[actix_web::test]
async fn a_call_that_nothing_is_forwarded_of_ends_at_its_time_limit() {
    let server = Server::start();
    echo_pod::start(server.address, 2, "echo").await;
    let relay = Relay::start(server.address).await;
    let mut pod = RawPod::connect(relay.address, 1, "raw", 1).await;
    let started = Instant::now();

    let (reply, ()) = join(server.call("raw", ""), async {
        let (id, _) = pod.called().await;
        relay.freeze();
        pod.send(&completion(&id, &json!({ "content": "too late" }))).await;
    })
    .await;

    assert_eq!(reply, Err(ToolCallError::TimedOut));
    assert!(started.elapsed() >= Duration::from_secs(1));
    // Neither this call nor one that it was not sent any more is sent again.
    assert_eq!(server.call("raw", "").await, Err(ToolCallError::TimedOut));
    drop(relay);
    assert_eq!(pod.next().await, None);
    server.registry.until(|pods| pods.len() == 1).await;
    server.assert_echo("echo").await;
}

#[actix_web::test]
async fn a_call_goes_on_when_its_pod_resumes_the_connection() {
    let server = Server::start();
    let address = server.address;
    let id = Some("a-connection-token");
    let mut pod = RawPod::open_with_id(address, 1, id).await;
    pod.shake_hands("json", 2).await;
    pod.hello("hello", description("raw", 10)).await;
    let resuming = async {
        let (invocation, request) = pod.called().await;
        drop(pod);
        let mut pod = RawPod::open_with_id(address, 1, id).await;
        pod.send(&json!({ "type": 9, "sequenceId": 2 })).await;
        let again = pod.called().await;
        assert_eq!(again, (invocation.clone(), request), "the same call, which a client knows");
        pod.send(&completion(&invocation, &json!({ "content": "resumed" }))).await;
        pod
    };

    let (reply, pod) = join(server.call("raw", ""), resuming).await;

    assert_eq!(reply, Ok(PodReply { content: "resumed".into(), is_error: false }));
    drop(pod);
}

#[actix_web::test]
async fn another_pod_cannot_take_over_a_connection() {
    let server = Server::start();
    let address = server.address;
    let id = Some("a-connection-token");
    let mut pod = RawPod::open_with_id(address, 1, id).await;
    pod.shake_hands("json", 2).await;
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = crate::raw_pod::upgrade(address, 2, id);

    assert!(tokio_tungstenite::client_async(request, stream).await.is_err());

    let answer = pod.hello("hello", description("raw", 10)).await;
    assert!(answer["result"]["podId"].is_string(), "{answer}");
}
