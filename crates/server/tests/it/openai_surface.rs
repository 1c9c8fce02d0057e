//! Clients for OpenAI's API, as they are published, at the surface made for
//! them.

use std::process::{Output, Stdio};

use tokio::process::Command;

use crate::ai_client::with_demo;
use crate::auth::api_keys::script;
use crate::client::Client;

const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/openai_sdks.py");
const NODE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/openai/sdk.mjs");

#[expect(clippy::disallowed_methods, reason = "a test asks the environment itself")]
fn variable(name: &str) -> String {
    let value = std::env::var(name);
    value.unwrap_or_else(|_| panic!("{name} is not set: run `cargo xtask test`, which sets it"))
}

async fn run(command: &mut Command, caller: &Client) -> Output {
    let key = caller.access.as_deref().expect("a key");
    let ran = command
        .env("PIA_BASE_URL", format!("http://{}/v1", caller.addr))
        .env("PIA_ACCESS_TOKEN", key)
        .env("PIA_API_KEY", key)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    ran.await.expect("an interpreter")
}

fn succeeded(output: &Output, cases: usize) {
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.matches("ok").count(), cases, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_for_python_answer_and_show_the_servers_own_messages() {
    let (_demo, app) = with_demo().await;
    let ada = app.signed_in().await;
    let key = script(&app, &ada).await;

    let mut python = Command::new(variable("TEST_SDKS"));
    // litellm would ask the network what its models cost.
    python.env_clear().env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
    let ran = run(python.args([PYTHON, "openai", "langchain", "litellm"]), &key).await;

    succeeded(&ran, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_for_node_answer_and_show_the_servers_own_messages() {
    let (_demo, app) = with_demo().await;
    let ada = app.signed_in().await;
    let key = script(&app, &ada).await;

    let mut node = Command::new("node");
    node.env_clear().env("PATH", variable("PATH")).env("OPENAI_MODULES", variable("TEST_OPENAI"));
    let ran = run(node.arg(NODE), &key).await;

    succeeded(&ran, 1);
}
