//! Tests of the protocol: versions, media types and kinds of messages.

use serde_json::{Value, json};

use crate::fixture::{BOTH_TYPES, Fixture};

fn ping() -> Value {
    json!({ "jsonrpc": "2.0", "id": "a", "method": "ping" })
}

#[actix_web::test]
async fn a_client_learns_the_version_and_the_capabilities() {
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let client = json!({ "name": "a test", "version": "1" });
        let params =
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });

        let response = Fixture::new().call("initialize", params).await;

        let result = &response["result"];
        assert_eq!(response["id"], 7);
        assert_eq!(result["protocolVersion"], version);
        assert_eq!(result["serverInfo"]["name"], "pia-server");
        assert_eq!(result["capabilities"], json!({ "tools": {} }));
    }
}

#[actix_web::test]
async fn a_request_of_the_stateless_revision_needs_no_handshake() {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "a test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "_meta": meta });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params });
    let version = ("mcp-protocol-version", "2026-07-28");

    let headers = [BOTH_TYPES, version, ("mcp-method", "tools/list")];
    let reply = Fixture::new().post(&message, &headers).await;

    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.content_type, "application/json", "{reply:?}");
    let result = &reply.json()["result"];
    assert_eq!(result["tools"].as_array().map(Vec::len), Some(2));
    assert_eq!(result["ttlMs"], json!(0));
    assert_eq!(result["cacheScope"], "private");
}

#[actix_web::test]
async fn a_notification_is_accepted_without_a_response() {
    let message = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });

    let reply = Fixture::new().post(&message, &[BOTH_TYPES]).await;

    assert_eq!(reply.status, 202);
    assert_eq!(reply.text, "");
}

#[actix_web::test]
async fn a_body_that_is_not_one_message_is_refused() {
    for (body, code) in [
        (json!([ping(), ping()]).to_string(), -32600),
        ("[]".to_owned(), -32600),
        ("{}".to_owned(), -32600),
        ("{\"jsonrpc\":".to_owned(), -32700),
        (String::new(), -32700),
    ] {
        let reply = Fixture::new().post_text(&body, &[BOTH_TYPES]).await;

        assert_eq!(reply.status, 400, "{body}");
        assert_eq!(reply.json()["error"]["code"], json!(code), "{body}");
    }
}

#[actix_web::test]
async fn a_response_is_refused_as_the_server_sends_no_requests() {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });

    let reply = Fixture::new().post(&message, &[BOTH_TYPES]).await;

    assert_eq!(reply.status, 400);
}

#[actix_web::test]
async fn the_response_has_a_media_type_that_the_client_accepts() {
    for (accept, status, content_type) in [
        ("application/json, text/event-stream", 200, "application/json"),
        ("application/json", 200, "application/json"),
        ("text/event-stream", 200, "text/event-stream"),
        ("application/json;q=0, text/event-stream", 200, "text/event-stream"),
        ("text/html", 406, ""),
    ] {
        let reply = Fixture::new().post(&ping(), &[("accept", accept)]).await;

        assert_eq!(reply.status, status, "{accept}");
        assert_eq!(reply.content_type, content_type, "{accept}");
        assert_eq!(reply.text.contains(r#""id":"a""#), status == 200, "{accept}");
    }
}

#[actix_web::test]
async fn an_event_stream_has_one_event_and_ends() {
    let reply = Fixture::new().post(&ping(), &[("accept", "text/event-stream")]).await;

    assert_eq!(reply.text.matches("data:").count(), 1, "{reply:?}");
}

#[actix_web::test]
async fn other_media_types_and_versions_are_refused() {
    let of_text = [BOTH_TYPES, ("content-type", "text/plain")];
    let of_future = [BOTH_TYPES, ("mcp-protocol-version", "2199-01-01")];

    assert_eq!(Fixture::new().post(&ping(), &of_text).await.status, 415);
    assert_eq!(Fixture::new().post(&ping(), &of_future).await.status, 400);
}

#[actix_web::test]
async fn an_unknown_method_is_a_protocol_error() {
    for method in ["tools/forget", "resources/read"] {
        let response = Fixture::new().call(method, json!({ "uri": "file:///x" })).await;

        assert_eq!(response["error"]["code"], -32601, "{method}");
    }
}

#[actix_web::test]
async fn a_body_with_too_many_values_is_refused() {
    let large_request =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "x": vec![0; 20_000] });

    let reply = Fixture::new().post(&large_request, &[BOTH_TYPES]).await;

    assert_eq!(reply.status, 400);
    assert_eq!(reply.json()["error"], "too_many_values");
}
