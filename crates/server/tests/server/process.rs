//! Tests of the binary as a process: start, shutdown and crash.

use std::net::TcpListener;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use pia_server_testkit::client::parse;
use pia_server_testkit::harness::{JWT_KEY, MASTER_KEY, PASSWORD};
use pia_server_testkit::licences::{ended, foreign, forged};
use pia_server_testkit::polling::until;
use pia_server_testkit::program::{Invocation, ServerProcess};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const PROXIES: &str = "Server__TrustedProxies";

/// Sends the head and half of the body of a request.
async fn half_a_registration(program: &ServerProcess) -> (TcpStream, String) {
    let body = json!({ "email": "slow@example.org", "password": PASSWORD }).to_string();
    let (first, rest) = body.split_at(body.len() / 2);
    let length = body.len().to_string();
    let headers = [("content-length", length.as_str()), ("content-type", "application/json")];
    let stranger = program.anonymous();
    let socket = stranger.begin("POST", "/auth/register", &headers, first.as_bytes()).await;
    until(async || {
        let metrics = stranger.get("/metrics").await.text();
        metrics.lines().any(|it| it == "pia_http_requests_in_flight 2").then_some(())
    })
    .await;
    (socket, rest.to_owned())
}

/// Opens a connection that is idle after a request.
async fn open_idle(program: &ServerProcess) -> TcpStream {
    let mut socket = TcpStream::connect(program.addr).await.expect("a connection");
    socket.write_all(b"GET /health HTTP/1.1\r\nhost: test\r\n\r\n").await.expect("sent");
    let mut answer = [0; 512];
    let read = socket.read(&mut answer).await.expect("an answer");
    assert!(answer.get(..read).is_some_and(|it| it.starts_with(b"HTTP/1.1 200")));
    socket
}

#[tokio::test(flavor = "multi_thread")]
async fn the_request_id_of_a_trusted_proxy_is_logged_too() {
    let call = Invocation::new().licensed().with(PROXIES, "127.0.0.1");
    for (call, logged) in [(call.beside(), Some("of-the-proxy")), (call.without(PROXIES), None)] {
        let program = call.start().await;
        let id = [("x-request-id", "of-the-proxy")];

        let answer = program.anonymous().send("GET", "/health", &id, b"").await;
        let line = program.logs("request answered").await;

        assert_eq!(line["request.id"].as_str(), answer.header("x-request-id"));
        assert_eq!(line["request.proxy_id"].as_str(), logged);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_free_group_is_logged_at_the_start_and_after_changes() {
    let [one, other] = [1, 2].map(|it| format!("01970000-0000-7000-8000-00000000000{it}"));
    let naming = |id: &str| json!({ "FreeTier": { "GroupId": id } }).to_string();
    let call = Invocation::new().licensed().file("appsettings.json", &naming(&one));

    let program = call.start().await;
    let message = "FreeTier:GroupId names no group, so nobody is in the free tier";
    program.logs(message).await;
    assert!(program.log().contains(&one), "{}", program.log());
    std::fs::write(call.dir().join("appsettings.json"), naming(&other)).expect("a file");
    let lines = || program.log().lines().filter(|it| it.contains(message)).count();
    until(async || (lines() == 2).then_some(())).await;

    assert!(program.log().lines().any(|it| it.contains(message) && it.contains(&other)));
}

#[tokio::test(flavor = "multi_thread")]
async fn development_requires_two_secrets_alone() {
    let call = Invocation::new().licensed();

    let program = call.start().await;
    let ready = program.anonymous().get("/ready").await;
    let person = json!({ "email": "ada@example.org", "password": PASSWORD });
    let registration_response = program.anonymous().post("/auth/register", &person).await;
    let envelope = program.anonymous().post("/auth/login/local", &person).await;
    let me = program.anonymous().with_tokens(&envelope.body).get("/auth/me").await;

    assert_eq!(ready.status, 200);
    assert_eq!(ready.body["license"], "valid");
    assert_eq!(registration_response.status, 200);
    assert_eq!(envelope.status, 200);
    assert_eq!(me.status, 200);
    assert!(call.dir().join("pia.db").exists());

    program.logs("SVC-LIC-007").await;
    let log = program.log();
    for private in [JWT_KEY, MASTER_KEY, PASSWORD, "ada@example.org"] {
        assert!(!log.contains(private), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_error_of_a_licence_is_logged_with_a_distinct_code() {
    for (text, code) in [
        (String::new(), "SVC-LIC-002"),
        (foreign(), "SVC-LIC-003"),
        (forged(), "SVC-LIC-004"),
        (ended(), "SVC-LIC-006"),
    ] {
        let program = Invocation::new().file("license.lic", &text).start().await;

        program.logs(code).await;

        assert_eq!(program.anonymous().get("/health").await.status, 200);
    }
    let program = Invocation::new().start().await;
    program.logs("SVC-LIC-001").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_in_use_prevents_the_start() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();

    let error = Invocation::new().with("Server__Address", &address).fails();

    assert!(error.contains("SVC-RUN-004"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_completes_running_requests_and_accepts_no_new_ones() {
    let program = Invocation::new().licensed().start().await;
    let idle_connections = open_idle(&program).await;
    let (mut socket, rest) = half_a_registration(&program).await;

    program.signal("TERM");
    program.logs("shutdown requested").await;
    until(async || TcpStream::connect(program.addr).await.is_err().then_some(())).await;
    socket.write_all(rest.as_bytes()).await.expect("sent");
    let mut raw = Vec::new();
    socket.read_to_end(&mut raw).await.expect("an answer");
    let answered = Instant::now();
    let status = program.end().await;

    assert_eq!(parse(&raw).status, 200, "{}", parse(&raw).text());
    assert_eq!(status.code(), Some(0));
    assert!(answered.elapsed() < Duration::from_secs(5), "{:?}", answered.elapsed());
    drop(idle_connections);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_does_not_delay_shutdown() {
    let program = Invocation::new().licensed().start().await;
    let idle_connections = open_idle(&program).await;

    let signalled = Instant::now();
    program.signal("TERM");
    let status = program.end().await;

    assert_eq!(status.code(), Some(0));
    assert!(signalled.elapsed() < Duration::from_secs(5), "{:?}", signalled.elapsed());
    drop(idle_connections);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_request_delays_shutdown_by_the_timeout_at_most() {
    let program = Invocation::new().licensed().with("Server__ShutdownTimeout", "1s").start().await;
    let (socket, _rest) = half_a_registration(&program).await;

    let signalled = Instant::now();
    program.signal("TERM");
    let status = program.end().await;

    assert_eq!(status.code(), Some(0));
    assert!(signalled.elapsed() < Duration::from_secs(8), "{:?}", signalled.elapsed());
    drop(socket);
}

/// Registers accounts until the server is down; records those that were
/// confirmed.
async fn register_on(program: &ServerProcess, lane: usize, made: &Mutex<Vec<String>>) {
    for number in 0..10_000 {
        let email = format!("p{lane}-{number}@example.org");
        let body = json!({ "email": email, "password": PASSWORD }).to_string();
        let request = format!(
            "POST /auth/register HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let Ok(mut socket) = TcpStream::connect(program.addr).await else { return };
        let mut raw = Vec::new();
        drop(socket.write_all(request.as_bytes()).await);
        drop(socket.read_to_end(&mut raw).await);
        if !raw.starts_with(b"HTTP/1.1 200") {
            return;
        }
        made.lock().expect("no poisoning").push(email);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn confirmed_registrations_survive_a_crash() {
    let call = Invocation::new().licensed();
    let program = call.start().await;
    let registered_emails = Mutex::new(Vec::new());

    let lanes = join_all((0..4).map(|lane| register_on(&program, lane, &registered_emails)));
    let crash = async {
        until(async || (registered_emails.lock().expect("no poisoning").len() >= 24).then_some(()))
            .await;
        program.signal("KILL");
    };
    tokio::join!(lanes, crash);
    let status = program.end().await;
    let second_server = call.start().await;

    assert_eq!(status.code(), None, "it was killed");
    let emails = registered_emails.into_inner().expect("no poisoning");
    assert!(emails.len() >= 24);

    let ready = second_server.anonymous().get("/ready").await;
    assert_eq!(ready.status, 200, "{}", ready.text());
    for email in emails {
        let person = json!({ "email": email, "password": PASSWORD });
        let envelope = second_server.anonymous().post("/auth/login/local", &person).await;
        assert_eq!(envelope.status, 200, "{email}: {}", envelope.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_settings_file_is_applied_and_logged_by_key() {
    let call = Invocation::new().licensed();
    let program = call.start().await;
    assert_eq!(program.anonymous().get("/openapi/v1.json").await.status, 404);
    let token = "vB3nM8kQ2xZ7rT5wY1";

    let settings = json!({
        "OpenApi": { "Enabled": true },
        "Metrics": { "Token": token },
        "Server": { "MaxConnections": 1234 },
        "Jwt": { "PreviousSecretKey": "tY6Hn2Wq9Zx4Vb7Kc1Rm5Pd8Jf3Lg0Sa" },
    });
    std::fs::write(call.dir().join("appsettings.json"), settings.to_string()).expect("a file");
    program.logs_of_setting("setting changed", "OpenApi:Enabled").await;
    program.logs_of_setting("setting changed", "Metrics:Token").await;
    program.logs_of_setting("setting changed; restart to apply it", "Server:MaxConnections").await;
    program.logs_of_setting("setting changed; restart to apply it", "Jwt:PreviousSecretKey").await;

    assert_eq!(program.anonymous().get("/openapi/v1.json").await.status, 200);
    for private in [token, "tY6Hn2Wq9Zx4Vb7Kc1Rm5Pd8Jf3Lg0Sa"] {
        assert!(!program.log().contains(private), "{}", program.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_settings_file_changes_nothing() {
    let call =
        Invocation::new().licensed().file("appsettings.json", r#"{"OpenApi":{"Enabled":true}}"#);
    let program = call.start().await;

    let settings = json!({ "OpenApi": { "Enabled": false }, "RateLimits": { "Ai": "manyZq81" } });
    std::fs::write(call.dir().join("appsettings.json"), settings.to_string()).expect("a file");
    let entry = program.logs("settings unchanged: the new configuration is invalid").await;

    let line = entry.to_string();
    assert!(line.contains("SVC-CFG-003") && line.contains("RateLimits:Ai"), "{line}");
    assert!(!line.contains("Zq81"), "{line}");
    assert_eq!(program.anonymous().get("/openapi/v1.json").await.status, 200);
}
