//! Tests of the composed server with the official client for Node.js.

use std::process::Stdio;

use pia_server_testkit::ai_client::with_demo;
use pia_server_testkit::client::Client;
use pia_server_testkit::credentials::api_key_client;
use tokio::process::Command;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ai/openai/client.mjs");

/// Runs cases of the script with an API key; each prints its errors.
async fn run(script: &Client, cases: &[&str]) {
    #[expect(clippy::disallowed_methods, reason = "a test asks the environment itself")]
    let modules = std::env::var("TEST_OPENAI").expect(
        "TEST_OPENAI is not set: run `cargo xtask test`, which installs npm's client of OpenAI",
    );
    #[expect(clippy::disallowed_methods, reason = "a test asks the environment itself")]
    let path = std::env::var("PATH").expect("a search path");
    let key = script.access.as_deref().unwrap_or_default();
    assert!(key.starts_with("pia_"), "a token of a session");

    let output = Command::new("node")
        .arg(SCRIPT)
        .args(cases)
        .env_clear()
        .env("PATH", path)
        .env("OPENAI_MODULES", modules)
        .env("PIA_BASE_URL", format!("http://{}/api/ai", script.addr))
        .env("PIA_API_KEY", key)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .expect("Node.js");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(stdout.matches("ok ").count(), cases.len(), "{stdout}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_client_for_node_chats_streams_and_calls_tools_with_an_api_key() {
    let (demo, app) = with_demo().await;
    let ada = app.signed_in().await;
    let script = api_key_client(&app, &ada).await;

    run(
        &script,
        &[
            "lists_models",
            "chat",
            "stream",
            "tools",
            "streamed_tools",
            "runs_tools",
            "leaves_a_stream",
        ],
    )
    .await;

    assert!(demo.until(|it| it.open == 0).await, "a stream that was left goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_client_for_node_distinguishes_errors() {
    let (_demo, app) = with_demo().await;
    let ada = app.signed_in().await;
    let script = api_key_client(&app, &ada).await;

    run(&script, &["wrong_key", "upstream_failed"]).await;
}
