//! Program that the reference pod is.

use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustix::process::{Pid, Signal, kill_process};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde_json::json;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::hub::{Event, Hub, HubOptions, RENEWED, TOKEN};
use crate::hub_connection::Command as HubCommand;

/// Returns the program for a hub, without a token.
pub(crate) fn program(hub: &Hub) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_pia-pod"));
    program
        .env_clear()
        .env("PIA_SERVER", hub.url())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    program
}

/// Waits for the end of a program.
pub(crate) async fn output(child: Child) -> Output {
    let output = timeout(Duration::from_secs(20), child.wait_with_output()).await;
    output.expect("an end within twenty seconds").expect("an exit status")
}

/// Waits for the failure of a program, and returns the last line that it wrote.
async fn failure(mut program: Command) -> String {
    let output = output(program.spawn().expect("the program")).await;
    assert_eq!(output.status.code(), Some(1));
    let written = String::from_utf8(output.stderr).expect("UTF-8");
    written.lines().last().expect("an error").to_owned()
}

#[actix_web::test]
async fn the_program_serves_its_tools_until_it_is_stopped() {
    let mut hub = Hub::start();
    let token = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&token, format!("{TOKEN}\n")).expect("a file");
    let mut program = program(&hub);
    program.env("PIA_POD_TOKEN_FILE", token.path()).args(["--name", "words"]);
    let child = program.spawn().expect("the program");
    let description = hub.hello().await;
    assert_eq!(description["name"], "words");
    assert_eq!(description["tools"].as_array().map(Vec::len), Some(2));

    hub.call("call-1", "count_words", &json!({ "text": "one two" }));
    let counted = json!({ "words": 2, "lines": 1, "characters": 7 });
    assert_eq!(hub.result().await, json!({ "content": counted }));

    let pid = child.id().and_then(|it| Pid::from_raw(it.cast_signed())).expect("a process");
    kill_process(pid, Signal::TERM).expect("a running process");
    assert_eq!(hub.next().await, Event::Drain);
    let output = output(child).await;
    assert_eq!(output.status.code(), Some(0));
    assert!(!String::from_utf8_lossy(&output.stderr).contains(TOKEN), "a token in the log");
}

#[actix_web::test]
async fn the_program_renews_the_token_of_its_file() {
    let lifetime = Some(Duration::from_hours(24));
    let mut hub = Hub::with(HubOptions { token_lifetime: lifetime, ..HubOptions::default() });
    let folder = tempfile::tempdir().expect("a folder");
    let token = folder.path().join("token");
    std::fs::write(&token, TOKEN).expect("a file");
    let mut program = program(&hub);
    program.env("PIA_POD_TOKEN_FILE", &token);
    let child = program.spawn().expect("the program");
    hub.hello().await;
    assert_eq!(hub.next().await, Event::Rotate);

    // Processed behind the response.
    hub.call("call-1", "fly", &json!({}));
    assert_eq!(hub.result().await["isError"], true);
    assert_eq!(std::fs::read_to_string(&token).expect("a file"), format!("{RENEWED}\n"));

    let pid = child.id().and_then(|it| Pid::from_raw(it.cast_signed())).expect("a process");
    kill_process(pid, Signal::TERM).expect("a running process");
    assert_eq!(hub.next().await, Event::Drain);
    let written = output(child).await.stderr;
    assert!(!String::from_utf8_lossy(&written).contains("pia_pod_"), "a token in the log");
}

#[actix_web::test]
async fn the_program_connects_over_tls_to_servers_that_it_trusts() {
    let name = vec!["127.0.0.1".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(name).expect("a key");
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key.into())
        .expect("a certificate");
    let mut hub = Hub::with(HubOptions { tls: Some(tls), ..HubOptions::default() });
    let roots = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&roots, cert.pem()).expect("a file");
    let mut program = program(&hub);
    program.env("PIA_POD_TOKEN", TOKEN).env("SSL_CERT_FILE", roots.path());

    let _child = program.spawn().expect("the program");

    hub.hello().await;
}

#[actix_web::test]
async fn a_program_that_an_administrator_ends_has_a_code_of_its_own() {
    let mut hub = Hub::start();
    let mut program = program(&hub);
    let child = program.env("PIA_POD_TOKEN", TOKEN).spawn().expect("the program");
    hub.hello().await;

    hub.command(HubCommand::Drain);

    let output = output(child).await;
    assert_eq!(output.status.code(), Some(3));
    let written = String::from_utf8_lossy(&output.stderr);
    assert!(written.ends_with("pia-pod: an administrator has ended this pod\n"), "{written}");
}

#[actix_web::test]
async fn the_program_explains_its_failures() {
    let hub = Hub::with(HubOptions { refusal: Some("too many tools"), ..HubOptions::default() });
    let mut wrong_token = program(&hub);
    wrong_token.env("PIA_POD_TOKEN", "pia_pod_wrong");
    let mut refused = program(&hub);
    refused.env("PIA_POD_TOKEN", TOKEN);

    assert_eq!(
        failure(wrong_token).await,
        "pia-pod: the server refuses the token: it is wrong or revoked"
    );
    assert_eq!(failure(refused).await, "pia-pod: the server refuses the pod: too many tools");
    assert_eq!(
        failure(program(&hub)).await,
        "pia-pod: neither PIA_POD_TOKEN nor PIA_POD_TOKEN_FILE is set"
    );
}
