//! Tests of settings that administrators change while the server runs.

use futures_util::future::join_all;
use pia_server_testkit::console::administrator;
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

const SETTINGS: &str = "/api/admin/settings";
const OPEN_API: &str = "/api/admin/settings/OpenApi:Enabled";

on_both_databases!(
    a_change_applies_to_all_instances_and_survives_restarts,
    refusals_name_their_reason,
    a_secret_takes_effect_and_is_never_returned,
    a_change_of_a_setting_that_no_longer_exists_is_listed_and_removed,
    concurrent_changes_are_all_stored,
);

fn find<'a>(settings: &'a Value, key: &str) -> &'a Value {
    let mut items = settings.as_array().expect("settings").iter();
    items.find(|it| it["key"] == key).unwrap_or_else(|| panic!("no {key}"))
}

async fn a_change_applies_to_all_instances_and_survives_restarts(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    let other_server = TestConfig::beside(&app).start().await;
    let published = async |of: &str| match of {
        "app" => app.anonymous().get("/openapi/v1.json").await.status,
        _ => other_server.anonymous().get("/openapi/v1.json").await.status,
    };
    let previous_body = console.get(SETTINGS).await.body;
    let value = find(&previous_body, "OpenApi:Enabled")["value"].clone();
    let new_value = if value == "true" { "false" } else { "true" };
    let status = published("app").await;

    let answer = console.write("PUT", OPEN_API, json!({ "value": new_value })).await;

    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_ne!(published("app").await, status);
    until(async || (published("other").await != status).then_some(())).await;
    let settings = console.get(SETTINGS).await.body;
    let stored_setting = find(&settings, "OpenApi:Enabled");
    assert_eq!(stored_setting["value"], json!(new_value));
    assert_eq!(stored_setting["source"], "the console");
    assert!(
        stored_setting["changedAt"].is_string() && stored_setting["changedBy"].is_string(),
        "{stored_setting}"
    );

    let later_server = TestConfig::beside(&app).start().await;
    assert_ne!(later_server.anonymous().get("/openapi/v1.json").await.status, status);

    let reset_response = console.write("DELETE", OPEN_API, Value::Null).await;
    assert_eq!(reset_response.status, 200, "{}", reset_response.text());
    assert_eq!(published("app").await, status);

    until(async || (published("other").await == status).then_some(())).await;
    let settings = console.get(SETTINGS).await.body;
    let stored_setting = find(&settings, "OpenApi:Enabled");
    assert_eq!(stored_setting["value"], value);
    assert_eq!(stored_setting.get("changedAt"), None);
    for (action, count) in [("Setting.Changed", 1), ("Setting.Reset", 1)] {
        let entries = format!("audit_entries WHERE action = '{action}'");
        assert_eq!(
            app.count(&format!("{entries} AND object = 'setting:OpenApi:Enabled'")).await,
            count
        );
    }
}

async fn a_secret_takes_effect_and_is_never_returned(database: TestDatabase) {
    let token = "s3cret-word-of-thirty-two-letters-";
    let (app, client, console) =
        administrator(TestConfig::on(database).with("Metrics__Token", token)).await;
    let new_token = "an0ther-word-of-thirty-two-letters";
    let metrics = async |token: &str| {
        let authorization = format!("Bearer {token}");
        client.send("GET", "/metrics", &[("authorization", &authorization)], b"").await.status
    };
    let previous_response = console.get(SETTINGS).await;
    let path = format!("{SETTINGS}/Metrics:Token");
    let old_status = metrics(token).await;

    let change = console.write("PUT", &path, json!({ "value": new_token })).await;

    assert_eq!(change.status, 200, "{}", change.text());
    assert_eq!(old_status, 200);
    assert_eq!(metrics(token).await, 401);
    assert_eq!(metrics(new_token).await, 200);

    let later_response = console.get(SETTINGS).await;
    for (list, source) in [(previous_response, "the environment"), (later_response, "the console")]
    {
        let secret = find(&list.body, "Metrics:Token");
        assert_eq!(secret["isSecret"], true);
        assert_eq!(secret.get("value"), None);
        assert_eq!(secret["source"], source);
        assert!(!list.text().contains("of-thirty-two-letters"));
    }
    assert_eq!(app.count("setting_overrides WHERE value = ''").await, 1);
}

async fn a_change_of_a_setting_that_no_longer_exists_is_listed_and_removed(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    let days = format!("{SETTINGS}/Audit:RetentionDays");
    let token = format!("{SETTINGS}/Metrics:Token");
    let secret = "an0ther-word-of-thirty-two-letters";
    let days_response = console.write("PUT", &days, json!({ "value": "30" })).await;
    let changed_secret = console.write("PUT", &token, json!({ "value": secret })).await;
    app.execute("UPDATE setting_overrides SET key = 'Old:Days' WHERE value = '30'").await;
    app.execute("UPDATE setting_overrides SET key = 'Old:Token' WHERE value = ''").await;

    let list_response = console.get(SETTINGS).await;
    let removal_response =
        console.write("DELETE", &format!("{SETTINGS}/old:days"), Value::Null).await;
    let left = console.get(SETTINGS).await.body;

    assert_eq!([days_response.status, changed_secret.status, removal_response.status], [200; 3]);
    let unused = find(&list_response.body, "Old:Days");
    assert_eq!([&unused["value"], &unused["isUnused"]], [&json!("30"), &json!(true)]);
    assert!(unused["changedAt"].is_string() && unused["changedBy"].is_string(), "{unused}");
    let unused_secret = find(&list_response.body, "Old:Token");
    assert_eq!(unused_secret["isSecret"], true);
    assert!(!list_response.text().contains(secret), "{}", list_response.text());
    assert_eq!(find(&list_response.body, "Metrics:Token").get("isUnused"), None);
    assert!(left.as_array().expect("settings").iter().all(|it| it["key"] != "Old:Days"), "{left}");
    assert_eq!(app.count("setting_overrides").await, 1);
    let entries = "audit_entries WHERE action = 'Setting.Reset' AND object = 'setting:Old:Days'";
    assert_eq!(app.count(entries).await, 1);
}

async fn refusals_name_their_reason(database: TestDatabase) {
    let (_app, client, console) = administrator(TestConfig::on(database)).await;
    for (key, body, code) in [
        ("Metrics:Token", json!({ "value": "short" }), "validation_failed"),
        ("OpenApi:Enabled", json!({ "value": "perhaps" }), "validation_failed"),
        ("OpenApi:Enabled", json!({}), "validation_failed"),
        ("OpenApi:Enabled", json!({ "value": 1 }), "validation_failed"),
        ("Audit:RetentionDays", json!({ "value": "0" }), "validation_failed"),
        ("OpenApi:Enabled", json!({ "value": "x".repeat(20_000) }), "validation_failed"),
    ] {
        let response = console.write("PUT", &format!("{SETTINGS}/{key}"), body).await;
        assert_eq!(response.refusal(), (400, code), "{}", response.text());
    }
    for unknown in ["Server:Address", "Nothing:There", "x", "Audit"] {
        let path = format!("{SETTINGS}/{unknown}");
        let response = console.write("PUT", &path, json!({ "value": "1" })).await;
        assert_eq!(response.refusal(), (404, "not_found"), "{unknown}");
        assert_eq!(console.write("DELETE", &path, Value::Null).await.status, 404);
    }
    for empty in ["", "  "] {
        let path = format!("{SETTINGS}/Metrics:Token");
        let response = console.write("PUT", &path, json!({ "value": empty })).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{}", response.text());
        assert_eq!(response.body["errors"][0]["code"], "empty_secret");
    }
    // A blank key stands for no key.
    let path = format!("{SETTINGS}/Ai:Modes:Research:ApiKey");
    let blank = console.write("PUT", &path, json!({ "value": "" })).await;
    let settings = console.get(SETTINGS).await.body;
    assert_eq!(blank.status, 200, "{}", blank.text());
    assert_eq!(find(&settings, "Ai:Modes:Research:ApiKey")["source"], "the console");
    assert_eq!(client.get(SETTINGS).await.status, 401);
}

async fn concurrent_changes_are_all_stored(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;
    let keys = ["Audit:RetentionDays", "Feedback:RetentionDays", "Feedback:AnswerRetentionDays"];

    let writes = keys.map(|key| {
        let path = format!("{SETTINGS}/{key}");
        let console = &console;
        async move { console.write("PUT", &path, json!({ "value": "30" })).await.status }
    });
    assert_eq!(join_all(writes).await, [200; 3]);

    let settings = console.get(SETTINGS).await.body;
    for key in keys {
        assert_eq!(find(&settings, key)["source"], "the console", "{key}");
    }
}
