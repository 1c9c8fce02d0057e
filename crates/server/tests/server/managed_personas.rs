//! Tests of managed personas, from the console to a member's pull.

use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::console::{Console, administrator};
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use uuid::Uuid;

const PERSONAS: &str = "/api/admin/managed-personas";
const DEFAULT_GROUP: &str = "00000000-0000-7000-8000-000000000001";
const MEMORY: &str = "10000000-0000-0000-0000-000000000001";

on_both_databases!(
    a_member_gets_an_assigned_persona_until_it_is_deleted,
    a_persona_is_read_listed_and_replaced,
    a_stale_update_is_refused,
    refusals_name_their_reason,
    a_full_group_gets_no_more_personas,
);

fn persona(name: &str) -> Value {
    json!({ "name": name, "systemPrompt": "Be exact.", "expertise": ["law"], "toolScope": 1 })
}

async fn create_persona(console: &Console, name: &str) -> String {
    let creation_response = console.write("POST", PERSONAS, persona(name)).await;
    assert_eq!(creation_response.status, 201, "{}", creation_response.text());
    format!("{PERSONAS}/{}", creation_response.body["id"].as_str().expect("an id"))
}

async fn assign(console: &Console, persona: &str, groups: &[&str]) -> TestResponse {
    console.write("PUT", &format!("{persona}/groups"), json!({ "groupIds": groups })).await
}

async fn pulled(client: &Client) -> Value {
    let pull_response = client.get("/api/sync/pull?since=2020-01-01T00:00:00Z").await;
    assert_eq!(pull_response.status, 200, "{}", pull_response.text());
    pull_response.body["managedPersonas"].clone()
}

async fn a_member_gets_an_assigned_persona_until_it_is_deleted(database: TestDatabase) {
    let (_app, client, console) = administrator(TestConfig::on(database)).await;
    let none = json!({ "personas": [], "recentlyRemoved": [] });
    let path = create_persona(&console, "Ada").await;
    assert_eq!(pulled(&client).await, none);

    assert_eq!(assign(&console, &path, &[DEFAULT_GROUP]).await.status, 200);
    let snapshot = pulled(&client).await;
    let assigned = &snapshot["personas"][0];
    assert_eq!(assigned["name"], "Ada");
    assert_eq!(assigned["isManaged"], true);
    assert_eq!(assigned["expertise"], json!(["law"]));
    assert_eq!(assigned["toolScope"], 1);
    assert!(assigned.get("isActive").is_none());

    let mut inactive = persona("Ada");
    inactive["isActive"] = json!(false);
    console.write("PUT", &path, inactive).await;
    let removed = json!({ "personas": [], "recentlyRemoved": [assigned["id"]] });
    assert_eq!(pulled(&client).await, removed);
    let update_response = console.write("PUT", &path, persona("Eve")).await;
    assert_eq!(update_response.status, 200);
    assert_eq!(pulled(&client).await, removed);

    let mut active = persona("Eve");
    active["isActive"] = json!(true);
    console.write("PUT", &path, active).await;
    assert_eq!(pulled(&client).await["personas"][0]["name"], "Eve");
    assert_eq!(console.write("DELETE", &path, Value::Null).await.status, 200);
    assert_eq!(pulled(&client).await, removed);
    assert_eq!(console.get(&path).await.refusal(), (404, "not_found"));
}

async fn a_persona_is_read_listed_and_replaced(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    assert_eq!(console.get(PERSONAS).await.body, json!([]));
    let path = create_persona(&console, " Ada ").await;
    let plugins = json!({ "pluginIds": [MEMORY, MEMORY] });
    assert_eq!(console.write("PUT", &format!("{path}/plugins"), plugins).await.status, 200);
    assign(&console, &path, &[DEFAULT_GROUP, DEFAULT_GROUP]).await;

    let stored_body = console.get(&path).await.body;
    assert_eq!(stored_body["name"], "Ada");
    assert_eq!(stored_body["isActive"], true);
    assert_eq!(console.get(&format!("{path}/plugins")).await.body, json!([MEMORY]));
    assert_eq!(console.get(&format!("{path}/groups")).await.body, json!([DEFAULT_GROUP]));
    let list = console.get(PERSONAS).await.body;
    assert_eq!(list[0]["groupCount"], 1);
    assert_eq!(list[0]["pluginCount"], 1);
    assert!(list[0].get("systemPrompt").is_none());

    let bare = json!({ "name": "Eve", "systemPrompt": "Be kind." });
    assert_eq!(console.write("PUT", &path, bare).await.status, 200);
    let stored_body = console.get(&path).await.body;
    assert_eq!(stored_body["expertise"], Value::Null);
    assert_eq!(stored_body["toolScope"], 2);
    for (action, count) in [
        ("Created", 1),
        ("Updated", 1),
        ("Deleted", 0),
        ("GroupsUpdated", 1),
        ("PluginsUpdated", 1),
    ] {
        let entries = format!("audit_entries WHERE action = 'ManagedPersona.{action}'");
        assert_eq!(app.count(&entries).await, count, "{action}");
    }
}

async fn a_stale_update_is_refused(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;
    let path = create_persona(&console, "Ada").await;
    let current_response = console.get(&path).await;
    let tag = current_response.header("etag").expect("a tag").to_owned();
    let update = async |tag: &str| {
        let headers = [("x-csrf-token", console.csrf_token.as_str()), ("if-match", tag)];
        console.send("PUT", &path, &headers, &persona("Eve")).await
    };

    assert_eq!(update(&tag).await.status, 200);
    for stale in [tag.as_str(), "\"x\"", "W/\"1\"", "nonsense"] {
        assert_eq!(update(stale).await.refusal(), (412, "precondition_failed"), "{stale}");
    }
    assert_eq!(update("*").await.status, 200);
}

async fn refusals_name_their_reason(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;
    let path = create_persona(&console, "Ada").await;
    let unknown_id = Uuid::now_v7();

    for (method, path, body, field) in [
        ("POST", PERSONAS, json!({ "systemPrompt": "x" }), "name"),
        ("POST", PERSONAS, json!({ "name": "x" }), "systemPrompt"),
        ("PUT", &path, json!({ "name": "x", "systemPrompt": "x", "toolScope": 7 }), "toolScope"),
        ("PUT", &path, json!({ "name": 5, "systemPrompt": "x" }), "name"),
        ("PUT", &format!("{path}/groups"), json!({ "groupIds": [unknown_id] }), "groupIds"),
        ("PUT", &format!("{path}/groups"), json!({ "groupIds": ["5"] }), "groupIds[0]"),
        ("PUT", &format!("{path}/groups"), json!({}), "groupIds"),
        ("PUT", &format!("{path}/plugins"), json!({ "pluginIds": [unknown_id] }), "pluginIds"),
    ] {
        let response = console.write(method, path, body).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{}", response.text());
        assert_eq!(response.body["errors"][0]["field"], field, "{}", response.text());
    }
}

async fn a_full_group_gets_no_more_personas(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    app.admin("group set default quota.ManagedPersonas=1").await.expect("a quota");
    let first_id = create_persona(&console, "A").await;
    let second_id = create_persona(&console, "B").await;

    assert_eq!(assign(&console, &first_id, &[DEFAULT_GROUP]).await.status, 200);
    let full_response = assign(&console, &second_id, &[DEFAULT_GROUP]).await;
    assert_eq!(full_response.refusal(), (409, "quota_exceeded"));
    assert_eq!(full_response.body["limit"], 1);
    assert_eq!(full_response.body["resource"], "managed_personas");
    console.write("DELETE", &first_id, Value::Null).await;
    assert_eq!(assign(&console, &second_id, &[DEFAULT_GROUP]).await.status, 200);
}
