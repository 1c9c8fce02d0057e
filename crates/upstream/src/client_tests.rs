//! Full responses and refusals.

use std::time::Duration;

use async_openai::types::chat::CreateChatCompletionRequest;
use pia_assistant::{
    AiCaller, CapName, CreditSettings, Frame, Gateway, MockCreditStore, MockPersonas,
    ModelCatalogue, NoConnectorTools, NoGuardrail, NoKnowledge, NoRules, NoSearch, Optimize,
    OptimizeRequest, OutputCap, ReasoningEffort, Settings, UsageLog, UsageRecord,
};
use pia_kernel::{GroupId, SystemClock, UserId};
use tokio_util::sync::CancellationToken;
use wiremock::matchers::{body_string, header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use crate::TokioTimer;
use crate::peer::{OPEN, Peer, brief, chat_call, new_upstream};

const ANSWER: &str = r#"{"choices":[{"message":{"content":"Hi"}}]}"#;

async fn start_server(template: ResponseTemplate) -> (MockServer, String) {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(template).mount(&server).await;
    let endpoint = format!("{}/v1", server.uri());
    (server, endpoint)
}

async fn refusal_of(template: ResponseTemplate) -> UpstreamError {
    let (_server, endpoint) = start_server(template).await;
    let upstream = new_upstream(UpstreamLimits::default());

    let refusal_of_full = upstream.complete(chat_call(&endpoint, &[OPEN])).await.unwrap_err();
    let refusal_of_stream = upstream.open(chat_call(&endpoint, &[OPEN])).await.err().unwrap();

    assert_eq!(refusal_of_full, refusal_of_stream);
    refusal_of_full
}

fn refusal(status: u16, retry_after: Option<u64>, body: &'static str) -> UpstreamError {
    let retry_after = retry_after.map(Duration::from_secs);
    UpstreamError::Refused { status, retry_after, body: Bytes::from_static(body.as_bytes()) }
}

#[tokio::test]
async fn a_full_response_is_returned_unchanged() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .and(header("content-type", "application/json"))
        .and(header("accept", "application/json"))
        .and(body_string("{\"messages\":[],\"model\":\"m\"}"))
        .respond_with(ResponseTemplate::new(200).set_body_string(ANSWER))
        .mount(&server)
        .await;
    let endpoint = format!("{}/v1", server.uri());

    let pieces = ["{\"messages\":", "[]"];
    let answer = new_upstream(UpstreamLimits::default())
        .complete(chat_call(&endpoint, &pieces))
        .await
        .unwrap();

    assert_eq!(answer, ANSWER);
}

#[tokio::test]
async fn a_stream_always_requests_usage_and_a_cap_keeps_its_name() {
    let (server, endpoint) = start_server(ResponseTemplate::new(200).set_body_string(ANSWER)).await;
    let cap = OutputCap { tokens: 7, name: Some(CapName::MaxTokens) };
    let call = ChatCall {
        max_output: Some(cap),
        effort: Some(ReasoningEffort::XHigh),
        ..chat_call(&endpoint, &[OPEN])
    };

    drop(new_upstream(UpstreamLimits::default()).open(call).await);

    let [request] = server.received_requests().await.unwrap().try_into().unwrap();
    let request_body = String::from_utf8(request.body).unwrap();
    assert_eq!(
        request_body,
        concat!(
            r#"{"messages":[],"model":"m","max_tokens":7,"reasoning_effort":"xhigh","#,
            r#""stream":true,"stream_options":{"include_usage":true}}"#
        )
    );
}

#[tokio::test]
async fn a_body_in_pieces_has_its_length_and_the_key_is_in_one_header_only() {
    let (server, endpoint) = start_server(ResponseTemplate::new(200)).await;

    new_upstream(UpstreamLimits::default())
        .complete(chat_call(&endpoint, &["{\"messages\":", "[]"]))
        .await
        .unwrap();

    let [request] = server.received_requests().await.unwrap().try_into().unwrap();
    assert_eq!(request.headers["content-length"], "27");
    assert!(!request.headers.contains_key("transfer-encoding"));
    assert_eq!(request.headers["authorization"], "Bearer sk-1");
    let with_key: Vec<_> =
        request.headers.iter().filter(|(_, it)| it.to_str().unwrap().contains("sk-1")).collect();
    assert_eq!(with_key.len(), 1);
    assert!(!request.url.as_str().contains("sk-1"));
}

#[tokio::test]
async fn a_refusal_keeps_its_status_headers_and_body() {
    let busy = ResponseTemplate::new(429).insert_header("retry-after", "2").set_body_string("{}");
    assert_eq!(refusal_of(busy).await, refusal(429, Some(2), "{}"));

    let server_error = ResponseTemplate::new(500).set_body_string("oops");
    assert_eq!(refusal_of(server_error).await, refusal(500, None, "oops"));

    let page = ResponseTemplate::new(404).set_body_raw("<html>", "text/html");
    assert_eq!(refusal_of(page).await, refusal(404, None, "<html>"));
}

#[tokio::test]
async fn only_the_beginning_of_a_long_refusal_is_read() {
    let page = ResponseTemplate::new(502).set_body_string("x".repeat(100_000));

    let UpstreamError::Refused { body, .. } = refusal_of(page).await else { panic!("no refusal") };

    assert_eq!(body.len(), 16 * 1024);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (server, endpoint) =
        start_server(ResponseTemplate::new(307).insert_header("location", "/elsewhere")).await;

    let err = new_upstream(UpstreamLimits::default())
        .complete(chat_call(&endpoint, &[OPEN]))
        .await
        .unwrap_err();

    assert_eq!(err, refusal(307, None, ""));
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_response_longer_than_its_limit_is_not_read() {
    let (_server, endpoint) =
        start_server(ResponseTemplate::new(200).set_body_string(ANSWER)).await;
    let complete_within = async |max_answer| {
        new_upstream(UpstreamLimits { max_answer, ..UpstreamLimits::default() })
            .complete(chat_call(&endpoint, &[OPEN]))
            .await
    };

    assert_eq!(complete_within(ANSWER.len()).await.unwrap(), ANSWER);
    assert_eq!(complete_within(ANSWER.len() - 1).await, Err(UpstreamError::TooLong));
}

#[tokio::test]
async fn a_response_that_breaks_off_is_cut() {
    let peer = Peer::start().await;
    let upstream = new_upstream(UpstreamLimits::default());

    for (body, expected) in [("half", UpstreamError::Cut), ("", connection_lost())] {
        let response = format!("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{body}");
        let (answer, ()) = tokio::join!(
            upstream.complete(chat_call(&peer.endpoint, &[OPEN])),
            peer.answer(&response)
        );

        assert_eq!(answer, Err(expected), "{body}");
    }
}

#[tokio::test]
async fn an_upstream_that_never_responds_is_silent() {
    let peer = Peer::start().await;
    let upstream = new_upstream(brief());

    let (full, _socket) =
        tokio::join!(upstream.complete(chat_call(&peer.endpoint, &[OPEN])), peer.request());
    let (streamed, _socket) =
        tokio::join!(upstream.open(chat_call(&peer.endpoint, &[OPEN])), peer.request());

    assert_eq!(full, Err(UpstreamError::Silent));
    assert_eq!(streamed.err(), Some(UpstreamError::Silent));
}

#[tokio::test]
async fn a_missing_upstream_is_unreachable_and_no_secret_is_reported() {
    let peer = Peer::start().await;
    let endpoint = peer.endpoint.replace("http://", "http://user:secret@");
    drop(peer);

    let err = new_upstream(UpstreamLimits::default())
        .complete(chat_call(&endpoint, &[OPEN]))
        .await
        .unwrap_err();

    let UpstreamError::Unreachable(message) = err else { panic!("{err:?}") };
    assert!(message.contains("refused"), "{message}");
    assert!(!message.contains("secret") && !message.contains("/v1"), "{message}");
}

#[tokio::test]
async fn an_invalid_endpoint_is_unreachable() {
    let err = new_upstream(UpstreamLimits::default())
        .complete(chat_call("nowhere", &[OPEN]))
        .await
        .unwrap_err();

    assert!(matches!(err, UpstreamError::Unreachable(_)), "{err:?}");
}

#[tokio::test]
async fn a_full_response_to_a_stream_request_becomes_one_chunk() {
    let body = r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    let (_server, endpoint) = start_server(
        ResponseTemplate::new(200).set_body_raw(body, "application/json; charset=utf-8"),
    )
    .await;

    let stream =
        new_upstream(UpstreamLimits::default()).open(chat_call(&endpoint, &[OPEN])).await.unwrap();
    let frames: Vec<_> = futures_util::StreamExt::collect(stream).await;
    let [Ok(Frame::Inspect(chunk)), Ok(Frame::Done)] = frames.as_slice() else {
        panic!("{frames:?}")
    };
    let chunk: serde_json::Value = serde_json::from_slice(chunk).unwrap();
    assert_eq!(chunk["choices"][0]["delta"]["content"], "Hi");
}

#[tokio::test]
async fn an_html_page_instead_of_a_stream_is_a_refusal() {
    let (_server, endpoint) =
        start_server(ResponseTemplate::new(200).set_body_raw("<html>", "text/html")).await;

    let err =
        new_upstream(UpstreamLimits::default()).open(chat_call(&endpoint, &[OPEN])).await.err();

    assert_eq!(err, Some(refusal(200, None, "")));
}

struct NoLog;

impl UsageLog for NoLog {
    fn record(&self, _usage: UsageRecord) {}
}

#[tokio::test]
async fn optimising_sends_a_valid_openai_request() {
    let (server, endpoint) = start_server(ResponseTemplate::new(200).set_body_string(ANSWER)).await;
    let gateway = Gateway {
        upstream: Arc::new(new_upstream(UpstreamLimits::default())),
        usage: Arc::new(NoLog),
        timer: Arc::new(TokioTimer::new(CancellationToken::new())),
        clock: Arc::new(SystemClock),
        catalogue: LiveSetting::new(ModelCatalogue {
            default: Some(chat_call(&endpoint, &[]).target),
            ..ModelCatalogue::default()
        }),
        settings: LiveSetting::new(Settings::default()),
        rules: Arc::new(NoRules),
        // Nothing is limited, so the store is not called.
        credit_store: Arc::new(MockCreditStore::new()),
        credits: LiveSetting::new(CreditSettings::default()),
        tokens: Arc::new(crate::O200k::default()),
        personas: Arc::new(MockPersonas::new()),
        guardrail: Arc::new(NoGuardrail),
        knowledge: Arc::new(NoKnowledge),
        connectors: Arc::new(NoConnectorTools),
        question_model: None,
        search: Arc::new(NoSearch),
        keys: Arc::default(),
        upstream_limiter: Arc::default(),
        attempts: Arc::default(),
    };
    let caller = AiCaller {
        user: UserId::generate(),
        group: GroupId::generate(),
        key: None,
        mode: None,
        persona: None,
        surface: pia_assistant::Surface::Desktop,
    };
    let request = OptimizeRequest { text: "bad".to_owned(), ..OptimizeRequest::default() };

    let optimized = Optimize::new(gateway).run(caller, request).await.unwrap();

    assert_eq!(optimized.text, "Hi");
    let [request] = server.received_requests().await.unwrap().try_into().unwrap();
    let body: CreateChatCompletionRequest = request.body_json().unwrap();
    assert_eq!(body.model, "m");
    assert_eq!(body.messages.len(), 2);
}
