//! Tests of chat calls, and of the requests that models receive.

use pia_demo_upstream::Demo;
use pia_server_testkit::ai_client::{
    CHAT, COMPLETIONS, Heard, JSON, OPTIMIZE, chat_request, streaming_request, upstream_config,
    with_demo, with_tool,
};
use pia_server_testkit::ai_peer::{EVENTS, Fixed, WHOLE};
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn both_paths_answer_in_full_and_streamed() {
    let (_demo, app) = with_demo().await;
    let ada = app.signed_in().await;

    for path in [CHAT, COMPLETIONS] {
        let full_response = ada.post(path, &chat_request("good day")).await;
        let stream = Heard::of(&ada.post(path, &streaming_request("good day")).await);

        let choice = &full_response.body["choices"][0];
        assert_eq!(full_response.status, 200, "{path}");
        assert_eq!(full_response.header("content-type"), Some("application/json"), "{path}");
        assert_eq!(choice["message"]["content"], "Demo answer to: good day", "{path}");
        assert_eq!(choice["finish_reason"], "stop", "{path}");
        assert_eq!(full_response.body["usage"]["prompt_tokens"], 2, "{path}");
        assert_eq!(stream.text, "Demo answer to: good day", "{path}");
        assert_eq!(stream.finish.as_deref(), Some("stop"));
        assert_eq!(stream.usage, Some((2, 5)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_upstream_gets_its_own_key_and_nothing_of_the_caller() {
    let upstream = Fixed::with_json(WHOLE).await;
    let app = upstream_config(&upstream.endpoint).start().await;
    let ada = app.signed_in().await;
    let mut request = chat_request("hello");
    let extras = [
        ("model", json!("pia-cloud")),
        ("metadata", json!({ "pia_persona_type": "fast" })),
        ("user", json!("ada@example.org")),
        ("store", json!(true)),
        ("provider", json!("theirs")),
    ];
    for (key, value) in extras {
        request[key] = value;
    }
    let headers = [JSON, ("cookie", "a=b"), ("x-request-id", "r-1"), ("x-pia-mode", "Assistant")];

    let answer = ada.send("POST", CHAT, &headers, request.to_string().as_bytes()).await;

    let call = upstream.call();
    let known_headers =
        ["accept", "authorization", "content-length", "content-type", "host", "user-agent"];
    assert_eq!(answer.status, 200);
    assert_eq!(answer.text(), WHOLE);
    assert_eq!(
        serde_json::from_slice::<Value>(&call.body).unwrap(),
        json!({ "messages": request["messages"], "model": "test-model" })
    );
    assert!(call.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", call.head);
    assert!(call.head.contains("authorization: Bearer sk-the-upstreams-key\r\n"), "{}", call.head);
    assert_eq!(call.headers(), known_headers);
}

#[tokio::test(flavor = "multi_thread")]
async fn supported_fields_are_forwarded_byte_for_byte() {
    let upstream = Fixed::with_json(WHOLE).await;
    let app = upstream_config(&upstream.endpoint).start().await;
    let ada = app.signed_in().await;
    let parts = [
        ("messages", r#"[ {"role":"user" , "content":"gr\u00fc\u00DFe \ud83d\ude00"} ]"#),
        (
            "tools",
            r#"[ {"function":{"name":"f","parameters":{"z":1.50e1,"a":[ ]}},"type":"function"} ]"#,
        ),
        ("tool_choice", r#"{"type":"function" , "function":{"name":"f"}}"#),
        ("temperature", "0.70"),
        ("max_tokens", "256"),
        ("stop", r#"[ "\n" ]"#),
    ];
    let body: Vec<_> = parts.iter().map(|(key, value)| format!(" \"{key}\" :{value}")).collect();

    let answer =
        ada.send("POST", CHAT, &[JSON], format!("{{{} }}", body.join(",")).as_bytes()).await;

    let forwarded = upstream.call().text();
    assert_eq!(answer.status, 200, "{}", answer.text());
    for (key, value) in parts {
        assert!(forwarded.contains(&format!("\"{key}\":{value}")), "{key} in {forwarded}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nulls_and_empty_tools_are_not_forwarded() {
    let upstream = Fixed::with_json(WHOLE).await;
    let app = upstream_config(&upstream.endpoint).start().await;
    let ada = app.signed_in().await;
    let messages = json!([
        { "role": "user", "content": "x" },
        { "role": "assistant", "content": null, "tool_calls": [{ "id": "1" }] },
        { "role": "tool", "tool_call_id": "1", "content": "" },
    ]);
    let request = json!({
        "messages": messages, "tools": [], "tool_choice": "none", "temperature": null,
        "max_tokens": null, "stream": null, "stream_options": null, "stop": null,
    });

    let answer = ada.post(CHAT, &request).await;

    let forwarded: Value = serde_json::from_slice(&upstream.call().body).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(forwarded, json!({ "messages": messages, "model": "test-model" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_always_requested_from_a_streaming_upstream() {
    let (demo, app) = with_demo().await;
    let ada = app.signed_in().await;
    let mut request = streaming_request("x");

    for options in
        [json!({ "include_usage": true }), json!({ "include_usage": false }), json!(null)]
    {
        request["stream_options"] = options;
        Heard::of(&ada.post(CHAT, &request).await);

        let forwarded = demo.last().body;
        assert_eq!(forwarded["stream"], true);
        assert_eq!(forwarded["stream_options"], json!({ "include_usage": true }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_chooses_the_model_and_the_upstream() {
    let demo = Demo::start(0).unwrap();
    let other_upstream = Fixed::with_json(WHOLE).await;
    let app = upstream_config(&demo.endpoint())
        .with("Ai__Modes__Research__Model", "research-model")
        .with("Ai__Modes__Assistant__Model", "assistant-model")
        .with("Ai__Modes__Assistant__Endpoint", &other_upstream.endpoint)
        .with("Ai__Modes__Assistant__ApiKey", "sk-another")
        .start()
        .await;
    let ada = app.signed_in().await;
    let body = chat_request("x").to_string();

    for (headers, model) in [
        (vec![], "test-model"),
        (vec![("x-pia-mode", "Research")], "research-model"),
        (vec![("x-service-mode", "research")], "research-model"),
        (vec![("x-pia-mode", "Assistant"), ("x-service-mode", "RESEARCH")], "research-model"),
        (vec![("x-service-mode", "optimize")], "test-model"),
        (vec![("x-service-mode", "unheard-of")], "test-model"),
        (vec![("x-pia-mode", "Research"), ("x-service-mode", "unheard-of")], "test-model"),
    ] {
        let headers: Vec<_> = headers.into_iter().chain([JSON]).collect();
        let answer = ada.send("POST", CHAT, &headers, body.as_bytes()).await;

        assert_eq!(answer.status, 200, "{headers:?}");
        assert_eq!(demo.last().body["model"], model, "{headers:?}");
    }
    assert!(other_upstream.calls().is_empty());

    let headers = [JSON, ("x-service-mode", "assistant")];
    let answer = ada.send("POST", CHAT, &headers, body.as_bytes()).await;
    let call = other_upstream.call();
    assert_eq!(answer.status, 200);
    assert!(call.head.contains("authorization: Bearer sk-another\r\n"), "{}", call.head);
    assert!(call.text().contains(r#""model":"assistant-model""#), "{}", call.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_of_writing_a_character_survives_in_both_directions() {
    let escaped = r#"{"choices":[{"message":{"content":"gr\u00fc\u00DF \ud83d\ude00 ü"},"finish_reason":"stop"}]}"#;
    let event = r#"{"choices":[{"delta":{"content":"gr\u00fc\u00DF \ud83d\ude00 ü"}}]}"#;
    let full_upstream = Fixed::with_json(escaped).await;
    let end = r#"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let events = format!("{EVENTS}data: {event}\n\n{end}\n\ndata: [DONE]\n\n");
    let stream = Fixed::with_response(events).await;
    let app = upstream_config(&full_upstream.endpoint)
        .with("Ai__Modes__Research__Endpoint", &stream.endpoint)
        .start()
        .await;
    let ada = app.signed_in().await;
    let headers = [JSON, ("x-service-mode", "research")];

    let full_answer = ada.post(CHAT, &chat_request("x")).await;
    let request = streaming_request("x").to_string();
    let streamed_answer = ada.send("POST", CHAT, &headers, request.as_bytes()).await;

    assert_eq!(full_answer.text(), escaped);
    assert!(streamed_answer.text().contains(event), "{}", streamed_answer.text());
    assert_eq!(Heard::of(&streamed_answer).text, "grüß \u{1F600} ü");
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_calls_and_their_results_are_forwarded() {
    let (_demo, app) = with_demo().await;
    let ada = app.signed_in().await;
    let prompt = "use the tool weather Bern";

    let full_response = ada.post(CHAT, &with_tool(chat_request(prompt))).await;
    let stream = Heard::of(&ada.post(CHAT, &with_tool(streaming_request(prompt))).await);

    let choice = &full_response.body["choices"][0];
    let call = &choice["message"]["tool_calls"][0];
    assert_eq!(full_response.status, 200);
    assert_eq!(choice["finish_reason"].as_str(), Some("tool_calls"));
    assert_eq!(call["function"]["name"], "weather");
    assert_eq!(call["function"]["arguments"], r#"{"city":"Bern"}"#);
    assert_eq!(stream.finish.as_deref(), Some("tool_calls"));
    assert_eq!(stream.calls.len(), 1);
    assert_eq!(stream.calls[0].name, "weather");
    assert_eq!(stream.calls[0].arguments, r#"{"city":"Bern"}"#);
    assert_eq!(Some(stream.calls[0].id.as_str()), call["id"].as_str());

    let mut next_body = with_tool(streaming_request(prompt));
    let result = json!({ "role": "tool", "tool_call_id": call["id"], "content": "rain" });
    for message in [choice["message"].clone(), result] {
        next_body["messages"].as_array_mut().unwrap().push(message);
    }
    let stream = Heard::of(&ada.post(CHAT, &next_body).await);

    assert_eq!(stream.text, "The tool said: rain");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_requests_are_rejected_by_field_and_call_no_model() {
    let (demo, app) = with_demo().await;
    let ada = app.signed_in().await;
    let message = json!({ "role": "user", "content": "x" });
    let violations = |answer: &TestResponse| -> Vec<(String, String)> {
        let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
        let errors = answer.body["errors"].as_array().into_iter().flatten();
        errors.map(|it| (text(&it["field"]), text(&it["code"]))).collect()
    };

    for (body, field, code) in [
        (json!({}), "messages", "required"),
        (json!({ "messages": null }), "messages", "required"),
        (json!({ "messages": "x" }), "messages", "invalid_type"),
        (json!({ "messages": [] }), "messages", "empty"),
        (json!({ "messages": [message, { "role": "root" }] }), "messages[1].role", "unknown_value"),
        (
            json!({ "messages": [{ "role": "user", "content": 7 }] }),
            "messages[0].content",
            "invalid_type",
        ),
        (json!({ "messages": [message], "temperature": 9 }), "temperature", "out_of_range"),
        (json!({ "messages": [message], "max_tokens": "1" }), "max_tokens", "out_of_range"),
        (json!({ "messages": [message], "stream": 1 }), "stream", "invalid_type"),
        (json!({ "messages": [message], "tools": [7] }), "tools[0]", "invalid_type"),
        (json!([]), "", "invalid_type"),
    ] {
        let answer = ada.post(CHAT, &body).await;

        assert_eq!(answer.status, 400, "{body}");
        assert_eq!(answer.error(), "validation_failed", "{body}");
        assert_eq!(violations(&answer), [(field.to_owned(), code.to_owned())], "{body}");
        assert_eq!(answer.body["message"], answer.body["errors"][0]["message"], "{body}");
    }

    let malformed_response = ada.send("POST", CHAT, &[JSON], b"{\"messages\": [").await;
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let unsupported_response = ada.send("POST", CHAT, &form, b"messages=x").await;
    let stranger = app.anonymous().post(CHAT, &chat_request("x")).await;
    assert_eq!(malformed_response.status, 400);
    assert_eq!(malformed_response.error(), "malformed_json");
    assert_eq!(unsupported_response.status, 415);
    assert_eq!(unsupported_response.error(), "unsupported_media_type");
    assert_eq!(stranger.status, 401);
    assert_eq!(stranger.error(), "unauthorized");
    assert_eq!(demo.call_counts().calls, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_without_an_upstream_are_refused_as_not_configured() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;

    let status = ada.get("/api/ai/status").await;
    let mut refused_responses = vec![ada.post(OPTIMIZE, &json!({ "text": "x" })).await];
    for (path, body) in [(CHAT, chat_request("x")), (COMPLETIONS, streaming_request("x"))] {
        refused_responses.push(ada.post(path, &body).await);
    }

    assert_eq!(status.status, 200);
    assert_eq!(status.body, json!({ "available": false, "modes": [] }));
    for answer in refused_responses {
        assert_eq!(answer.status, 503);
        assert_eq!(answer.error(), "ai_not_configured");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_lists_the_served_modes_without_calling_a_model() {
    let (demo, app) = with_demo().await;
    let partly_server = TestConfig::on(TestDatabase::sqlite())
        .with("Ai__Modes__Research__Endpoint", demo.endpoint())
        .with("Ai__Modes__Research__Model", "m")
        .start()
        .await;

    let all_modes = app.signed_in().await.get("/api/ai/status").await;
    let one_mode = partly_server.signed_in().await.get("/api/ai/status").await;
    let anonymous = app.anonymous().get("/api/ai/status").await;

    assert_eq!(
        all_modes.body,
        json!({ "available": true, "modes": ["Optimize", "Assistant", "Research"] })
    );
    assert_eq!(one_mode.body, json!({ "available": true, "modes": ["Research"] }));
    assert_eq!(anonymous.status, 401);
    assert_eq!(demo.call_counts().calls, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn templates_are_listed_without_their_prompts() {
    let app = TestApp::spawn().await;

    let answer = app.signed_in().await.get("/api/ai/templates").await;

    let templates = answer.body.as_array().unwrap();
    let id = |number| format!("00000001-0000-0000-0000-00000000000{number}");
    assert_eq!(templates.len(), 6);
    for (number, template) in (1..).zip(templates) {
        let keys: Vec<_> = template.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["id", "name", "description"]);
        assert_eq!(template["id"], id(number));
    }
    assert_eq!(templates[4]["name"], "Clarity & Grammar");
}
