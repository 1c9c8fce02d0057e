//! Tests of the bodies of chats: compressed, malformed, of wrong types.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use pia_server_testkit::harness::TestApp;

use super::*;

/// Maximum length of a chat after decompression.
const MAX_CHAT_BYTES: usize = 16 << 20;

const AT: &str = "2026-08-01T09:14:02Z";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_chat_is_read_without_a_content_encoding() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;

    for headers in [vec![JSON, ("content-encoding", "gzip")], vec![JSON], vec![]] {
        let id = new_id();
        let packed = gzip(chat(&id, AT).to_string().as_bytes());

        let creation_response = ada.send("PUT", &format!("{CHATS}/{id}"), &headers, &packed).await;

        assert_eq!(creation_response.status, 201, "{headers:?}: {}", creation_response.text());
        assert_eq!(get(&ada, &id).await.body["title"], "A title");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_is_too_large_when_decompressed_is_refused() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let path = format!("{CHATS}/{}", new_id());
    let bomb = gzip(&vec![b' '; 4 * MAX_CHAT_BYTES]);

    for headers in [vec![JSON, ("content-encoding", "gzip")], vec![JSON]] {
        let answer = ada.send("PUT", &path, &headers, &bomb).await;

        assert_eq!(answer.refusal(), (413, "body_too_large"), "{headers:?}");
        assert_eq!(answer.body["limit"], MAX_CHAT_BYTES);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_compressed_chat_is_refused() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let path = format!("{CHATS}/{}", new_id());
    let packed = gzip(chat(&new_id(), AT).to_string().as_bytes());

    let response = ada.send("PUT", &path, &[JSON], &packed[..packed.len() / 2]).await;

    assert_eq!(response.refusal(), (400, "unreadable_body"));
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_chats_are_refused_by_field() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;

    for (key, value) in [
        ("id", json!(null)),
        ("id", json!(new_id())),
        ("id", json!(5)),
        ("updatedAt", json!(null)),
        ("updatedAt", json!("yesterday")),
        ("updatedAt", json!("10000-01-01T00:00:00Z")),
        ("updatedAt", json!("0000-01-01T00:00:00Zx")),
        ("createdAt", json!(5)),
        ("lastAccessedAt", json!("")),
        ("schemaVersion", json!("one")),
        ("schemaVersion", json!(1e40)),
        ("title", json!(["a"])),
        ("windowMode", json!(0)),
        ("providerId", json!("")),
        ("workingDirectory", json!(true)),
        ("messages", json!("text")),
        ("messages", json!([5])),
    ] {
        let id = new_id();
        let mut document = chat(&id, AT);
        document[key] = value;

        let answer = put_text(&ada, &id, &document.to_string()).await;

        assert_eq!(answer.refusal(), (400, "validation_failed"), "{document}");
        assert_eq!(fields(&answer), [key], "{document}");
    }
    assert_eq!(ada.get(CHATS).await.body["chats"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_messages_of_a_chat_are_refused_by_field() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let id = new_id();

    for (field, text) in [
        ("messages[0].role", r#""messages":[{"role":5}]"#),
        ("messages[1].timestamp", r#""messages":[{},{"timestamp":"now"}]"#),
        ("messages", r#""messages":[{"content":"\ud83d"}]"#),
    ] {
        let document = format!(r#"{{"id":"{id}","updatedAt":"{AT}",{text}}}"#);

        let answer = put_text(&ada, &id, &document).await;

        assert_eq!(answer.refusal(), (400, "validation_failed"), "{document}");
        assert_eq!(fields(&answer), [field], "{document}");
    }
    assert_eq!(ada.get(CHATS).await.body["chats"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn chats_under_an_invalid_id_are_refused() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;

    for id in ["5", "%00", "null", &"x".repeat(3000)] {
        let answer = put_text(&ada, id, &chat(&new_id(), AT).to_string()).await;

        assert_eq!(answer.refusal(), (400, "validation_failed"));
        assert_eq!(fields(&answer), ["id"]);
    }
    assert_eq!(ada.get(CHATS).await.body["chats"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_json_and_excessive_nesting_are_refused() {
    const DEPTH: usize = 1 << 20;
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let id = new_id();
    let unclosed = format!(r#"{{"id":"{id}","updatedAt":"{AT}","x":{}"#, "[".repeat(DEPTH));
    let nested = format!("{unclosed}{}}}", "]".repeat(DEPTH));

    for body in ["", "{", "nonsense", "{} {}", "\u{feff}", r#"{"id":}"#] {
        assert_eq!(put_text(&ada, &id, body).await.refusal(), (400, "malformed_json"), "{body}");
    }
    for body in ["[]", "null", "5", &unclosed, &nested] {
        let answer = put_text(&ada, &id, body).await;
        assert_eq!(answer.refusal(), (400, "validation_failed"), "{body:.40}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_of_another_media_type_is_refused() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let path = format!("{CHATS}/{}", new_id());

    let response = ada.send("PUT", &path, &[("content-type", "text/plain")], b"{}").await;

    assert_eq!(response.refusal(), (415, "unsupported_media_type"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_and_the_last_instant_are_valid_times() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;

    for (at, expected) in [
        ("0001-01-01T00:00:00", "0001-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.9999999Z"),
    ] {
        let id = new_id();
        let creation_response = put(&ada, &chat(&id, at)).await;

        assert_eq!(creation_response.status, 201, "{at}");
        assert_eq!(creation_response.body["updatedAt"], json!(expected), "{at}");
        assert_eq!(get(&ada, &id).await.body, creation_response.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_deletions_and_lists_are_never_answered_404() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;

    for id in [&*new_id(), "5", "%2e%2e", "x%20y"] {
        assert_eq!(delete(&ada, id).await.status, 204, "{id}");
        assert_eq!(put_text(&ada, id, "{}").await.status, 400, "{id}");
    }
    assert_eq!(ada.get(&format!("{CHATS}?cursor=x")).await.status, 400);
}
