//! Tests of properties of all routes.

use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn the_server_answers_and_reports_readiness() {
    let app = TestApp::spawn().await;

    let health = app.anonymous().get("/health").await;
    let ready = app.anonymous().get("/ready").await;

    assert_eq!(health.status, 200);
    assert_eq!(health.text(), r#"{"status":"healthy"}"#);
    assert_eq!(ready.status, 200);
    assert_eq!(ready.body["license"].as_str(), Some("valid"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_user_can_read_their_account() {
    let app = TestApp::spawn().await;

    let ada = app.sign_up("Ada@example.org").await;
    let me = ada.get("/auth/me").await;

    assert_eq!(me.status, 200);
    assert_eq!(me.body["email"].as_str(), Some("Ada@example.org"));
    assert_eq!(me.body["id"].as_str(), ada.user.as_deref());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_an_id_that_the_server_generates() {
    let trusting =
        TestConfig::on(TestDatabase::sqlite()).with("Server__TrustedProxies", "127.0.0.0/8");
    let mut ids = std::collections::BTreeSet::new();

    for app in [TestApp::spawn().await, trusting.start().await] {
        for (path, id) in [
            ("/health", "5d7c-AZ_9.:"),
            ("/health", ""),
            ("/health", "{\"forged\":1}"),
            ("/nowhere", "ümlaut"),
            ("/auth/me", "a,b"),
        ] {
            let answer = app.anonymous().send("GET", path, &[("x-request-id", id)], b"").await;
            let own = answer.header("x-request-id").expect("an id").to_owned();
            assert!(uuid::Uuid::parse_str(&own).is_ok(), "{own}");
            assert!(ids.insert(own));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_may_have_a_base_path_that_its_proxy_may_strip() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("Server__BasePath", "/pia").start().await;
    let ada = app.signed_in().await;

    for (path, status) in [
        ("/pia/auth/me", 200),
        ("/auth/me", 200),
        ("/pia/health?probe=1", 200),
        ("/pia/admin/setup", 200),
        ("/pia", 404),
        ("/pia/", 404),
        ("/pia?x", 404),
        ("/piano/health", 404),
        ("/pia/pia/health", 404),
        ("/other/health", 404),
    ] {
        assert_eq!(ada.get(path).await.status, status, "{path}");
    }
    assert_eq!(app.anonymous().get("/pia/auth/me").await.refusal(), (401, "unauthorized"));
    assert_eq!(ada.post("/pia/health", &json!({})).await.refusal().0, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_token_is_ignored_where_none_is_required() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("OpenApi__Enabled", true).start().await;
    app.sign_up("ada@example.org").await;
    let credentials = json!({ "email": "ada@example.org", "password": PASSWORD }).to_string();
    let json = ("content-type", "application/json");

    for value in ["Bearer", "Bearer ", "Bearer x.y.z", "Basic YTpi", "Nonsense", "Bearer a b"] {
        let header = ("authorization", value);
        for path in ["/health", "/ready", "/api/capabilities", "/openapi/v1.json", "/admin/setup"] {
            let answer = app.anonymous().send("GET", path, &[header], b"").await;
            assert_eq!(answer.status, 200, "{value} {path}");
        }
        let signed_in = app
            .anonymous()
            .send("POST", "/auth/login/local", &[header, json], credentials.as_bytes())
            .await;
        assert_eq!(signed_in.status, 200, "{value}");
        let response = app.anonymous().send("GET", "/auth/me", &[header], b"").await;
        assert_eq!(response.refusal(), (401, "unauthorized"), "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bearer_scheme_is_case_insensitive() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let token = ada.access.clone().expect("a token");

    for scheme in ["Bearer", "bearer", "BEARER"] {
        let value = format!("{scheme} {token}");
        let headers = [("authorization", value.as_str())];
        let answer = app.anonymous().send("GET", "/auth/me", &headers, b"").await;
        assert_eq!(answer.status, 200, "{scheme}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn absent_values_are_omitted_from_every_answer() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("OpenApi__Enabled", true).start().await;
    let person = json!({ "email": "ada@example.org", "password": PASSWORD });
    let stranger = app.anonymous();
    let mut answers = vec![
        stranger.post("/auth/register", &person).await,
        stranger.post("/auth/register", &person).await,
        stranger.post("/auth/register", &json!({})).await,
        stranger.post("/auth/login/local", &json!({})).await,
    ];
    let envelope = stranger.post("/auth/login/local", &person).await;
    let ada = app.anonymous().with_tokens(&envelope.body);
    answers.push(envelope);
    for path in [
        "/auth/me",
        "/api/ai/status",
        "/api/ai/templates",
        "/api/capabilities",
        "/openapi/v1.json",
        "/ready",
        "/nowhere",
    ] {
        answers.push(ada.get(path).await);
    }
    answers.push(ada.post("/auth/refresh", &json!({ "refreshToken": ada.refresh })).await);
    answers.push(ada.post("/api/ai/optimize", &json!({ "text": "Hi" })).await);

    for answer in answers {
        assert!(!answer.body.is_null(), "no JSON: {}", answer.text());
        assert!(!has_null(&answer.body), "{}", answer.text());
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_requests_may_use_one_connection() {
    let app = TestApp::spawn().await;
    let requests = b"GET /health HTTP/1.1\r\nhost: test\r\n\r\n".repeat(3);
    let last = b"GET /nowhere HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n";

    let mut socket = tokio::net::TcpStream::connect(app.addr).await.expect("a connection");
    tokio::io::AsyncWriteExt::write_all(&mut socket, &[&requests[..], last].concat())
        .await
        .expect("sent");
    let mut raw = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut socket, &mut raw).await.expect("answers");

    assert_eq!(raw.matches("HTTP/1.1 200 OK").count(), 3, "{raw}");
    assert_eq!(raw.matches("HTTP/1.1 404 Not Found").count(), 1, "{raw}");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_neither_cached_nor_sniffed() {
    let app = TestApp::spawn().await;

    for path in ["/health", "/auth/me", "/no/such/path"] {
        let answer = app.anonymous().get(path).await;

        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_load_nothing_and_enforce_tls() {
    let https = ("Server__PublicUrl", "https://pia.example.com");
    let strict = TestConfig::on(TestDatabase::sqlite()).with(https.0, https.1).start().await;
    let own_server = TestConfig::on(TestDatabase::sqlite())
        .with(https.0, https.1)
        .with("Server__StrictTransport", "max-age=60")
        .start()
        .await;
    let off = TestConfig::on(TestDatabase::sqlite())
        .with(https.0, https.1)
        .with("Server__StrictTransport", "off")
        .start()
        .await;
    let plain = TestApp::spawn().await;

    for (app, policy) in [
        (&strict, Some("max-age=31536000; includeSubDomains")),
        (&own_server, Some("max-age=60")),
        (&off, None),
        (&plain, None),
    ] {
        for path in ["/health", "/auth/me", "/no/such/path", "/auth/register.html"] {
            let answer = app.anonymous().get(path).await;

            assert_eq!(answer.header("strict-transport-security"), policy, "{path}");
            let loads = answer.header("content-security-policy").unwrap_or_default();
            for part in ["default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"] {
                assert!(loads.contains(part), "{path}: {loads}");
            }
            assert!(answer.header("referrer-policy").is_some(), "{path}");
        }
    }
}

/// Ambiguous framing would allow request smuggling through a proxy that finds
/// another end of a request.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_ambiguous_framing_is_refused() {
    let app = TestApp::spawn().await;
    let smuggled = "GET /health HTTP/1.1\r\nhost: test\r\n\r\n";

    for framing in [
        "content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n",
        "content-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        "content-length: +5\r\n\r\nhello",
        "content-length: 5, 5\r\n\r\nhello",
        "transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
        "transfer-encoding : chunked\r\n\r\n0\r\n\r\n",
        "transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n",
    ] {
        let head = "POST /auth/login/local HTTP/1.1\r\nhost: test\r\n";
        let mut socket = tokio::net::TcpStream::connect(app.addr).await.expect("a connection");
        let raw = format!("{head}{framing}{smuggled}");
        tokio::io::AsyncWriteExt::write_all(&mut socket, raw.as_bytes()).await.expect("sent");
        let mut bytes = Vec::new();
        let reading = tokio::io::AsyncReadExt::read_to_end(&mut socket, &mut bytes);
        let ended = tokio::time::timeout(std::time::Duration::from_secs(5), reading).await;
        let answers = String::from_utf8_lossy(&bytes);

        assert!(answers.starts_with("HTTP/1.1 400 Bad Request"), "{framing:?}: {answers}");
        assert_eq!(answers.matches("HTTP/1.1").count(), 1, "{framing:?}: {answers}");
        assert!(ended.is_ok(), "{framing:?}: the connection goes on");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsupported_encoding_is_answered_uncompressed() {
    let app = TestApp::spawn().await;
    let coding = [("accept-encoding", "br, identity;q=0")];

    let answer = app.anonymous().send("GET", "/health", &coding, b"").await;

    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-encoding"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_array_is_not_accepted_as_an_object() {
    let app = TestApp::spawn().await;

    let values = serde_json::json!(["ada@example.org", "correct horse battery staple"]);
    let answer = app.anonymous().post("/auth/login/local", &values).await;

    assert_eq!(answer.status, 400);
    assert_eq!(answer.error(), "validation_failed");
}
