//! Tests of the choice of models, of their names, and of fallbacks.

use pia_demo_upstream::Demo;
use pia_server_testkit::ai_client::{
    CHAT, COMPLETIONS, Heard, Live, OPTIMIZE, chat_request, streaming_request,
};
use pia_server_testkit::ai_peer::{Fixed, response};
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

on_both_databases! {
    a_group_maps_modes_personas_and_names_to_models,
    two_servers_share_the_limits_of_an_upstream,
}

const MODELS: &str = "/api/ai/models";

fn answer_with(text: &str) -> String {
    json!({ "choices": [{ "message": { "content": text }, "finish_reason": "stop" }] }).to_string()
}

/// Configures a default model and catalogue entries with these ids.
fn with_entries(setting: TestConfig, default: &Fixed, entries: &[(&str, &Fixed)]) -> TestConfig {
    entries
        .iter()
        .enumerate()
        .fold(setting.with_upstream(&default.endpoint), |setting, (at, (id, upstream))| {
            with_entry(setting, at, id, upstream)
        })
}

/// Configures a catalogue entry with this number and id.
fn with_entry(setting: TestConfig, at: usize, id: &str, upstream: &Fixed) -> TestConfig {
    let name = |key: &str| format!("Ai__Providers__{at}__{key}");
    setting
        .with(&name("Id"), id)
        .with(&name("ProviderType"), "OpenAICompatible")
        .with(&name("Endpoint"), &upstream.endpoint)
        .with(&name("Model"), format!("{id}-model"))
}

async fn set_rules(app: &TestApp, rules: &str) {
    app.admin(&format!("group set default {rules}")).await.expect("rules");
}

async fn answered(caller: &Client, mode: &str, request: &Value) -> String {
    let headers = [("content-type", "application/json"), ("x-pia-mode", mode)];
    let answer = caller.send("POST", CHAT, &headers, request.to_string().as_bytes()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("x-ai-generated"), Some("true"));
    answer.body["choices"][0]["message"]["content"].as_str().expect("a text").to_owned()
}

async fn a_group_maps_modes_personas_and_names_to_models(database: TestDatabase) {
    let default = Fixed::with_json(&answer_with("default")).await;
    let large = Fixed::with_json(&answer_with("large")).await;
    let coder = Fixed::with_json(&answer_with("coder")).await;
    let entries = [("large", &large), ("coder", &coder)];
    let app = with_entries(TestConfig::on(database), &default, &entries).start().await;
    let ada = app.signed_in().await;
    let with = |key: &str, value: Value| {
        let mut request = chat_request("x");
        request[key] = value;
        request
    };
    let coding = with("metadata", json!({ "pia_persona_type": "Code" }));

    assert_eq!(answered(&ada, "Assistant", &with("model", json!("large"))).await, "default");
    assert_eq!(ada.get(MODELS).await.body["data"].as_array().map(Vec::len), Some(1));

    set_rules(&app, "mode.Research=large persona.code=coder models=Large,gone").await;
    let app = with_entries(TestConfig::beside(&app), &default, &entries).start().await;
    let ada = Client { addr: app.addr, ..ada };
    assert_eq!(answered(&ada, "Research", &coding).await, "large");
    assert_eq!(answered(&ada, "Assistant", &coding).await, "coder");
    assert_eq!(answered(&ada, "Optimize", &coding).await, "default");
    assert_eq!(answered(&ada, "Assistant", &with("model", json!("LARGE"))).await, "large");
    for unusable in [json!("coder"), json!("gone"), json!(7), json!("")] {
        assert_eq!(answered(&ada, "Assistant", &with("model", unusable)).await, "default");
    }

    let list = ada.get(MODELS).await.body;
    assert_eq!(list["object"], "list");
    let ids: Vec<_> = list["data"].as_array().expect("models").iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, ["pia-cloud", "large"]);
    for (name, id) in [("large", "large"), ("Large", "large"), ("pia-cloud", "pia-cloud")] {
        let model = ada.get(&format!("{MODELS}/{name}")).await;
        assert_eq!(model.status, 200);
        assert_eq!(model.body["id"], id);
        assert_eq!(model.body["object"], "model");
    }
    for unknown in ["coder", "gone", "%20", "x%2Fy"] {
        let empty_response = ada.get(&format!("{MODELS}/{unknown}")).await;
        assert_eq!(empty_response.refusal(), (404, "not_found"), "{unknown}");
    }

    let optimised = async |provider: Value| {
        let answer = ada.post(OPTIMIZE, &json!({ "text": "x", "providerId": provider })).await;
        (answer.status, answer.body["result"].clone())
    };
    assert_eq!(optimised(json!("LARGE")).await, (200, json!("large")));
    for unusable in [json!("coder"), json!("gone"), json!(""), Value::Null] {
        assert_eq!(optimised(unusable).await, (200, json!("default")));
    }
    assert_eq!(optimised(json!(7)).await.0, 400);
    assert!(coder.calls().iter().all(|it| !it.text().contains("persona")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_is_that_of_the_callers_group() {
    let large = Fixed::with_json(&answer_with("large")).await;
    let app = with_entry(TestConfig::on(TestDatabase::sqlite()), 0, "large", &large).start().await;
    let ada = app.signed_in().await;
    let previous_body = ada.get("/api/ai/status").await.body;

    set_rules(&app, "mode.Research=large").await;
    let app = with_entry(TestConfig::beside(&app), 0, "large", &large).start().await;
    let ada = Client { addr: app.addr, ..ada };

    let later_body = ada.get("/api/ai/status").await.body;
    assert_eq!(previous_body, json!({ "available": false, "modes": [] }));
    assert_eq!(later_body, json!({ "available": true, "modes": ["Research"] }));
    assert_eq!(answered(&ada, "Research", &chat_request("x")).await, "large");
    let ids = ada.get(MODELS).await.body["data"].as_array().map(Vec::len);
    assert_eq!(ids, Some(1));
}

async fn two_servers_share_the_limits_of_an_upstream(database: TestDatabase) {
    let demo = Demo::start(0).expect("a demo upstream");
    let protected = |setting: TestConfig| {
        setting
            .with_upstream(&demo.endpoint())
            .with("Ai__MaxWait", "200ms")
            .with("Ai__Protection__MaxConcurrent", 4)
    };
    let app = protected(TestConfig::on(database)).start().await;
    let other_server = protected(TestConfig::beside(&app)).start().await;
    let ada = app.signed_in().await;
    let remote_client = Client { addr: other_server.addr, ..ada.clone() };
    for client in [&ada, &remote_client] {
        // Instances discover each other within a few seconds.
        until(async || {
            let metrics = client.get("/metrics").await.text();
            metrics.contains("\npia_ai_instances 2\n").then_some(())
        })
        .await;
    }

    let mut open_calls = Vec::new();
    for client in [&ada, &ada, &remote_client, &remote_client] {
        open_calls
            .push(Live::ask(client, CHAT, &streaming_request("demo:silent=1 good day")).await);
    }
    assert!(demo.until(|it| it.open == 4).await);

    let refused_responses = [
        ada.post(CHAT, &chat_request("x")).await,
        remote_client.post(CHAT, &chat_request("x")).await,
    ];
    drop(open_calls);
    assert!(demo.until(|it| it.open == 0).await);

    let served = until(async || {
        let answer = ada.post(CHAT, &chat_request("x")).await;
        (answer.status == 200).then_some(())
    });

    assert_eq!(refused_responses.each_ref().map(TestResponse::refusal), [(503, "ai_crowded"); 2]);
    served.await;
    assert_eq!(demo.call_counts().calls, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fallback_answers_for_a_model_that_is_down_and_is_counted() {
    let error = r#"{"error":{"message":"down"}}"#;
    let failing_upstream = Fixed::with_response(response(
        "503 Service Unavailable",
        "content-type: application/json\r\n",
        error,
    ))
    .await;
    let other_upstream = Fixed::with_json(&answer_with("other")).await;
    let setting = with_entries(
        TestConfig::on(TestDatabase::sqlite()),
        &failing_upstream,
        &[("first", &failing_upstream), ("second", &other_upstream)],
    );
    let app = setting.with("Ai__Providers__0__Fallbacks", "second").start().await;
    set_rules(&app, "mode.Assistant=first").await;
    let ada = app.signed_in().await;

    assert_eq!(answered(&ada, "Assistant", &chat_request("x")).await, "other");
    let headers = [("content-type", "application/json"), ("x-pia-mode", "Assistant")];
    let stream = ada
        .send("POST", COMPLETIONS, &headers, streaming_request("x").to_string().as_bytes())
        .await;
    assert_eq!(Heard::of(&stream).text, "other");
    assert_eq!(stream.header("x-ai-generated"), Some("true"));

    let metrics = ada.get("/metrics").await.text();
    for line in [
        r#"pia_ai_attempts_total{entry="first",outcome="failed"} 2"#,
        r#"pia_ai_attempts_total{entry="second",outcome="answered"} 2"#,
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    // The default model has no fallback.
    assert_eq!(ada.post(OPTIMIZE, &json!({ "text": "x" })).await.status, 502);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_receives_no_more_requests_than_its_limit() {
    let upstream = Fixed::with_json(&answer_with("one")).await;
    let setting =
        with_entries(TestConfig::on(TestDatabase::sqlite()), &upstream, &[("only", &upstream)]);
    let app = setting
        .with("Ai__Providers__0__Protection__RequestsPerMinute", 2)
        .with("Ai__MaxWait", "200ms")
        .start()
        .await;
    set_rules(&app, "mode.Assistant=only").await;
    let ada = app.signed_in().await;
    answered(&ada, "Assistant", &chat_request("x")).await;
    answered(&ada, "Assistant", &chat_request("x")).await;

    let headers = [("content-type", "application/json"), ("x-pia-mode", "Assistant")];
    let third_response =
        ada.send("POST", CHAT, &headers, chat_request("x").to_string().as_bytes()).await;

    assert_eq!(third_response.refusal(), (503, "ai_crowded"));
    let seconds: u64 =
        third_response.header("retry-after").expect("a time").parse().expect("seconds");
    assert!((1..=30).contains(&seconds), "{seconds}");
    assert_eq!(upstream.calls().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_is_drafted_from_a_description() {
    let upstream = Fixed::with_json(&answer_with(" Write like a friend. ")).await;
    let app =
        TestConfig::on(TestDatabase::sqlite()).with_upstream(&upstream.endpoint).start().await;
    let ada = app.signed_in().await;
    let path = "/api/ai/generate-prompt";

    let drafted = ada.post(path, &json!({ "styleDescription": "casual" })).await;
    assert_eq!(drafted.status, 200);
    assert_eq!(drafted.body, json!({ "prompt": "Write like a friend." }));
    assert_eq!(drafted.header("x-ai-generated"), Some("true"));
    for body in [json!({}), json!({ "styleDescription": null }), json!({ "styleDescription": " " })]
    {
        let refusal = ada.post(path, &body).await;
        assert_eq!(refusal.status, 400);
        assert_eq!(refusal.body["errors"][0]["field"], "styleDescription");
    }
    assert_eq!(upstream.calls().len(), 1);
}
