//! Tests of invalid input.

use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{NOTHING, changed_ids, id, pull, pull_with, todo, todos};

on_both_databases!(a_malformed_push_is_refused_by_field_and_stores_nothing);

async fn a_malformed_push_is_refused_by_field_and_stores_nothing(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let with = |key: &str, value: Value| {
        let mut body = todos(&[todo(1, 1, "good")]);
        body[key] = value;
        body
    };
    let too_many_items: Vec<Value> = (0..100_000).map(|it| json!({ "id": id(it) })).collect();

    for (body, field) in [
        (with("templates", json!(5)), "templates"),
        (with("templates", json!("x")), "templates"),
        (with("templates", json!([5])), "templates[0]"),
        (with("templates", json!({ "upserted": [{ "name": 5 }] })), "templates.upserted[0].name"),
        (with("templates", json!({ "upserted": [{ "id": "x" }] })), "templates.upserted[0].id"),
        (with("sessions", json!({ "deleted": [5] })), "sessions.deleted[0]"),
        (with("memories", json!([{ "updatedAt": 5 }])), "memories[0].updatedAt"),
        (
            with("memories", json!([{ "updatedAt": "10000-01-01T00:00:00Z" }])),
            "memories[0].updatedAt",
        ),
        (with("providers", json!([{ "timeoutSeconds": i64::MAX }])), "providers[0].timeoutSeconds"),
        (
            with("settings", json!({ "modeProviderDefaults": { "1": "x" } })),
            "settings.modeProviderDefaults.1",
        ),
        (with("clientTimestamp", json!("now")), "clientTimestamp"),
        (with("isE2EEEncrypted", json!(1)), "isE2EEEncrypted"),
        (with("deviceId", json!(5)), "deviceId"),
        (with("memories", json!(too_many_items)), ""),
    ] {
        let response = ada.post("/api/sync/push", &body).await;

        assert_eq!(response.refusal(), (400, "validation_failed"), "{field}");
        assert_eq!(response.body["errors"][0]["field"], field, "{}", response.text());
    }
    for body in ["[]", "null", "7", "\"x\""] {
        let json = [("content-type", "application/json")];
        let response = ada.send("POST", "/api/sync/push", &json, body.as_bytes()).await;
        assert_eq!(response.status, 400, "{body}");
    }

    let nested_body = format!("{{\"todos\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let json = [("content-type", "application/json")];
    let response = ada.send("POST", "/api/sync/push", &json, nested_body.as_bytes()).await;
    assert_eq!(response.refusal(), (400, "malformed_json"));
    assert_eq!(changed_ids(&pull(&ada, NOTHING).await), (vec![], vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_requires_a_cursor_and_a_valid_limit() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;

    let response = ada.get("/api/sync/pull").await;
    assert_eq!(response.refusal(), (400, "validation_failed"));
    assert_eq!(response.body["errors"][0]["field"], "since");

    for limit in ["501", "9223372036854775808"] {
        assert_eq!(pull_with(&ada, NOTHING, &format!("&limit={limit}")).await.status, 200);
    }
    for limit in ["0", "-1", "1.5", "x"] {
        let response = pull_with(&ada, NOTHING, &format!("&limit={limit}")).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{limit}");
    }
    for since in ["yesterday", "5", "2026-13-01T00:00:00Z", "%00", "'--"] {
        assert_eq!(pull_with(&ada, since, "").await.refusal().0, 400, "{since}");
    }
    for since in
        ["9999-12-31T23:59:59.9999999Z", "0001-01-01T00:00:00", "2026-01-01T00:00:00%2B05:00"]
    {
        assert_eq!(pull_with(&ada, since, "").await.status, 200, "{since}");
    }
}
