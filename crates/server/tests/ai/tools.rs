//! Tests of the server's tools for models, and of Anthropic's API.

use pia_server_testkit::ai_client::{CHAT, Heard, chat_request, streaming_request};
use pia_server_testkit::ai_peer::{EVENTS, Fixed, Peer, WHOLE, response};
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

const JSON: &str = "content-type: application/json\r\n";
const HEADERS: [(&str, &str); 2] =
    [("content-type", "application/json"), ("x-pia-mode", "Assistant")];

/// Configures a model that searches the web through a service.
pub(crate) fn with_search(setting: TestConfig, model: &str, linkup: &str) -> TestConfig {
    setting
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

/// Starts a server whose model searches the web through this service.
async fn searching(model: &Peer, linkup: &str, more: &[(&str, &str)]) -> TestApp {
    let setting = with_search(TestConfig::on(TestDatabase::sqlite()), &model.endpoint, linkup);
    let app = more.iter().fold(setting, |it, (name, value)| it.with(name, value)).start().await;
    app.admin("group set default mode.Assistant=talker").await.expect("a mode");
    app
}

fn found() -> String {
    let hit = json!({
        "type": "text", "name": "Rust", "url": "https://rust-lang.org", "content": "It is out.",
    });
    json!({ "results": [hit] }).to_string()
}

async fn start_linkup() -> Fixed {
    Fixed::with_json(&found()).await
}

fn calling() -> String {
    let message = json!({ "content": null, "tool_calls": [search()] });
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 2 });
    let choice = json!({ "message": message, "finish_reason": "tool_calls" });
    response("200 OK", JSON, &json!({ "choices": [choice], "usage": usage }).to_string())
}

fn search() -> Value {
    let function = json!({ "name": "pia_web_search", "arguments": r#"{"query":"rust news"}"# });
    json!({ "index": 0, "id": "a", "type": "function", "function": function })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_searches_the_web_and_its_caller_receives_the_answer() {
    let model = Peer::start().await;
    let linkup = start_linkup().await;
    let app = searching(&model, &linkup.endpoint, &[]).await;
    let ada = app.signed_in().await;

    let request = chat_request("what is new?").to_string();
    let upstream = async {
        model.call().await.write(calling()).await;
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

    let [searched] = linkup.calls().try_into().expect("one search");
    let question: Value = serde_json::from_str(&searched.text()).expect("JSON");
    assert_eq!(question["q"], "rust news");
    assert_eq!(question["depth"], "fast");
    assert!(searched.head.to_ascii_lowercase().contains("authorization: bearer lk-secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_falls_back_to_another_key_within_its_limits_and_is_counted() {
    let model = Peer::start().await;
    let linkup = Peer::start().await;
    let more = [
        ("Ai__MaxWait", "200ms"),
        ("Ai__Providers__1__ApiKeys__0", "lk-other"),
        ("Ai__Providers__1__Protection__RequestsPerMinute", "1"),
    ];
    let app = searching(&model, &linkup.endpoint, &more).await;
    let ada = app.signed_in().await;
    let request = chat_request("what is new?").to_string();
    let send = || ada.send("POST", CHAT, &HEADERS, request.as_bytes());

    let (first, ()) = tokio::join!(send(), async {
        model.call().await.write(calling()).await;
        linkup.call().await.write(response("401 Unauthorized", JSON, "{}")).await;
        linkup.call().await.write(response("200 OK", JSON, &found())).await;
        model.call().await.write(response("200 OK", JSON, WHOLE)).await;
    });
    let (second, ()) = tokio::join!(send(), async {
        model.call().await.write(calling()).await;
        model.call().await.write(response("200 OK", JSON, WHOLE)).await;
    });

    assert_eq!(first.status, 200);
    assert_eq!(second.status, 200, "{}", second.text());
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
    let app = searching(&model, &linkup.endpoint, &[]).await;
    let ada = app.signed_in().await;
    let event = |choice: Value| format!("data: {}\n\n", json!({ "choices": [choice] }));

    let request = streaming_request("what is new?").to_string();
    let upstream = async {
        let calls = [
            event(json!({ "index": 0, "delta": { "content": "One moment. " } })),
            event(json!({ "index": 0, "delta": { "tool_calls": [search()] } })),
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

    let refused = ada.post(CHAT, &with_recording).await;
    let answer = ada.post(CHAT, &chat_request("Hello")).await;

    // Only the second reaches the upstream.
    assert_eq!(refused.refusal(), (400, "validation_failed"));
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

/// Returns a request with a tool that its caller does not run.
fn with_hosted_tool(tool: &Value) -> Value {
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
        let answer = ada.post(CHAT, &with_hosted_tool(&tool)).await;

        assert_eq!(answer.refusal(), (400, "validation_failed"), "{field}");
        let error = &answer.body["errors"][0];
        assert_eq!(error["field"], json!(field));
        assert_eq!(error["code"], json!(code));
    }

    let function = json!({ "type": "function", "function": { "name": "f" } });
    let mut chosen = with_hosted_tool(&function);
    chosen["tool_choice"] = json!({ "type": "web_search" });
    let answer = ada.post(CHAT, &chosen).await;
    assert_eq!(answer.body["errors"][0]["field"], "tool_choice.type", "{}", answer.text());
    assert_eq!(upstream.calls().len(), 0);

    let mut other_fields = with_hosted_tool(&function);
    for (key, value) in [
        ("web_search_options", json!({})),
        ("plugins", json!([{ "id": "web" }])),
        ("functions", json!([{ "name": "f" }])),
        ("mcp_servers", json!([{ "url": "https://mcp.example/" }])),
        ("model", json!("test-model:online")),
    ] {
        other_fields[key] = value;
    }
    assert_eq!(ada.post(CHAT, &other_fields).await.status, 200);

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
    let searching = with_hosted_tool(&json!({ "type": "web_search", "filters": {} }));

    let first_response = ada.post(CHAT, &searching).await;
    let second_response = ada.post(CHAT, &searching).await;

    assert_eq!(first_response.status, 200, "{}", first_response.text());
    assert_eq!(second_response.status, 429);
    assert_eq!(second_response.error(), "Token Limit Exceeded");

    let [forwarded] = upstream.calls().try_into().expect("one call");
    let forwarded: Value = serde_json::from_str(&forwarded.text()).expect("JSON");
    assert_eq!(forwarded["tools"], searching["tools"]);

    let charged = async || {
        let credits = ada.get("/api/ai/credits").await.body;
        Some(credits["hourly"]["used"].clone()).filter(|it| *it == 41)
    };
    pia_server_testkit::polling::until(charged).await;
}
