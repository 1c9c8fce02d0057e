//! Tests of the server's tools for models, and of Anthropic's API.

use pia_server_testkit::ai_client::{CHAT, Heard, chat_request, streaming_request};
use pia_server_testkit::ai_peer::{EVENTS, Fixed, Peer, WHOLE, response};
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

const JSON: &str = "content-type: application/json\r\n";
const HEADERS: [(&str, &str); 2] =
    [("content-type", "application/json"), ("x-pia-mode", "Assistant")];

/// Configures a model that searches the web through a service.
pub(crate) fn with_search(config: TestConfig, model: &str, linkup: &str) -> TestConfig {
    config
        .with("Ai__Providers__0__Id", "talker")
        .with("Ai__Providers__0__ProviderType", "OpenAICompatible")
        .with("Ai__Providers__0__Endpoint", model)
        .with("Ai__Providers__0__Model", "m")
        .with("Ai__Providers__0__WebSearchToolProviderId", "web")
        .with("Ai__Providers__1__Id", "web")
        .with("Ai__Providers__1__ProviderType", "Linkup")
        .with("Ai__Providers__1__Endpoint", linkup)
        .with("Ai__Providers__1__ApiKey", "lk-secret")
        .with("Ai__Providers__1__Model", "fast")
}

/// Starts a server with these settings, whose model searches the web through this service.
async fn start_with_search(model: &Peer, linkup: &str, settings: &[(&str, &str)]) -> TestApp {
    let mut config = with_search(TestConfig::on(TestDatabase::sqlite()), &model.endpoint, linkup);
    for (name, value) in settings {
        config = config.with(name, value);
    }
    let app = config.start().await;
    app.admin("group set default mode.Assistant=talker").await.expect("a mode");
    app
}

/// Returns the body of a search service's response.
fn search_results() -> String {
    let result = json!({
        "type": "text", "name": "Rust", "url": "https://rust-lang.org", "content": "It is out.",
    });
    json!({ "results": [result] }).to_string()
}

async fn start_linkup() -> Fixed {
    Fixed::with_json(&search_results()).await
}

/// Returns a model's response that calls the web search.
fn response_with_search() -> String {
    let message = json!({ "content": null, "tool_calls": [search_call()] });
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 2 });
    let choice = json!({ "message": message, "finish_reason": "tool_calls" });
    response("200 OK", JSON, &json!({ "choices": [choice], "usage": usage }).to_string())
}

fn search_call() -> Value {
    let function = json!({ "name": "pia_web_search", "arguments": r#"{"query":"rust news"}"# });
    json!({ "index": 0, "id": "a", "type": "function", "function": function })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_searches_the_web_and_its_caller_receives_the_answer() {
    let model = Peer::start().await;
    let linkup = start_linkup().await;
    let app = start_with_search(&model, &linkup.endpoint, &[]).await;
    let ada = app.signed_in().await;

    let request = chat_request("what is new?").to_string();
    let upstream = async {
        model.call().await.write(response_with_search()).await;
        let message = json!({ "content": "See [Rust](https://rust-lang.org)." });
        let answer = json!({ "choices": [{ "message": message, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 30, "completion_tokens": 4 } });
        model.call().await.write(response("200 OK", JSON, &answer.to_string())).await;
    };
    let (answer, ()) = tokio::join!(ada.send("POST", CHAT, &HEADERS, request.as_bytes()), upstream);

    assert_eq!(answer.status, 200, "{}", answer.text());
    let message = &answer.body["choices"][0]["message"];
    assert_eq!(message["content"], "See [Rust](https://rust-lang.org).");
    assert!(message.get("tool_calls").is_none());
    assert_eq!(answer.body["usage"]["prompt_tokens"], 40);
    assert_eq!(answer.body["usage"]["completion_tokens"], 6);

    let [search] = linkup.calls().try_into().expect("one search");
    let question: Value = serde_json::from_str(&search.text()).expect("JSON");
    assert_eq!(question["q"], "rust news");
    assert_eq!(question["depth"], "fast");
    assert!(search.head.to_ascii_lowercase().contains("authorization: bearer lk-secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_falls_back_to_another_key_within_its_limits_and_is_counted() {
    let model = Peer::start().await;
    let linkup = Peer::start().await;
    let settings = [
        ("Ai__MaxWait", "200ms"),
        ("Ai__Providers__1__ApiKeys__0", "lk-other"),
        ("Ai__Providers__1__Protection__RequestsPerMinute", "1"),
    ];
    let app = start_with_search(&model, &linkup.endpoint, &settings).await;
    let ada = app.signed_in().await;
    let request = chat_request("what is new?").to_string();
    let send = || ada.send("POST", CHAT, &HEADERS, request.as_bytes());

    let (answer_after_search, ()) = tokio::join!(send(), async {
        model.call().await.write(response_with_search()).await;
        linkup.call().await.write(response("401 Unauthorized", JSON, "{}")).await;
        linkup.call().await.write(response("200 OK", JSON, &search_results())).await;
        model.call().await.write(response("200 OK", JSON, WHOLE)).await;
    });
    let (answer_at_the_limit, ()) = tokio::join!(send(), async {
        model.call().await.write(response_with_search()).await;
        model.call().await.write(response("200 OK", JSON, WHOLE)).await;
    });

    assert_eq!(answer_after_search.status, 200, "{}", answer_after_search.text());
    assert_eq!(answer_at_the_limit.status, 200, "{}", answer_at_the_limit.text());
    let metrics = ada.get("/metrics").await.text();
    for line in [
        r#"pia_ai_attempts_total{entry="web",outcome="answered"} 1"#,
        r#"pia_ai_attempts_total{entry="web",outcome="key_refused"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_in_a_stream_leaves_no_trace() {
    let model = Peer::start().await;
    let linkup = start_linkup().await;
    let app = start_with_search(&model, &linkup.endpoint, &[]).await;
    let ada = app.signed_in().await;
    let event = |choice: Value| format!("data: {}\n\n", json!({ "choices": [choice] }));

    let request = streaming_request("what is new?").to_string();
    let upstream = async {
        let calls = [
            event(json!({ "index": 0, "delta": { "content": "One moment. " } })),
            event(json!({ "index": 0, "delta": { "tool_calls": [search_call()] } })),
            event(json!({ "index": 0, "delta": {}, "finish_reason": "tool_calls" })),
        ];
        model.call().await.write(format!("{EVENTS}{}data: [DONE]\n\n", calls.concat())).await;
        let answer = [
            event(json!({ "index": 0, "delta": { "content": "Rust is out." } })),
            event(json!({ "index": 0, "delta": {}, "finish_reason": "stop" })),
        ];
        model.call().await.write(format!("{EVENTS}{}data: [DONE]\n\n", answer.concat())).await;
    };
    let (answer, ()) = tokio::join!(ada.send("POST", CHAT, &HEADERS, request.as_bytes()), upstream);

    let heard = Heard::of(&answer);
    assert_eq!(heard.text, "One moment. Rust is out.");
    assert_eq!(heard.finish.as_deref(), Some("stop"));
    assert!(heard.calls.is_empty() && heard.usage.is_some(), "{}", answer.text());
    assert!(!answer.text().contains("pia_web_search"));
    assert_eq!(linkup.calls().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_translated_to_and_from_anthropics_api() {
    let answer = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{ "type": "text", "text": "Good day." }], "stop_reason": "end_turn",
        "usage": { "input_tokens": 12, "output_tokens": 3 },
    });
    let upstream = Fixed::with_json(&answer.to_string()).await;
    let app = TestConfig::on(TestDatabase::sqlite())
        .with_upstream(&upstream.endpoint)
        .with("Ai__ProviderType", "Anthropic")
        .start()
        .await;
    let ada = app.signed_in().await;
    let recording =
        json!({ "type": "input_audio", "input_audio": { "data": "AA", "format": "wav" } });
    let with_recording = json!({ "messages": [{ "role": "user", "content": [recording] }] });

    let refusal = ada.post(CHAT, &with_recording).await;
    let answer = ada.post(CHAT, &chat_request("Hello")).await;

    // Only the second reaches the upstream.
    assert_eq!(refusal.refusal(), (400, "validation_failed"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.body["choices"][0]["message"]["content"], "Good day.");
    assert_eq!(answer.body["choices"][0]["finish_reason"], "stop");
    assert_eq!(answer.body["usage"]["prompt_tokens"], 12);

    let [request] = upstream.calls().try_into().expect("one call");
    assert!(request.head.starts_with("POST /v1/messages "), "{}", request.head);
    assert!(request.headers().contains(&"x-api-key".to_owned()));

    let body: Value = serde_json::from_str(&request.text()).expect("JSON");
    assert_eq!(body["messages"][0]["role"], "user");
    assert!(body["max_tokens"].as_i64().is_some_and(|it| it > 0));
}

fn with_tool(tool: &Value) -> Value {
    let mut request = chat_request("What is new?");
    request["tools"] = json!([tool]);
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_cannot_enable_tools_that_an_upstream_runs() {
    let upstream = Fixed::with_json(WHOLE).await;
    let app =
        TestConfig::on(TestDatabase::sqlite()).with_upstream(&upstream.endpoint).start().await;
    let ada = app.signed_in().await;

    for (tool, field, code) in [
        (json!({ "type": "web_search" }), "tools[0].type", "tool_not_allowed"),
        (json!({ "type": "code_interpreter" }), "tools[0].type", "tool_not_allowed"),
        (
            json!({ "type": "mcp", "server_url": "https://mcp.example/" }),
            "tools[0].type",
            "tool_not_allowed",
        ),
        (
            json!({ "type": "function", "function": { "name": "f" }, "google_search": {} }),
            "tools[0].google_search",
            "tool_not_allowed",
        ),
        (json!({ "google_search": {} }), "tools[0].type", "required"),
    ] {
        let answer = ada.post(CHAT, &with_tool(&tool)).await;

        assert_eq!(answer.refusal(), (400, "validation_failed"), "{field}");
        let error = &answer.body["errors"][0];
        assert_eq!(error["field"], json!(field));
        assert_eq!(error["code"], json!(code));
    }

    assert_eq!(upstream.calls().len(), 0);
}

/// Returns a request with a tool that its caller runs.
fn with_function() -> Value {
    with_tool(&json!({ "type": "function", "function": { "name": "f" } }))
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_cannot_choose_tools_that_an_upstream_runs() {
    let upstream = Fixed::with_json(WHOLE).await;
    let app =
        TestConfig::on(TestDatabase::sqlite()).with_upstream(&upstream.endpoint).start().await;
    let ada = app.signed_in().await;
    let mut request = with_function();
    request["tool_choice"] = json!({ "type": "web_search" });

    let answer = ada.post(CHAT, &request).await;

    assert_eq!(answer.body["errors"][0]["field"], "tool_choice.type", "{}", answer.text());
    assert_eq!(upstream.calls().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn members_that_enable_tools_are_not_forwarded() {
    let upstream = Fixed::with_json(WHOLE).await;
    let app =
        TestConfig::on(TestDatabase::sqlite()).with_upstream(&upstream.endpoint).start().await;
    let ada = app.signed_in().await;
    let mut request = with_function();
    for (key, value) in [
        ("web_search_options", json!({})),
        ("plugins", json!([{ "id": "web" }])),
        ("functions", json!([{ "name": "f" }])),
        ("mcp_servers", json!([{ "url": "https://mcp.example/" }])),
        ("model", json!("test-model:online")),
    ] {
        request[key] = value;
    }

    let answer = ada.post(CHAT, &request).await;

    assert_eq!(answer.status, 200, "{}", answer.text());
    let forwarded: Value = serde_json::from_str(&upstream.call().text()).expect("JSON");
    let mut keys: Vec<_> =
        forwarded.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["messages", "model", "tools"]);
    assert_eq!(forwarded["model"], "test-model");
}

#[tokio::test(flavor = "multi_thread")]
async fn upstream_tools_are_charged_as_configured() {
    let upstream = Fixed::with_json(WHOLE).await;
    let app = TestConfig::on(TestDatabase::sqlite())
        .with_upstream(&upstream.endpoint)
        .with("Ai__UpstreamTools", "web_search=40")
        .start()
        .await;
    let ada = app.signed_in().await;
    app.admin("group set default credits.hourly=50").await.expect("settings");
    let request = with_tool(&json!({ "type": "web_search", "filters": {} }));

    let first_response = ada.post(CHAT, &request).await;
    let second_response = ada.post(CHAT, &request).await;

    assert_eq!(first_response.status, 200, "{}", first_response.text());
    assert_eq!(second_response.status, 429);
    assert_eq!(second_response.error(), "Token Limit Exceeded");

    let [call] = upstream.calls().try_into().expect("one call");
    let forwarded: Value = serde_json::from_str(&call.text()).expect("JSON");
    assert_eq!(forwarded["tools"], request["tools"]);

    // 40 credits for the tool, and 1 for the tokens.
    until(async || {
        let credits = ada.get("/api/ai/credits").await.body;
        (credits["hourly"]["used"] == 41).then_some(())
    })
    .await;
}
