//! Tests of bodies: JSON, its errors, and compression.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::{GzEncoder, ZlibEncoder};
use pia_demo_upstream::Demo;
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_testkit::databases::TestDatabase;
use serde_json::json;

const JSON: (&str, &str) = ("content-type", "application/json");

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn chunked(bytes: &[u8]) -> Vec<u8> {
    let mut chunks = Vec::new();
    for piece in bytes.chunks(1 << 16) {
        chunks.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        chunks.extend_from_slice(piece);
        chunks.extend_from_slice(b"\r\n");
    }
    chunks.extend_from_slice(b"0\r\n\r\n");
    chunks
}

fn person(email: &str) -> Vec<u8> {
    json!({ "email": email, "password": PASSWORD }).to_string().into_bytes()
}

async fn register(caller: &Client, headers: &[(&str, &str)], body: &[u8]) -> TestResponse {
    caller.send("POST", "/auth/register", headers, body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_json_is_refused_as_malformed() {
    let app = TestApp::spawn().await;
    let bodies: [&[u8]; 8] = [
        b"",
        b"{",
        b"nonsense",
        br#"{"email":}"#,
        br#"{"email":"a@example.org"} {}"#,
        b"{\"email\":\"\xff\xfe\"}",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf\xef\xbb\xbf{}",
    ];

    for body in bodies {
        let answer = register(&app.anonymous(), &[JSON], body).await;

        let text = String::from_utf8_lossy(body);
        assert_eq!(answer.refusal(), (400, "malformed_json"), "{text}");
        let errors = json!([{
            "field": "", "code": "malformed_json", "message": answer.body["message"],
        }]);
        assert_eq!(answer.body["errors"], errors, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_byte_order_mark_is_ignored() {
    let demo = Demo::start(0).expect("an upstream");
    let app = TestConfig::on(TestDatabase::sqlite()).with_upstream(&demo.endpoint()).start().await;
    let marked = |body: &[u8]| [b"\xef\xbb\xbf", body].concat();
    let ada = app.signed_in().await;
    let request = json!({ "messages": [{ "role": "user", "content": "Hi" }] }).to_string();
    let id = uuid::Uuid::now_v7().to_string();
    let chat = format!("/api/v1/chats/{id}");
    let document =
        json!({ "id": id, "title": "Hi", "updatedAt": "2026-01-02T03:04:05Z", "messages": [] });

    let registered = register(&app.anonymous(), &[JSON], &marked(&person("a@example.org"))).await;
    let packed = gzip(&marked(&person("b@example.org")));
    let unpacked = register(&app.anonymous(), &[JSON, ("content-encoding", "gzip")], &packed).await;
    let answered = ada.send("POST", "/api/ai/chat", &[JSON], &marked(request.as_bytes())).await;
    let pushed = ada.send("POST", "/api/sync/push", &[JSON], &marked(b"{}")).await;
    let stored = ada.send("PUT", &chat, &[JSON], &marked(document.to_string().as_bytes())).await;

    for answer in [registered, unpacked, answered, pushed, stored] {
        assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_values_are_not_repeated_in_the_error() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let long_text = "sesame".repeat(30_000);

    for (path, body) in [
        ("/auth/register", json!({ "customerType": "sesame".repeat(2_000) })),
        ("/auth/login/local", json!({ "email": "a@example.org", "password": { "sesame": 1 } })),
        ("/auth/login/local", json!({ "email": "a@example.org", "password": ["sesame"] })),
        ("/auth/password", json!({ "currentPassword": 123_456_789, "newPassword": "x" })),
        ("/api/sync/push", json!({ "isE2EEEncrypted": long_text })),
        ("/api/sync/push", json!({ "todos": { "deleted": [long_text, long_text] } })),
        ("/api/sync/push", json!({ "settings": { "theme": long_text } })),
        ("/api/e2ee/devices/register", json!({ "deviceId": { "sesame": 1 } })),
    ] {
        let answer = ada.post(path, &body).await;

        assert_eq!(answer.refusal(), (400, "validation_failed"), "{path}");
        let text = answer.text();
        assert!(!text.contains("sesame") && !text.contains("123456789"), "{text:.200}");
        assert!(text.len() < 1_000, "{}: {text:.200}", text.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn excessive_nesting_is_refused_without_harm() {
    let app = TestApp::spawn().await;
    let nested_body = format!(r#"{{"unknown":{}"#, "[".repeat(16_000));

    let answer = register(&app.anonymous(), &[JSON], nested_body.as_bytes()).await;

    assert_eq!(answer.refusal(), (400, "malformed_json"));
    assert_eq!(app.anonymous().get("/health").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_of_the_wrong_type_is_reported_by_its_field() {
    let app = TestApp::spawn().await;

    for (body, field) in [
        (json!({ "email": 5, "password": PASSWORD }), "email"),
        (json!({ "email": "a@example.org", "password": [PASSWORD] }), "password"),
        (json!({ "customerType": "1" }), "customerType"),
        (json!({ "customerType": 1.5 }), "customerType"),
        (json!([]), ""),
        (json!("text"), ""),
        (json!(null), ""),
    ] {
        let answer = app.anonymous().post("/auth/register", &body).await;

        assert_eq!(answer.refusal(), (400, "validation_failed"), "{body}");
        let errors = answer.body["errors"].as_array().expect("faults");
        assert_eq!(errors.len(), 1, "{body}");
        assert_eq!(errors[0]["field"], field, "{body}");
        assert_eq!(errors[0]["code"], "invalid", "{body}");
        assert!(errors[0]["message"].is_string(), "{body}");
        assert!(!answer.text().contains(PASSWORD), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_json_is_accepted_and_is_the_default_content_type() {
    let app = TestApp::spawn().await;
    let taken = [None, Some("application/json; charset=utf-8"), Some("application/vnd.pia+json")];
    let refused = ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json"];

    for (number, kind) in taken.into_iter().enumerate() {
        let headers: Vec<_> = kind.map(|it| ("content-type", it)).into_iter().collect();
        let body = person(&format!("{number}@example.org"));
        assert_eq!(register(&app.anonymous(), &headers, &body).await.status, 200, "{kind:?}");
    }
    for kind in refused {
        let body = person("refused@example.org");
        let answer = register(&app.anonymous(), &[("content-type", kind)], &body).await;
        assert_eq!(answer.refusal(), (415, "unsupported_media_type"), "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_bodies_are_read() {
    let app = TestApp::spawn().await;

    for (email, coding, body) in [
        ("gzip@example.org", "gzip", gzip(&person("gzip@example.org"))),
        ("upper@example.org", "GZIP", gzip(&person("upper@example.org"))),
        ("deflate@example.org", "deflate", deflate(&person("deflate@example.org"))),
        ("plain@example.org", "identity", person("plain@example.org")),
    ] {
        let headers = [JSON, ("content-encoding", coding)];
        let answer = register(&app.anonymous(), &headers, &body).await;
        assert_eq!(answer.status, 200, "{coding}: {}", answer.text());

        let credentials = json!({ "email": email, "password": PASSWORD });
        let signed_in = app.anonymous().post("/auth/login/local", &credentials).await;
        assert_eq!(signed_in.status, 200, "{coding}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_when_decompressed_is_refused() {
    let app = TestApp::spawn().await;
    let bomb = gzip(&vec![b' '; 12 << 20]);

    let answer = register(&app.anonymous(), &[JSON, ("content-encoding", "gzip")], &bomb).await;

    assert!(bomb.len() < 16 << 10, "it does not look too long");
    assert_eq!(answer.refusal(), (413, "body_too_large"));
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_or_unsupported_compression_is_refused() {
    let app = TestApp::spawn().await;
    let plain = person("broken@example.org");
    let packed = gzip(&plain);
    let cut = &packed[..packed.len() / 2];
    let mut changed_body = packed.clone();
    changed_body[packed.len() / 2] ^= 0x55;

    for (what, body) in [("plain", &plain[..]), ("changed", &changed_body), ("cut", cut)] {
        let headers = [JSON, ("content-encoding", "gzip")];
        let answer = register(&app.anonymous(), &headers, body).await;
        assert_eq!(answer.refusal().0, 400, "{what}: {}", answer.text());
    }
    for coding in ["br", "zstd", "gzip, gzip", "whatever"] {
        let headers = [JSON, ("content-encoding", coding)];
        let answer = register(&app.anonymous(), &headers, &packed).await;
        assert_eq!(answer.refusal(), (415, "unsupported_encoding"), "{coding}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunked_body_is_accepted() {
    let app = TestApp::spawn().await;
    let headers = [JSON, ("transfer-encoding", "chunked")];

    let answer = register(&app.anonymous(), &headers, &chunked(&person("a@example.org"))).await;

    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_applies_to_chunked_bodies() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let headers = [JSON, ("transfer-encoding", "chunked")];
    let long = chunked(&vec![b' '; 33 << 20]);

    let answer = ada.send("POST", "/api/ai/chat", &headers, &long).await;

    assert_eq!(answer.refusal(), (413, "body_too_large"));
    assert_eq!(answer.body["limit"], 32 << 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_answers_are_compressed_if_the_client_accepts_it() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("OpenApi__Enabled", true).start().await;
    let accepting = [("accept-encoding", "gzip, deflate, br")];

    let plain_response = app.anonymous().get("/openapi/v1.json").await;
    let packed = app.anonymous().send("GET", "/openapi/v1.json", &accepting, b"").await;
    let short_response = app.anonymous().send("GET", "/health", &accepting, b"").await;

    let mut unpacked = Vec::new();
    GzDecoder::new(&packed.bytes[..]).read_to_end(&mut unpacked).expect("gzip");
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert_eq!(packed.header("vary").map(str::to_lowercase).as_deref(), Some("accept-encoding"));
    assert_eq!(unpacked, plain_response.bytes);
    assert!(packed.bytes.len() < plain_response.bytes.len());
    assert_eq!(plain_response.header("content-encoding"), None);
    assert_eq!(plain_response.body["openapi"].as_str(), Some("3.1.0"));
    assert_eq!(short_response.status, 200);
    assert_eq!(short_response.header("content-encoding"), None);
    assert_eq!(short_response.text(), r#"{"status":"healthy"}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn event_streams_are_never_compressed() {
    let demo = Demo::start(0).expect("an upstream");
    let app = TestConfig::on(TestDatabase::sqlite()).with_upstream(&demo.endpoint()).start().await;
    let ada = app.signed_in().await;
    let headers = [JSON, ("accept-encoding", "gzip")];
    let body = json!({ "messages": [{ "role": "user", "content": "demo:chunks=100 Hi" }], "stream": true });

    let answer = ada.send("POST", "/api/ai/chat", &headers, body.to_string().as_bytes()).await;

    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-encoding"), None);
    assert!(answer.text().ends_with("data: [DONE]\n\n"), "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn null_is_treated_as_an_absent_key() {
    let app = TestApp::spawn().await;
    let nulls = json!({
        "email": "ada@example.org", "password": PASSWORD, "displayName": null,
        "customerType": null, "companyName": null, "unknown": null,
    });

    let registration_response = app.anonymous().post("/auth/register", &nulls).await;
    let missing_response =
        app.anonymous().post("/auth/refresh", &json!({ "refreshToken": null })).await;

    assert_eq!(registration_response.status, 200, "{}", registration_response.text());
    assert_eq!(missing_response.refusal(), (400, "validation_failed"));
    assert_eq!(missing_response.body["errors"][0]["code"], "required");
    assert_eq!(missing_response.body["errors"][0]["field"], "refreshToken");
}
