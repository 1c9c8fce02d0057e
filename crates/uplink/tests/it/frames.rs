//! Frames that violate the protocols.

use futures_util::future::join;
use pia_pods::ToolCallError;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::Data;

use crate::echo_pod;
use crate::raw_pod::RawPod;
use crate::server::Server;

const MIB: usize = 1024 * 1024;
const NESTED: usize = 100_000;

/// Lets a pod misbehave while its tool is called. The connection ends, and with it
/// the call; other pods are not harmed. Returns the message that closed it.
async fn misbehaved(misbehave: impl AsyncFnOnce(&mut RawPod)) -> Option<Value> {
    let server = Server::start();
    echo_pod::start(server.address, 2, "echo").await;
    let mut pod = RawPod::connect(server.address, 1, "raw", 10).await;
    let (reply, closed) = join(server.call("raw", ""), async {
        pod.called().await;
        misbehave(&mut pod).await;
        pod.closed().await
    })
    .await;
    assert_eq!(reply, Err(ToolCallError::Lost));

    server.registry.until(|pods| pods.len() == 1).await;
    server.assert_echo("echo").await;
    closed
}

/// Sends parts of a message until the connection has ended. Returns whether it did
/// before all of them were sent.
async fn fragments(pod: &mut RawPod, part: &[u8], count: usize) -> bool {
    for number in 0..count {
        let kind = if number == 0 { Data::Text } else { Data::Continue };
        if pod.send_frame(kind, part.to_vec(), false).await.is_err() {
            return true;
        }
    }
    false
}

#[actix_web::test]
async fn a_frame_of_ten_megabytes_ends_the_connection() {
    misbehaved(async |pod| {
        pod.send_text("x".repeat(10 * MIB)).await.ok();
    })
    .await;
}

#[actix_web::test]
async fn a_message_of_ten_megabytes_in_fragments_ends_the_connection() {
    misbehaved(async |pod| {
        fragments(pod, &[b'x'; 16 * 1024], 640).await;
    })
    .await;
}

#[actix_web::test]
async fn a_message_that_never_ends_ends_the_connection() {
    misbehaved(async |pod| {
        assert!(fragments(pod, &[b'x'; 1024], 1_000_000).await);
    })
    .await;
}

#[actix_web::test]
async fn text_that_is_not_utf_8_ends_the_connection() {
    misbehaved(async |pod| {
        pod.send_frame(Data::Text, b"{\"type\":6,\"x\":\"\xff\xfe\"}\x1e".to_vec(), true)
            .await
            .unwrap();
    })
    .await;
}

#[actix_web::test]
async fn json_that_is_nested_deeply_ends_the_connection() {
    let open = "[".repeat(NESTED);
    let close = "]".repeat(NESTED);
    for text in [
        format!("{open}{close}\u{1e}"),
        format!("{{\"type\":3,\"invocationId\":\"s1\",\"result\":{open}{close}}}\u{1e}"),
        format!("{}\u{1e}", "{\"a\":".repeat(40_000)),
    ] {
        let close_message = misbehaved(async |pod| pod.send_text(text).await.unwrap()).await;
        assert!(close_message.expect("a close message")["error"].is_string());
    }
}

#[actix_web::test]
async fn a_record_that_is_no_message_ends_the_connection() {
    for text in ["\u{1e}", "null\u{1e}", "{}\u{1e}", "{\"type\":1}\u{1e}", "{\"type\":-1}\u{1e}"] {
        let close_message =
            misbehaved(async |pod| pod.send_text(text.to_owned()).await.unwrap()).await;
        assert!(close_message.expect("a close message")["error"].is_string(), "{text}");
    }
}

#[actix_web::test]
async fn wrong_lengths_in_message_pack_end_the_connection() {
    let server = Server::start();
    echo_pod::start(server.address, 2, "echo").await;
    for (bytes, what) in [
        (&b"\xff\xff\xff\xff\x7f"[..], "a message of 32 GiB"),
        (b"\xff\xff\xff\xff\xff\xff", "a length without an end"),
        (b"\x00", "a message without content"),
        (b"\x05\xdd\xff\xff\xff\xff", "an array of 2^32 - 1 elements"),
        (b"\x0c\x95\x01\xdf\xff\xff\xff\xff\xa1a\xa1b\xc0", "headers of 2^32 - 1 members"),
        (b"\x0b\x95\x01\x80\xdb\xff\xff\xff\xff\xa1a\xa1", "a text of 4 GiB"),
        (b"\x0f\x96\x01\x80\xa1a\xa5Hello\xdd\xff\xff\xff\xff", "2^32 - 1 arguments"),
        (b"\x10\x96\x01\x80\xa1a\xa5Hello\x91\xc6\xff\xff\xff\xff", "an argument of 4 GiB"),
        (b"\x03\x91\xc1\xc1", "a type that is reserved"),
    ] {
        let mut pod = RawPod::open(server.address, 1).await;
        pod.shake_hands("messagepack", 1).await;
        pod.send_binary(bytes).await;
        assert!(pod.ends_with_a_frame().await, "{what}");
        server.assert_echo("echo").await;
    }
}

#[actix_web::test]
async fn a_handshake_that_is_none_is_refused() {
    let server = Server::start();
    let long = "x".repeat(5000);
    let nested_text = format!("{}\u{1e}", "[".repeat(4000));
    for text in [
        "\u{1e}",
        "{\"type\":6}\u{1e}",
        &long,
        &nested_text,
        "{\"protocol\":\"xml\",\"version\":1}\u{1e}",
    ] {
        let mut pod = RawPod::open(server.address, 1).await;
        pod.send_text(text.to_owned()).await.unwrap();
        let response = pod.next().await.expect("a response");
        assert!(response["error"].is_string(), "{response}");
        assert_eq!(pod.next().await, None);
    }
}

#[actix_web::test]
async fn a_pod_that_continues_after_a_violation_learns_the_reason() {
    let close_message = misbehaved(async |pod| {
        // Their answers wait before the message that closes the connection.
        let call = json!({ "type": 1, "invocationId": "", "target": "No", "arguments": [] });
        let calls = (0..100).map(|number| {
            let mut call = call.clone();
            call["invocationId"] = json!(number.to_string());
            crate::raw_pod::record(&call)
        });
        pod.send_text(calls.collect()).await.unwrap();
        pod.send_text("no message\u{1e}".to_owned()).await.unwrap();
        for _ in 0..100 {
            // The connection may have ended.
            pod.send_text("{\"type\":6}\u{1e}".to_owned()).await.ok();
        }
    })
    .await;
    assert!(close_message.expect("a close message")["error"].is_string());
}

impl RawPod {
    async fn send_binary(&mut self, bytes: &[u8]) {
        use futures_util::SinkExt;
        self.socket.send(Message::binary(bytes.to_vec())).await.unwrap();
    }

    /// Reads until the connection has ended. Returns whether the server said why.
    async fn ends_with_a_frame(&mut self) -> bool {
        use futures_util::StreamExt;
        let mut has_reason = false;
        tokio::time::timeout(crate::server::TIMEOUT, async {
            while let Some(Ok(message)) = self.socket.next().await {
                has_reason |= matches!(message, Message::Binary(_));
            }
        })
        .await
        .expect("an end");
        has_reason
    }
}
