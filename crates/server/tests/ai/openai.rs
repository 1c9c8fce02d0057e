//! Tests of the surface for OpenAI's clients: its models and errors.

use std::time::Duration;

use pia_demo_upstream::Demo;
use pia_server_testkit::ai_client::{
    JSON, Live, chat_request, streaming_request, upstream_config, with_demo,
};
use pia_server_testkit::ai_peer::{Fixed, Peer, WHOLE, response};
use pia_server_testkit::client::{Client, TestResponse};
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";

/// Error as OpenAI's clients read it.
#[derive(Debug, PartialEq, Eq)]
struct OpenAiError<'a> {
    status: u16,
    kind: &'a str,
    code: &'a str,
    param: Option<&'a str>,
}

/// Returns the error of an invalid request that names no parameter.
fn invalid_request(status: u16, code: &str) -> OpenAiError<'_> {
    OpenAiError { status, kind: "invalid_request_error", code, param: None }
}

/// Returns a chat request that names a model.
fn named(model: &str, text: &str) -> Value {
    let mut request = chat_request(text);
    request["model"] = json!(model);
    request
}

fn error_of(answer: &TestResponse) -> OpenAiError<'_> {
    let error = &answer.body["error"];
    assert!(error["message"].as_str().is_some_and(|it| !it.is_empty()), "{}", answer.text());
    let text = |key: &str| error[key].as_str();
    let kind = text("type").unwrap_or_default();
    let code = text("code").unwrap_or_default();
    OpenAiError { status: answer.status, kind, code, param: text("param") }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_prefixes_answer_like_the_desktop_clients_api() {
    let (_demo, app) = with_demo().await;
    let ada = app.signed_in().await;

    for prefix in ["/v1", "/api/ai/v1"] {
        let chat = ada.post(&format!("{prefix}/chat/completions"), &named("pia-cloud", "Hi")).await;
        let models = ada.get(&format!("{prefix}/models")).await;
        let model = ada.get(&format!("{prefix}/models/pia-cloud")).await;

        assert_eq!(chat.body["choices"][0]["message"]["content"], "Demo answer to: Hi");
        assert_eq!(models.body["data"][0]["id"], "pia-cloud");
        assert_eq!(model.status, 200);
        assert_eq!(model.body["object"], "model");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_refusal_is_an_object_with_a_type_and_a_code() {
    let (_demo, app) = with_demo().await;
    let ada = app.signed_in().await;
    let stranger = app.anonymous();
    let mut invalid = chat_request("x");
    invalid["messages"][0]["role"] = json!("nobody");
    let cases: Vec<(TestResponse, OpenAiError<'_>)> = vec![
        (
            stranger.post(CHAT, &chat_request("x")).await,
            OpenAiError { kind: "authentication_error", ..invalid_request(401, "invalid_api_key") },
        ),
        (
            ada.post(CHAT, &invalid).await,
            OpenAiError {
                param: Some("messages[0].role"),
                ..invalid_request(400, "invalid_value")
            },
        ),
        (
            ada.post("/v1/responses", &json!({ "input": [] })).await,
            OpenAiError { param: Some("input"), ..invalid_request(400, "validation_failed") },
        ),
        (ada.send("POST", CHAT, &[JSON], b"{").await, invalid_request(400, "malformed_json")),
        (ada.post(CHAT, &named("gpt-9", "x")).await, invalid_request(404, "model_not_found")),
        (ada.get("/v1/models/gpt-9").await, invalid_request(404, "model_not_found")),
        (ada.get("/v1/files").await, invalid_request(404, "not_found")),
        (ada.get("/v1").await, invalid_request(404, "not_found")),
        (
            ada.send("GET", CHAT, &[("upgrade", "websocket")], b"").await,
            invalid_request(400, "upgrade_not_supported"),
        ),
        (ada.get(CHAT).await, invalid_request(405, "method_not_allowed")),
        (
            ada.send("POST", CHAT, &[JSON, ("content-length", "99999999")], b"{").await,
            invalid_request(413, "body_too_large"),
        ),
    ];

    for (answer, expected) in &cases {
        assert_eq!(error_of(answer), *expected, "{}", answer.text());
    }

    let upgrade = ada.send("GET", CHAT, &[("upgrade", "websocket")], b"").await;
    assert_eq!(upgrade.header("connection"), Some("close"));
    let unknown_response = ada.post("/api/ai/chat", &named("gpt-9", "x")).await;
    assert_eq!(unknown_response.status, 200, "the desktop client's models are passed over");
}

async fn refused_by(answer: Vec<u8>) -> (TestResponse, TestResponse) {
    let upstream = Fixed::with_response(answer).await;
    let app = upstream_config(&upstream.endpoint).start().await;
    let ada = app.signed_in().await;
    (ada.post(CHAT, &chat_request("Hi")).await, ada.post("/api/ai/chat", &chat_request("Hi")).await)
}

fn bad_request(message: &str) -> Vec<u8> {
    let body = json!({ "error": { "message": message, "type": "invalid_request_error" } });
    response("400 Bad Request", "content-type: application/json\r\n", &body.to_string()).into()
}

#[tokio::test(flavor = "multi_thread")]
async fn permanent_errors_are_marked_as_not_retryable_on_both_surfaces() {
    for (message, status, code, desktop) in [
        (
            "This model's maximum context length is 8192 tokens.",
            400,
            "context_length_exceeded",
            502,
        ),
        ("Unsupported value: 'temperature' is 7 sesame.", 400, "upstream_refused", 502),
    ] {
        let (openai, desktops) = refused_by(bad_request(message)).await;

        assert_eq!(error_of(&openai), invalid_request(status, code));
        assert_eq!(desktops.status, desktop, "{}", desktops.text());
        for answer in [&openai, &desktops] {
            assert_eq!(answer.header("x-should-retry"), Some("false"), "{}", answer.text());
            assert!(!answer.text().contains("sesame"), "{}", answer.text());
        }
    }

    let failed_response = response("500 Oh", "", "").into_bytes();
    let (openai, _) = refused_by(failed_response).await;
    let upstream_failed =
        OpenAiError { status: 502, kind: "server_error", code: "upstream_failed", param: None };
    assert_eq!(error_of(&openai), upstream_failed);
    assert_eq!(openai.header("x-should-retry"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exhausted_budget_is_reported_with_its_reset_time() {
    let upstream = Fixed::with_json(WHOLE).await;
    let app = upstream_config(&upstream.endpoint).start().await;
    app.admin("group set default credits.daily=1").await.expect("a limit");
    let ada = app.signed_in().await;
    let long_text = "x ".repeat(100_000);

    let answer = ada.post(CHAT, &chat_request(&long_text)).await;

    let insufficient_quota = OpenAiError {
        status: 429,
        kind: "insufficient_quota",
        code: "insufficient_quota",
        param: None,
    };
    assert_eq!(error_of(&answer), insufficient_quota);
    assert!(answer.body["error"]["resetsAt"].is_string(), "{}", answer.text());
    assert_eq!(answer.header("x-should-retry"), Some("false"));
    assert!(answer.header("retry-after").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn exceeded_rate_limits_may_be_retried() {
    let demo = Demo::start(0).expect("a demo upstream");
    let app = upstream_config(&demo.endpoint()).with("RateLimits__Ai", 1).start().await;
    let ada = app.signed_in().await;
    ada.post(CHAT, &chat_request("Hi")).await;

    let answer = ada.post(CHAT, &chat_request("Hi")).await;

    let rate_limited = OpenAiError {
        status: 429,
        kind: "rate_limit_error",
        code: "rate_limit_exceeded",
        param: None,
    };
    assert_eq!(error_of(&answer), rate_limited);
    assert_eq!(answer.header("x-should-retry"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_fails_ends_with_the_object() {
    let upstream = Peer::start().await;
    let app = upstream_config(&upstream.endpoint).start().await;
    let ada: Client = app.signed_in().await;
    let mut stream = Live::ask(&ada, CHAT, &streaming_request("Hello")).await;
    let mut call = upstream.call().await;
    call.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").await;
    call.write("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n").await;
    call.write("data: {\"error\":{\"message\":\"sesame\"}}\n\n").await;

    let answer = stream.until("[DONE]").await;

    let message = "The upstream AI provider could not answer the request.";
    let error = json!({ "error": {
        "message": message, "type": "server_error", "code": "upstream_failed", "param": null,
    } });
    let last = answer.lines().find_map(|it| it.strip_prefix("data: {\"error\""));
    let last: Value =
        serde_json::from_str(&format!("{{\"error\"{}", last.expect("an error"))).expect("JSON");
    assert_eq!(last, error);
    assert!(!answer.contains("sesame"), "{answer}");
    tokio::time::timeout(Duration::from_secs(5), call.closed()).await.expect("an end");
}
