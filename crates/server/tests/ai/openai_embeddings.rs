//! Tests of embeddings for OpenAI's clients.

use std::process::Stdio;

use pia_server_testkit::ai_peer::Fixed;
use pia_server_testkit::credentials::create_api_key;
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::json;
use tokio::process::Command;

on_both_databases!(embeddings_are_charged_to_the_callers_budget);

/// Response with one embedding, four bytes of a float in Base64, for 3,000 tokens.
const ANSWER: &str = r#"{"object":"list","model":"embed-3","data":[
    {"object":"embedding","index":0,"embedding":"AAAAPw=="}],
    "usage":{"prompt_tokens":3000,"total_tokens":3000}}"#;

/// Starts a server with an embedding model for all users.
async fn start(upstream: &Fixed, database: TestDatabase) -> TestApp {
    let app = TestConfig::on(database)
        .with("Ai__Providers__0__Id", "vectors")
        .with("Ai__Providers__0__ProviderType", "OpenAICompatible")
        .with("Ai__Providers__0__Endpoint", &upstream.endpoint)
        .with("Ai__Providers__0__Model", "embed-3")
        .with("Ai__Providers__0__Embeddings", "true")
        .start()
        .await;
    app.admin("group set default models=vectors credits.daily=5").await.expect("a group");
    app
}

async fn embeddings_are_charged_to_the_callers_budget(database: TestDatabase) {
    let upstream = Fixed::with_json(ANSWER).await;
    let app = start(&upstream, database).await;
    let ada = app.signed_in().await;
    let request = json!({
        "model": "vectors",
        "input": ["word ".repeat(2000)],
        "encoding_format": "base64",
        "user": "ada",
    });

    let models = ada.get("/v1/models").await;
    let model = ada.get("/v1/models/vectors").await;
    let vectors = ada.post("/v1/embeddings", &request).await;
    let second_response = ada.post("/api/ai/v1/embeddings", &request).await;
    let spending_response = ada.post("/v1/embeddings", &request).await;
    let chat = json!({ "model": "vectors", "messages": [{ "role": "user", "content": "Hi" }] });
    let chat = ada.post("/v1/chat/completions", &chat).await;
    let unknown = json!({ "model": "other", "input": "x" });
    let unknown = ada.post("/v1/embeddings", &unknown).await;

    assert_eq!(models.body["data"][0]["id"], "vectors", "{}", models.text());
    assert_eq!(model.status, 200);
    assert_eq!(vectors.status, 200);
    assert_eq!(second_response.status, 429);
    assert_eq!(vectors.text(), ANSWER);

    let call = upstream.call();
    assert!(call.head.starts_with("POST /v1/embeddings "), "{}", call.head);
    assert!(call.text().ends_with(r#","model":"embed-3"}"#), "{}", call.text());
    assert!(!call.text().contains("ada"), "{}", call.text());
    assert_eq!(
        spending_response.body["error"]["code"],
        "insufficient_quota",
        "{}",
        spending_response.text()
    );
    for refused in [chat, unknown] {
        assert_eq!(refused.status, 404);
        assert_eq!(refused.body["error"]["code"], "model_not_found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_have_the_requested_encoding_whatever_the_upstream_sends() {
    let upstream = Fixed::with_json(ANSWER).await;
    let app = start(&upstream, TestDatabase::sqlite()).await;
    let ada = app.signed_in().await;

    let floats = ada.post("/v1/embeddings", &json!({ "model": "vectors", "input": "x" })).await;
    let two_inputs = json!({ "model": "vectors", "input": ["x", "y"] });
    let incomplete_response = ada.post("/v1/embeddings", &two_inputs).await;

    assert_eq!(floats.body["data"][0]["embedding"], json!([0.5]), "{}", floats.text());
    assert_eq!(incomplete_response.status, 502, "{}", incomplete_response.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_with_too_many_values_are_refused_before_they_are_parsed() {
    let upstream = Fixed::with_json(ANSWER).await;
    let app = start(&upstream, TestDatabase::sqlite()).await;
    let ada = app.signed_in().await;

    for path in ["/v1/embeddings", "/v1/responses"] {
        let many_response =
            ada.post(path, &json!({ "model": "vectors", "input": vec![1; 500_000] })).await;

        let error = &many_response.body["error"];
        assert_eq!(many_response.status, 400, "{path}");
        assert_eq!(error["code"], "too_many_values", "{path}");
    }
    assert!(upstream.calls().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_for_python_reads_vectors() {
    let upstream = Fixed::with_json(ANSWER).await;
    let app = start(&upstream, TestDatabase::sqlite()).await;
    let key = create_api_key(&app.signed_in().await, json!({})).await;
    let script = "import openai\n\
                  print(openai.OpenAI().embeddings.create(model='vectors', input='Hi').data[0].embedding)";

    #[expect(clippy::disallowed_methods, reason = "a test asks the environment itself")]
    let python = std::env::var("TEST_SDKS").expect("TEST_SDKS: run `cargo xtask test`");
    let output = Command::new(python)
        .args(["-c", script])
        .env_clear()
        .env("OPENAI_BASE_URL", format!("http://{}/v1", app.addr))
        .env("OPENAI_API_KEY", key["apiKey"].as_str().expect("a key"))
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .expect("an interpreter");

    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(stdout.trim(), "[0.5]", "{}", String::from_utf8_lossy(&output.stderr));
}
