//! Tests of the composed server with the official Python client.

use std::process::Stdio;

use pia_demo_upstream::Demo;
use pia_server_testkit::ai_client::{upstream_config, with_demo};
use pia_server_testkit::client::Client;
use pia_server_testkit::credentials::api_key_client;
use tokio::process::Command;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ai/openai/sdk.py");

/// Runs cases of the script; each prints its errors.
async fn run(caller: &Client, cases: &[&str]) {
    #[expect(clippy::disallowed_methods, reason = "a test asks the environment itself")]
    let python = std::env::var("TEST_PYTHON").expect(
        "TEST_PYTHON is not set: run `cargo xtask test`, which installs the official OpenAI client",
    );
    let output = Command::new(python)
        .arg(SCRIPT)
        .args(cases)
        .env_clear()
        .env("PIA_BASE_URL", format!("http://{}/api/ai", caller.addr))
        .env("PIA_ACCESS_TOKEN", caller.access.as_deref().unwrap_or_default())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .expect("the interpreter that TEST_PYTHON names");
    let stdout = String::from_utf8_lossy(&output.stdout);

    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(stdout.matches("ok ").count(), cases.len(), "{stdout}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_client_chats_streams_and_calls_tools() {
    let (demo, app) = with_demo().await;
    let ada = app.signed_in().await;

    run(
        &ada,
        &[
            "chat",
            "stream",
            "image",
            "tools",
            "streamed_tools",
            "lists_models",
            "leaves_a_stream",
            "asynchronous",
        ],
    )
    .await;

    assert!(demo.until(|it| it.open == 0).await, "a stream that was left goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_client_needs_nothing_but_an_api_key() {
    let (_demo, app) = with_demo().await;
    let ada = app.signed_in().await;
    let script = api_key_client(&app, &ada).await;

    run(
        &script,
        &["has_an_api_key", "chat", "stream", "streamed_tools", "asynchronous", "not_signed_in"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_client_distinguishes_errors() {
    let (_demo, app) = with_demo().await;
    let ada = app.signed_in().await;

    run(
        &ada,
        &["bad_request", "not_signed_in", "upstream_failed", "no_such_path", "broken_stream"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_client_recognises_an_exceeded_rate_limit() {
    let demo = Demo::start(0).unwrap();
    let app = upstream_config(&demo.endpoint()).with("RateLimits__Ai", 1).start().await;
    let ada = app.signed_in().await;

    run(&ada, &["rate_limited"]).await;
}
