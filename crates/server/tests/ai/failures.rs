//! Tests of calls whose upstream fails.

use pia_demo_upstream::Demo;
use pia_server_testkit::ai_client::{
    CHAT, Heard, HeardError, Live, OPTIMIZE, TIMED_OUT, chat_request, streaming_request,
    upstream_config, with_demo, with_tool,
};
use pia_server_testkit::ai_peer::{EVENTS, Fixed, Peer, response};
use pia_server_testkit::client::TestResponse;
use serde_json::{Value, json};

/// Confidential text in an upstream's response.
const SECRET: &str = "sk-canary-org-4711";

/// Returns a request of each of the three kinds, with the same text.
fn each_request(text: &str) -> [(&'static str, Value); 3] {
    [
        (CHAT, chat_request(text)),
        (CHAT, streaming_request(text)),
        (OPTIMIZE, json!({ "text": text })),
    ]
}

fn chunk(content: &str) -> String {
    format!("data: {}\n\n", json!({ "choices": [{ "delta": { "content": content } }] }))
}

/// Returns the error of a broken stream, which must not hold the upstream's text.
fn error_of(answer: &TestResponse) -> HeardError {
    assert!(!answer.text().contains(SECRET), "{}", answer.text());
    let heard = Heard::of(answer);
    assert_eq!(heard.finish, None, "{}", answer.text());
    heard.error.expect("an error")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_error_is_a_bad_gateway_without_its_text() {
    let json = format!(r#"{{"error":{{"message":"{SECRET}","type":"x","code":"{SECRET}"}}}}"#);
    let html = format!("<html><body>{SECRET}</body></html>");
    let broken = format!(r#"{{"choices":[{{"message":{{"content":"{SECRET}""#);
    let empty = format!(r#"{{"choices":[],"note":"{SECRET}"}}"#);
    for (status, kind, body) in [
        ("400 Bad Request", "application/json", &json),
        ("401 Unauthorized", "application/json", &json),
        ("403 Forbidden", "application/json", &json),
        ("404 Not Found", "application/json", &json),
        ("404 Not Found", "text/html", &html),
        ("500 Internal Server Error", "application/json", &json),
        ("503 Service Unavailable", "text/html", &html),
        ("200 OK", "text/html", &html),
        ("200 OK", "application/json", &broken),
        ("200 OK", "application/json", &empty),
        ("200 OK", "application/json", &json),
        ("204 No Content", "application/json", &String::new()),
    ] {
        let headers =
            format!("content-type: {kind}\r\nx-secret: {SECRET}\r\nset-cookie: {SECRET}\r\n");
        let upstream = Fixed::with_response(response(status, &headers, body)).await;
        let app = upstream_config(&upstream.endpoint).start().await;
        let ada = app.signed_in().await;

        for (previous, (path, request)) in each_request("x").into_iter().enumerate() {
            let answer = ada.post(path, &request).await;

            assert_eq!(answer.refusal(), (502, "upstream_failed"), "{status} {kind} {request}");
            let exposed = format!("{:?} {}", answer.headers, answer.text());
            assert!(!exposed.contains(SECRET), "{exposed}");
            assert_eq!(upstream.calls().len(), previous + 1, "{status}: no call is repeated");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_upstream_is_a_bad_gateway_with_a_retry_time() {
    let (demo, app) = with_demo().await;
    let ada = app.signed_in().await;

    for (path, request) in each_request("demo:status=429 retry-after=7") {
        let answer = ada.post(path, &request).await;

        assert_eq!(answer.refusal(), (502, "upstream_busy"), "{request}");
        assert_eq!(answer.header("retry-after"), Some("7"), "{request}");
    }
    let without_time = ada.post(CHAT, &chat_request("demo:status=429")).await;
    assert_eq!(without_time.header("retry-after"), Some("10"));
    assert_eq!(demo.call_counts().calls, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_overflow_has_a_message_that_clients_recognise() {
    let (demo, app) = with_demo().await;
    let ada = app.signed_in().await;

    for (path, request) in each_request("demo:context-length") {
        let answer = ada.post(path, &request).await;

        let message = answer.body["message"].as_str().unwrap();
        assert_eq!(answer.refusal(), (502, "context_too_long"), "{request}");
        assert!(message.contains("context length") && !message.contains("8192"), "{message}");
    }
    assert_eq!(demo.call_counts().calls, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_unsupported_tools_are_reported_as_the_callers_error() {
    let (demo, app) = with_demo().await;
    let ada = app.signed_in().await;

    for request in [chat_request("demo:no-tools"), streaming_request("demo:no-tools")] {
        let response = ada.post(CHAT, &with_tool(request.clone())).await;
        let without = ada.post(CHAT, &request).await;

        assert_eq!(response.refusal(), (400, "tools_not_supported"));
        assert_eq!(without.status, 200);
    }
    for status in [400, 404, 500] {
        let request = with_tool(chat_request(&format!("demo:status={status}")));
        let answer = ada.post(CHAT, &request).await;
        assert_eq!(answer.refusal(), (502, "upstream_failed"), "{status}");
    }
    assert_eq!(demo.call_counts().calls, 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_upstream_is_a_bad_gateway() {
    let endpoint = Peer::start().await.endpoint;
    let app = upstream_config(&endpoint).start().await;
    let ada = app.signed_in().await;

    for (path, request) in each_request("x") {
        let answer = ada.post(path, &request).await;

        assert_eq!(answer.refusal(), (502, "upstream_failed"), "{request}");
        assert!(!answer.text().contains("127.0.0.1"), "{}", answer.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_takes_too_long_is_a_gateway_timeout() {
    let demo = Demo::start(0).unwrap();
    let app = upstream_config(&demo.endpoint())
        .with("Ai__AnswerTimeout", "200ms")
        .with("Ai__FirstByteTimeout", "200ms")
        .start()
        .await;
    let ada = app.signed_in().await;

    for text in ["demo:silent", "demo:slow=100 demo:chunks=100"] {
        let answer = ada.post(CHAT, &chat_request(text)).await;
        assert_eq!(answer.refusal(), (504, "upstream_timeout"), "{text}");
    }
    for (path, request) in each_request("demo:silent") {
        let answer = ada.post(path, &request).await;
        assert_eq!(answer.refusal(), (504, "upstream_timeout"), "{request}");
        assert_eq!(answer.body["message"], TIMED_OUT.1);
    }
    assert!(demo.until(|it| it.open == 0).await);
    assert_eq!(demo.call_counts().calls, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_stream_ends_with_the_message_that_clients_compare() {
    let demo = Demo::start(0).unwrap();
    let app = upstream_config(&demo.endpoint()).with("Ai__SilenceTimeout", "300ms").start().await;
    let ada = app.signed_in().await;

    let answer = ada.post(CHAT, &streaming_request("demo:silent=4 Hello")).await;

    let end = "data: {\"error\":\"Bad Gateway\",\"message\":\"Request to upstream AI provider timed out.\"}\n\n\
               data: [DONE]\n\n";
    assert!(answer.text().ends_with(end), "{}", answer.text());
    let error = error_of(&answer);
    assert_eq!(error.title, TIMED_OUT.0);
    assert_eq!(error.text, TIMED_OUT.1);
    assert!(demo.until(|it| it.open == 0).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_breaks_ends_with_an_error_and_done() {
    let event = chunk("begun");
    let error = format!("data: {{\"error\":{{\"message\":\"{SECRET}\",\"code\":500}}}}\n\n");
    let nonsense = format!("data: {{\"usage\":{SECRET}\n\n");
    let chunked = EVENTS.replace("connection: close", "transfer-encoding: chunked");
    for stream in [
        format!("{EVENTS}{event}"),
        format!("{EVENTS}{event}data: {{\"choices\":[{{\"del"),
        format!("{EVENTS}{event}{error}data: [DONE]\n\n"),
        format!("{EVENTS}{event}{nonsense}"),
        format!("{EVENTS}{event}data: {}\n\n", "x".repeat(5 << 20)),
        format!("{chunked}{:x}\r\n{event}\r\n", event.len()),
    ] {
        let upstream = Fixed::with_response(stream.clone()).await;
        let app = upstream_config(&upstream.endpoint).start().await;

        let answer = app.signed_in().await.post(CHAT, &streaming_request("x")).await;

        let excerpt: String = stream.chars().take(300).collect();
        let reported_error = error_of(&answer);
        assert_eq!(reported_error.title, "Bad Gateway", "{excerpt}");
        assert_eq!(
            reported_error.text, "The upstream AI provider could not answer the request.",
            "{excerpt}"
        );
        assert_eq!(Heard::of(&answer).text, "begun", "{excerpt}");
        assert_eq!(upstream.calls().len(), 1, "{excerpt}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_as_the_first_event_has_its_status() {
    let secret = format!(r#"data: {{"error":{{"message":"{SECRET}"}}}}"#);
    let long = r#"data: {"error":{"code":"context_length_exceeded"}}"#;
    for (event, status, code) in [
        (secret.as_str(), 502, "upstream_failed"),
        (long, 502, "context_too_long"),
        ("", 502, "upstream_failed"),
    ] {
        let upstream = Fixed::with_response(format!("{EVENTS}{event}\n\n")).await;
        let app = upstream_config(&upstream.endpoint).start().await;

        let answer = app.signed_in().await.post(CHAT, &streaming_request("x")).await;

        assert_eq!(answer.refusal(), (status, code), "{event}");
        assert!(!answer.text().contains(SECRET), "{}", answer.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_stream_is_a_bad_gateway() {
    let role = r#"data: {"choices":[{"delta":{"role":"assistant","content":""}}]}"#;
    let stop = r#"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let unreadable = b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\n";
    let done = "data: [DONE]\n\n";
    let head = EVENTS.as_bytes();
    let requests =
        [(CHAT, streaming_request("x")), (OPTIMIZE, json!({ "text": "x", "stream": true }))];

    for body in
        [done.to_owned(), format!("data: {{\"x\":\n\n{done}"), format!("data: <html>\n\n{done}")]
    {
        let upstream = Fixed::with_response([head, body.as_bytes()].concat()).await;
        let app = upstream_config(&upstream.endpoint).start().await;
        let ada = app.signed_in().await;
        for (path, request) in &requests {
            let answer = ada.post(path, request).await;
            assert_eq!(answer.refusal(), (502, "upstream_failed"), "{path} {body}");
        }
    }

    let role = format!("{role}\n\n");
    let end = format!("{stop}\n\n{done}");
    let lost = [head, role.as_bytes(), unreadable, end.as_bytes()].concat();
    let upstream = Fixed::with_response(lost).await;
    let app = upstream_config(&upstream.endpoint).start().await;
    let ada = app.signed_in().await;
    for (path, request) in &requests {
        let answer = ada.post(path, request).await;
        let heard = Heard::of(&answer);
        assert_eq!(heard.error.expect("an error").title, "Bad Gateway", "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_usage_is_normalised_in_full_answers_too() {
    let body = json!({
        "choices": [{ "message": { "content": "Fine." }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": "5", "completion_tokens": 2.0, "total_tokens": -1 },
    });
    let upstream = Fixed::with_json(&body.to_string()).await;
    let app = upstream_config(&upstream.endpoint).start().await;

    let answer = app.signed_in().await.post(CHAT, &chat_request("x")).await;

    let usage = &answer.body["usage"];
    let tokens = ["prompt_tokens", "completion_tokens", "total_tokens"].map(|it| &usage[it]);
    assert_eq!(tokens, [5, 2, 7]);
}

#[tokio::test(flavor = "multi_thread")]
async fn ambiguous_addresses_are_not_forwarded() {
    let upstream = Fixed::with_json(pia_server_testkit::ai_peer::WHOLE).await;
    let app = upstream_config(&upstream.endpoint).start().await;
    let ada = app.signed_in().await;
    let request = |part: Value| {
        let content = json!([{ "type": "text", "text": "http://10.0.0.1/" }, part]);
        json!({ "messages": [{ "role": "user", "content": content }] })
    };

    for (part, place) in [
        (json!({ "image_url": { "url": r"http://ex.com\@10.0.0.1/" } }), "image_url.url"),
        (json!({ "Image_Url": { "URL": "http://010.0.0.1/" } }), "Image_Url.URL"),
        (json!({ "source": { "type": "url", "url": "http://10.0.0.1/" } }), "source.url"),
        (json!({ "document": { "x": ["http://0x0a.1/"] } }), "document.x[0]"),
        (json!({ "image_url": { "url": "http://127.0.0.1.nip.io/" } }), "image_url.url"),
        (json!({ "image_url": { "url": "https://example.com/redirects" } }), "image_url.url"),
    ] {
        let answer = ada.post(CHAT, &request(part)).await;

        assert_eq!(answer.refusal(), (400, "validation_failed"), "{place}");
        let error = &answer.body["errors"][0];
        assert_eq!(error["code"], "address_not_allowed", "{place}");
        assert_eq!(error["field"], format!("messages[0].content[1].{place}"));
    }
    let fine_body = json!({ "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=" } });
    assert_eq!(ada.post(CHAT, &request(fine_body)).await.status, 200);
    assert_eq!(upstream.calls().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_the_demo_upstream_in_mid_stream_are_reported() {
    let (demo, app) = with_demo().await;
    let ada = app.signed_in().await;

    for fault in ["demo:cut", "demo:error"] {
        let answer = ada.post(CHAT, &streaming_request(&format!("{fault} one two three"))).await;

        assert_eq!(error_of(&answer).title, "Bad Gateway", "{fault}");
        assert!(!answer.text().contains("Asked to fail"), "{}", answer.text());
    }
    let cut_response = ada.post(CHAT, &chat_request("demo:cut")).await;
    assert_eq!(cut_response.refusal(), (502, "upstream_failed"));
    assert_eq!(demo.call_counts().calls, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_without_done_is_complete_after_its_finish_reason() {
    let (_demo, app) = with_demo().await;
    let ada = app.signed_in().await;

    let heard = Heard::of(&ada.post(CHAT, &streaming_request("demo:no-done Hello")).await);

    assert_eq!(heard.error, None);
    assert_eq!(heard.finish.as_deref(), Some("stop"));
    assert_eq!(heard.usage, Some((2, 5)));
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_are_not_followed() {
    let remote_upstream = Fixed::with_json(pia_server_testkit::ai_peer::WHOLE).await;
    let to = format!("{}/chat/completions", remote_upstream.endpoint);
    for status in
        ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"]
    {
        let answer = response(status, &format!("location: {to}\r\n"), "");
        let upstream = Fixed::with_response(answer).await;
        let app = upstream_config(&upstream.endpoint).start().await;
        let ada = app.signed_in().await;

        for (path, request) in each_request("x") {
            assert_eq!(
                ada.post(path, &request).await.refusal(),
                (502, "upstream_failed"),
                "{status}"
            );
        }
        assert_eq!(upstream.calls().len(), 3, "{status}");
    }
    assert!(remote_upstream.calls().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_answer_is_aborted() {
    let upstream = Peer::start().await;
    let app = upstream_config(&upstream.endpoint)
        .with("Ai__MaxEventBytes", "64KiB")
        .with("Ai__MaxAnswerBytes", "64KiB")
        .start()
        .await;
    let ada = app.signed_in().await;

    let live_call = Live::ask(&ada, CHAT, &chat_request("x")).await;
    let mut call = upstream.call().await;
    let endless = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
    call.write(format!("{endless}{}", "[".repeat(100 << 10))).await;
    let answer = live_call.read_to_end().await;
    call.closed().await;

    assert_eq!(answer.refusal(), (502, "upstream_failed"));
}
