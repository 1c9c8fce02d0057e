//! Tests of the surface for OpenAI's clients with their published versions.

use std::process::{Output, Stdio};

use pia_demo_upstream::Demo;
use pia_server_testkit::ai_client::upstream_config;
use pia_server_testkit::credentials::create_api_key;
use pia_server_testkit::harness::TestApp;
use serde_json::json;
use tokio::process::Command;

const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ai/openai/sdks.py");
const NODE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ai/openai/sdk.mjs");

#[expect(clippy::disallowed_methods, reason = "a test asks the environment itself")]
fn variable(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: run `cargo xtask test`, which sets it"))
}

struct Scene {
    _demo: Demo,
    app: TestApp,
    /// An API key, and another whose budget is too small for any answer.
    key: String,
    spent_key: String,
}

async fn start() -> Scene {
    let demo = Demo::start(0).expect("a demo upstream");
    let priced =
        upstream_config(&demo.endpoint()).with("Ai__CreditRates__OutputPerMillion", 1_000_000);
    let app = priced.start().await;
    let ada = app.signed_in().await;
    let create_key = async |limits| {
        create_api_key(&ada, limits).await["apiKey"].as_str().expect("a key").to_owned()
    };
    let spent_key = create_key(json!({ "weeklyCredits": 1 })).await;
    let key = create_key(json!({})).await;
    Scene { _demo: demo, app, key, spent_key }
}

async fn run(command: &mut Command, scene: &Scene) -> Output {
    command
        .env("PIA_BASE_URL", format!("http://{}/v1", scene.app.addr))
        .env("PIA_ACCESS_TOKEN", &scene.key)
        .env("PIA_API_KEY", &scene.key)
        .env("PIA_SPENT_TOKEN", &scene.spent_key)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .expect("an interpreter")
}

fn succeeded(output: &Output, cases: usize) {
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(stdout.matches("ok").count(), cases, "{stdout}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_for_python_answer_and_show_the_servers_own_messages() {
    let scene = start().await;

    let mut python = Command::new(variable("TEST_SDKS"));
    // Otherwise litellm would download the prices of models.
    python.env_clear().env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
    let ran =
        run(python.args([PYTHON, "openai", "responses", "langchain", "litellm"]), &scene).await;

    succeeded(&ran, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_for_node_answer_and_show_the_servers_own_messages() {
    let scene = start().await;

    let mut node = Command::new("node");
    node.env_clear().env("PATH", variable("PATH")).env("OPENAI_MODULES", variable("TEST_OPENAI"));
    let ran = run(node.arg(NODE), &scene).await;

    succeeded(&ran, 1);
}
