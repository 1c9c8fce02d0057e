//! Tests of feedback, from a client's report to an administrator's triage.

use pia_server_testkit::client::Client;
use pia_server_testkit::console::administrator;
use pia_server_testkit::harness::{PASSWORD, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use uuid::Uuid;

const FEEDBACK: &str = "/api/ai-feedback";
const REPORTS: &str = "/api/admin/ai-feedback";
const ANSWER: &str = "2 + 2 = 5";

on_both_databases!(
    a_report_is_stored_with_every_key_and_triaged,
    only_a_negative_report_queues_an_email,
    a_malformed_report_is_refused,
    a_report_is_exported_and_deleted_with_its_account,
);

fn report(rating: &str) -> Value {
    json!({
        "schemaVersion": 1,
        "messageId": Uuid::now_v7(),
        "chatId": null,
        "rating": rating,
        "comment": "Wrong.",
        "answerText": ANSWER,
        "piiTokenized": false,
        "privacyConcern": true,
        "model": "Pia Cloud",
        "answeredAt": "2026-08-01T09:14:02.1837744Z",
        "reportedAt": "2026-08-01T09:15:00Z",
        "appVersion": "1.3.1000",
        "locale": "de-DE",
    })
}

async fn submit_report(client: &Client, report: &Value) -> Value {
    let answer = client.post(FEEDBACK, report).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.body
}

async fn a_report_is_stored_with_every_key_and_triaged(database: TestDatabase) {
    let (app, client, console) = administrator(TestConfig::on(database)).await;
    let mut negative_report = report("down");
    negative_report["newKey"] = json!({ "nested": [1.5, null] });
    let receipt = submit_report(&client, &negative_report).await;
    assert_eq!(receipt["delivery"], "stored_only");
    submit_report(&client, &report("up")).await;

    let filtered = console.get(&format!("{REPORTS}?status=new&rating=down&limit=1")).await;
    assert_eq!(filtered.status, 200, "{}", filtered.text());
    let items = filtered.body["items"].as_array().expect("items");
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["id"], receipt["id"]);
    assert_eq!(items[0]["extension"], json!({ "newKey": { "nested": [1.5, null] } }));
    assert_eq!(items[0]["answerText"], json!(ANSWER));
    assert_eq!(items[0]["privacyConcern"], true);
    assert_eq!(console.get(REPORTS).await.body["items"].as_array().map(Vec::len), Some(2));
    assert_eq!(console.get(&format!("{REPORTS}?status=open")).await.status, 400);

    let path = format!("{REPORTS}/{}", receipt["id"].as_str().expect("an id"));
    let tag = console.get(&path).await.header("etag").expect("a version").to_owned();
    let note = json!({ "status": "triaged", "note": "Asked." });
    let triaged = console.write("PATCH", &path, note).await;
    assert_eq!(triaged.body["status"], "triaged");
    assert_eq!(triaged.body["note"], "Asked.");

    let headers = [("x-csrf-token", console.csrf_token.as_str()), ("if-match", tag.as_str())];
    let stale = console.send("PATCH", &path, &headers, &json!({ "status": "closed" })).await;
    assert_eq!(stale.refusal(), (412, "precondition_failed"));

    let clear_response = console.write("PATCH", &path, json!({ "note": "" })).await;
    assert_eq!(clear_response.body["status"], "triaged");
    assert_eq!(clear_response.body.get("note"), None);
    assert_eq!(console.write("PATCH", &path, json!({ "status": "new!" })).await.status, 400);

    let member = app.signed_in().await;
    assert_eq!(member.get(REPORTS).await.status, 401);
    assert_eq!(app.anonymous().post(FEEDBACK, &report("up")).await.status, 401);
}

async fn only_a_negative_report_queues_an_email(database: TestDatabase) {
    let setting = TestConfig::on(database)
        .with("Smtp:Host", "localhost")
        .with("Smtp:Port", 9)
        .with("Smtp:From", "pia@example.org")
        .with("Feedback:NotifyAddress", "ops@example.org");
    let (_app, client, _) = administrator(setting).await;
    assert_eq!(submit_report(&client, &report("up")).await["delivery"], "stored_only");
    assert_eq!(submit_report(&client, &report("down")).await["delivery"], "notified");
}

async fn a_malformed_report_is_refused(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let client = app.signed_in().await;
    for (key, value) in [
        ("schemaVersion", json!(2)),
        ("messageId", json!("5")),
        ("messageId", Value::Null),
        ("chatId", json!("x")),
        ("rating", json!("sideways")),
        ("rating", json!(1)),
        ("comment", json!("x".repeat(10_001))),
        ("comment", json!("a\0b")),
        ("answerText", json!(["a"])),
        ("piiTokenized", json!("yes")),
        ("answeredAt", json!("yesterday")),
        ("locale", json!("de\nDE")),
        ("other", json!("x".repeat(20_000))),
    ] {
        let mut wrong_report = report("down");
        wrong_report[key] = value;
        let refusal = client.post(FEEDBACK, &wrong_report).await;
        assert_eq!(refusal.status, 400, "{key}: {}", refusal.text());
        assert!(refusal.body["errors"].is_array(), "{key}: {}", refusal.text());
    }
    for body in [json!([]), json!("x"), json!({})] {
        assert_eq!(client.post(FEEDBACK, &body).await.status, 400, "{body}");
    }
}

async fn a_report_is_exported_and_deleted_with_its_account(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    let client = app.sign_up("eve@example.org").await;
    submit_report(&client, &report("down")).await;
    let json = [("accept", "application/json")];
    let export = client.send("GET", "/auth/account/export", &json, b"").await;
    assert!(export.text().contains(ANSWER), "{}", export.text());
    let deletion = json!({ "confirm": "DELETE", "password": PASSWORD });
    assert_eq!(client.post("/auth/account/delete", &deletion).await.status, 200);
    assert_eq!(console.get(REPORTS).await.body["items"], json!([]));
}
