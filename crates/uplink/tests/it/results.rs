//! Results of calls that a pod makes up.

use futures_util::future::join;
use pia_pods::{PodReply, ToolCallError};
use serde_json::{Value, json};

use crate::echo_pod;
use crate::raw_pod::{RawPod, completion};
use crate::server::Server;

const KIB: usize = 1024;

fn text(text: &str) -> PodReply {
    PodReply { content: text.into(), is_error: false }
}

/// Calls the tool of a pod that answers with these messages.
async fn answered(
    server: &Server,
    pod: &mut RawPod,
    answers: impl AsyncFnOnce(&mut RawPod, String),
) -> Result<PodReply, ToolCallError> {
    join(server.call("raw", ""), async {
        let (id, _) = pod.called().await;
        answers(pod, id).await;
    })
    .await
    .0
}

#[actix_web::test]
async fn a_pod_cannot_answer_the_calls_of_another() {
    let server = Server::start();
    let mut victim = RawPod::connect(server.address, 1, "raw", 10).await;
    let mut liar = RawPod::connect(server.address, 2, "liar", 10).await;

    let reply = answered(&server, &mut victim, async |victim, id| {
        let call_id = victim.socket.get_ref().peer_addr().unwrap().to_string();
        for id in [&id, &call_id, "unknown", "", "s0", "s2", "hello"] {
            liar.send(&completion(id, &json!({ "content": "a lie" }))).await;
        }
        // It has been read.
        liar.invoke("read", "Nothing", Vec::new()).await;
        liar.completion_of("read").await;
        victim.send(&completion(&id, &json!({ "content": "true" }))).await;
    })
    .await;

    assert_eq!(reply, Ok(text("true")));
}

#[actix_web::test]
async fn the_first_of_two_completions_counts() {
    let server = Server::start();
    let mut pod = RawPod::connect(server.address, 1, "raw", 10).await;

    for round in ["one", "two", "three"] {
        let reply = answered(&server, &mut pod, async |pod, id| {
            for content in [round, "again", "and again"] {
                pod.send(&completion(&id, &json!({ "content": content }))).await;
            }
        })
        .await;
        assert_eq!(reply, Ok(text(round)));
    }
}

#[actix_web::test]
async fn a_result_of_another_shape_is_a_failure() {
    let server = Server::start();
    let mut pod = RawPod::connect(server.address, 1, "raw", 10).await;

    for result in [
        json!(null),
        json!(7),
        json!("text"),
        json!([]),
        json!({}),
        json!({ "isError": true }),
        json!({ "content": "x", "isError": "yes" }),
        json!({ "content": "x".repeat(201 * KIB) }),
    ] {
        let reply = answered(&server, &mut pod, async |pod, id| {
            pod.send(&completion(&id, &result)).await;
        });
        assert_eq!(reply.await, Err(ToolCallError::Failed));
    }
    for members in [json!({ "error": "no" }), json!({}), json!({ "error": "no", "result": null })] {
        let reply = answered(&server, &mut pod, async |pod, id| {
            let mut message = json!({ "type": 3, "invocationId": id });
            message.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            pod.send(&message).await;
        });
        assert_eq!(reply.await, Err(ToolCallError::Failed), "{members}");
    }

    let reply = answered(&server, &mut pod, async |pod, id| {
        pod.send(&completion(&id, &json!({ "content": { "a": [1] }, "more": 1 }))).await;
    });
    assert_eq!(reply.await, Ok(text(r#"{"a":[1]}"#)));
}

#[actix_web::test]
async fn a_long_result_is_cut_and_a_longer_one_ends_the_connection() {
    let server = Server::start();
    echo_pod::start(server.address, 2, "echo").await;
    let mut pod = RawPod::connect(server.address, 1, "raw", 10).await;
    let of = |length: usize| json!({ "content": "x".repeat(length) });

    let reply = answered(&server, &mut pod, async |pod, id| {
        pod.send(&completion(&id, &of(199 * KIB))).await;
    });
    let content = reply.await.unwrap().into_text();
    assert_eq!(content, "x".repeat(32_000) + "\n[The rest was left out.]");

    let mut close_message = None;
    let reply = answered(&server, &mut pod, async |pod, id| {
        pod.send(&completion(&id, &of(256 * KIB))).await;
        close_message = pod.closed().await;
    });
    assert_eq!(reply.await, Err(ToolCallError::Lost));

    let message: Value = close_message.expect("a close message");
    assert!(message["error"].is_string() && message["allowReconnect"] != true, "{message}");
    assert_eq!(server.call("raw", "").await, Err(ToolCallError::NotGranted));
    server.assert_echo("echo").await;
}
