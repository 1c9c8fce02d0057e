//! Tests of the memory that large requests and slow readers take.

use pia_server_testkit::ai_client::{
    CHAT, JSON, Live, chat_request, streaming_request, upstream_config,
};
use pia_server_testkit::ai_peer::{EVENTS, Fixed, Peer, WHOLE, response};
use pia_server_testkit::client::Client;
use pia_server_testkit::harness::PASSWORD;
use pia_server_testkit::program::{Invocation, ServerProcess, peak};
use serde_json::{Value, json};

const MIB: usize = 1 << 20;

/// Returns a request with an image, of exactly `length` bytes.
fn image(length: usize, mut request: Value) -> Vec<u8> {
    request["messages"][0]["content"] = json!([
        { "type": "text", "text": "what is this?" },
        { "type": "image_url", "image_url": { "url": "data:image/jpeg;base64,@" } },
    ]);
    let bare = request.to_string();
    bare.replacen('@', &"A".repeat(length + 1 - bare.len()), 1).into_bytes()
}

async fn send_chat(caller: &Client, body: &[u8]) -> Live {
    Live::on_socket(caller.begin("POST", CHAT, &[JSON], body).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_images_may_have_32_mib_and_no_more() {
    let upstream = Fixed::with_json(WHOLE).await;
    let app = upstream_config(&upstream.endpoint).start().await;
    let ada = app.signed_in().await;
    let body = image(32 * MIB, chat_request(""));
    let announced = (33 * MIB).to_string();

    let accepted_response = ada.send("POST", CHAT, &[JSON], &body).await;
    let response = ada.send("POST", CHAT, &[JSON, ("content-length", &announced)], b"{").await;

    let forwarded = upstream.call().body;
    let prefix = br#"{"messages":"#;
    let end = body.windows(2).rposition(|it| it == b"]}").unwrap();
    let messages = &body[prefix.len()..end];
    assert_eq!(accepted_response.status, 200, "{}", accepted_response.text());
    assert!(
        forwarded.starts_with(prefix)
            && forwarded[prefix.len()..].starts_with(&messages[..32 * MIB - 64])
    );
    assert_eq!(response.refusal(), (413, "body_too_large"));
    assert_eq!(response.body["limit"], 32 * MIB);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_share_a_memory_limit_until_they_are_forwarded() {
    let upstream = Peer::start().await;
    let app = upstream_config(&upstream.endpoint)
        .with("Server__MaxBodyMemory", "40MiB")
        .with("Ai__OpenAfter", "100ms")
        .with("Ai__HeartbeatInterval", "100ms")
        .start()
        .await;
    let ada = app.signed_in().await;
    let ben = app.signed_in().await;
    let large_body = image(30 * MIB, chat_request(""));
    let stream = image(30 * MIB, streaming_request(""));

    for body in [&large_body, &stream] {
        let mut first_call = send_chat(&ada, body).await;
        // The upstream takes the connection, and reads nothing yet.
        let unread = upstream.accept().await;
        if body == &stream {
            first_call.until(": keep-alive").await;
        }
        let second_response = ben.send("POST", CHAT, &[JSON], &large_body).await;
        let more_response = ada.send("POST", CHAT, &[JSON], &large_body).await;
        let small_response = app.anonymous().get("/health").await;
        let mut call = unread.read().await;
        let third_call = send_chat(&ada, &large_body).await;
        let mut next_call = upstream.call().await;
        for call in [&mut call, &mut next_call] {
            call.write(&response("200 OK", "content-type: application/json\r\n", WHOLE)).await;
        }

        assert_eq!(second_response.refusal(), (503, "overloaded"));
        assert!(second_response.header("retry-after").is_some());
        assert_eq!(more_response.refusal(), (429, "rate_limited"));
        assert_eq!(small_response.status, 200);
        assert_eq!(first_call.read_to_end().await.status, 200);
        assert_eq!(third_call.read_to_end().await.status, 200);
    }
}

/// Starts the server as a separate process, so that its memory can be measured.
async fn program(endpoint: &str) -> (ServerProcess, Client) {
    let program = Invocation::new()
        .licensed()
        .with("Ai__Endpoint", endpoint)
        .with("Ai__Model", "m")
        .start()
        .await;
    let ada = sign_in(&program, "ada@example.org").await;
    (program, ada)
}

async fn sign_in(program: &ServerProcess, email: &str) -> Client {
    let person = json!({ "email": email, "password": PASSWORD });
    let caller = program.anonymous();
    assert_eq!(caller.post("/auth/register", &person).await.status, 200);
    let envelope = caller.post("/auth/login/local", &person).await;
    caller.with_tokens(&envelope.body)
}

#[tokio::test(flavor = "multi_thread")]
async fn four_large_requests_at_once_are_each_held_once() {
    let upstream = Peer::start().await;
    let (program, ada) = program(&upstream.endpoint).await;
    let ben = sign_in(&program, "ben@example.org").await;
    let body = image(30 * MIB, chat_request(""));
    let previous_peak = peak(&program);

    // The upstream reads nothing before all of them have arrived.
    let calls = tokio::join!(
        send_chat(&ada, &body),
        send_chat(&ada, &body),
        send_chat(&ben, &body),
        send_chat(&ben, &body)
    );
    let mut waiting = Vec::new();
    for _ in 0..4 {
        waiting.push(upstream.accept().await);
    }
    let grown = peak(&program) - previous_peak;
    for call in waiting {
        let answer = response("200 OK", "content-type: application/json\r\n", WHOLE);
        call.read().await.write(&answer).await;
    }

    assert!(grown < 160 * MIB, "{} MiB for 4 x 30", grown / MIB);
    for live in [calls.0, calls.1, calls.2, calls.3] {
        assert_eq!(live.read_to_end().await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stalled_readers_take_little_memory() {
    let upstream = Peer::start().await;
    let (program, ada) = program(&upstream.endpoint).await;
    let event = json!({ "choices": [{ "delta": { "content": "x".repeat(16 << 10) } }] });
    let events = format!("data: {event}\n\n").repeat(64);

    let mut stalled = Vec::new();
    let mut before = 0;
    for _ in 0..5 {
        // The first one prepares statements and connections, beside the work of the start.
        if stalled.len() == 1 {
            before = peak(&program);
        }
        let live_call = send_chat(&ada, streaming_request("x").to_string().as_bytes()).await;
        let mut call = upstream.call().await;
        call.write(EVENTS).await;
        let sent_bytes = call.flood(events.as_bytes(), 50 * MIB).await;
        assert!(sent_bytes < 50 * MIB, "the server took all in");
        stalled.push((live_call, call));
    }
    let grown = peak(&program) - before;

    assert!(grown < 8 * MIB, "{} KiB for four readers", grown >> 10);
}
