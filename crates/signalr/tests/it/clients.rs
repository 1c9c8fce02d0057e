//! Runs of the clients.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::server::{self, ACCESS_TOKEN};

const NODE_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/clients/client.mjs");
const PYTHON_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/clients/client.py");

const NODE_CASES: &[&str] = &[
    "invokes",
    "sends",
    "binary_values",
    "errors",
    "client_results",
    "streams",
    "streams_more_than_the_buffer",
    "cancels_a_stream",
    "uploads",
    "needs_no_negotiation",
    "token_in_the_query",
    "no_token",
    "is_expelled",
    "sends_too_much",
    "reconnects",
    "resumes",
    "reconnects_if_it_cannot_resume",
    "frees_the_buffer_of_the_client",
];

const TIMED_CASES: &[&str] = &["is_disconnected_when_silent", "stays_connected_while_idle"];

const PYTHON_CASES: &[&str] =
    &["invokes", "sends", "errors", "client_results", "streams", "uploads"];

/// Returns a variable that `cargo xtask test` sets.
#[expect(clippy::disallowed_methods, reason = "a test asks the environment itself")]
fn variable(name: &str) -> String {
    std::env::var(name)
        .expect("TEST_SIGNALR and TEST_PYTHON: run `cargo xtask test`, which installs the clients")
}

/// Runs cases of a script over an encoding; each prints its errors.
async fn run(mut script: Command, protocol: &str, cases: &[&str]) {
    let address = server::start();
    let running = script
        .args(cases)
        .env("SIGNALR_URL", format!("http://{address}"))
        .env("SIGNALR_TOKEN", ACCESS_TOKEN)
        .env("SIGNALR_PROTOCOL", protocol)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(Duration::from_mins(1), running)
        .await
        .expect("an end within a minute")
        .expect("the client's interpreter");
    let stdout = String::from_utf8_lossy(&output.stdout);

    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(stdout.matches("ok ").count(), cases.len(), "{stdout}");
}

fn node() -> Command {
    let mut node = Command::new("node");
    node.arg(NODE_SCRIPT)
        .env_clear()
        .env("PATH", variable("PATH"))
        .env("SIGNALR_MODULES", variable("TEST_SIGNALR"));
    node
}

fn python() -> Command {
    let mut python = Command::new(variable("TEST_PYTHON"));
    python.arg(PYTHON_SCRIPT).env_clear();
    python
}

#[actix_web::test]
async fn the_official_client_speaks_json() {
    run(node(), "json", NODE_CASES).await;
}

#[actix_web::test]
async fn the_official_client_speaks_message_pack() {
    run(node(), "messagepack", NODE_CASES).await;
}

#[actix_web::test]
async fn pings_of_the_official_client_keep_a_connection_in_json() {
    run(node(), "json", TIMED_CASES).await;
}

#[actix_web::test]
async fn pings_of_the_official_client_keep_a_connection_in_message_pack() {
    run(node(), "messagepack", TIMED_CASES).await;
}

#[actix_web::test]
async fn the_client_for_python_speaks_json() {
    run(python(), "json", PYTHON_CASES).await;
}

#[actix_web::test]
async fn the_client_for_python_speaks_message_pack() {
    run(python(), "messagepack", PYTHON_CASES).await;
}
