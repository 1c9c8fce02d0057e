//! Tests of managed personas, from the console to a member's pull.

use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::console::{Console, administrator};
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use uuid::Uuid;

const PERSONAS: &str = "/api/admin/managed-personas";
/// Default group, to which all new accounts belong.
const DEFAULT_GROUP: &str = "00000000-0000-7000-8000-000000000001";
/// Id of a built-in plugin.
const MEMORY: &str = "10000000-0000-0000-0000-000000000001";

on_both_databases!(
    a_member_gets_an_assigned_persona_until_it_is_deleted,
    a_persona_is_read_listed_and_replaced,
    a_stale_update_is_refused,
    refusals_name_their_reason,
    a_full_group_gets_no_more_personas,
);

/// Returns the body of a write of a persona.
fn persona(name: &str) -> Value {
    json!({ "name": name, "systemPrompt": "Be exact.", "expertise": ["law"], "toolScope": 1 })
}

/// Creates a persona, and returns its path.
async fn create_persona(console: &Console, name: &str) -> String {
    let response = console.write("POST", PERSONAS, persona(name)).await;
    assert_eq!(response.status, 201, "{}", response.text());
    format!("{PERSONAS}/{}", response.body["id"].as_str().expect("an id"))
}

/// Replaces a persona by an active or inactive one of this name.
async fn replace_persona(console: &Console, path: &str, name: &str, is_active: bool) {
    let mut body = persona(name);
    body["isActive"] = json!(is_active);
    let response = console.write("PUT", path, body).await;
    assert_eq!(response.status, 200, "{}", response.text());
}

/// Assigns a persona to exactly these groups.
async fn assign(console: &Console, path: &str, groups: &[&str]) -> TestResponse {
    console.write("PUT", &format!("{path}/groups"), json!({ "groupIds": groups })).await
}

/// Returns the personas that a member's program receives, and the ids of those that it removes.
async fn pull_personas(client: &Client) -> Value {
    let response = client.get("/api/sync/pull?since=2020-01-01T00:00:00Z").await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.body["managedPersonas"].clone()
}

async fn a_member_gets_an_assigned_persona_until_it_is_deleted(database: TestDatabase) {
    let (_app, client, console) = administrator(TestConfig::on(database)).await;
    let path = create_persona(&console, "Ada").await;
    let no_personas = json!({ "personas": [], "recentlyRemoved": [] });
    assert_eq!(pull_personas(&client).await, no_personas);

    assert_eq!(assign(&console, &path, &[DEFAULT_GROUP]).await.status, 200);
    let snapshot = pull_personas(&client).await;
    let assigned_persona = &snapshot["personas"][0];
    assert_eq!(assigned_persona["name"], "Ada");
    assert_eq!(assigned_persona["isManaged"], true);
    assert_eq!(assigned_persona["expertise"], json!(["law"]));
    assert_eq!(assigned_persona["toolScope"], 1);
    assert!(assigned_persona.get("isActive").is_none());

    let removed_persona = json!({ "personas": [], "recentlyRemoved": [assigned_persona["id"]] });
    replace_persona(&console, &path, "Ada", false).await;
    assert_eq!(pull_personas(&client).await, removed_persona);

    // An update without `isActive` leaves it inactive.
    assert_eq!(console.write("PUT", &path, persona("Eve")).await.status, 200);
    assert_eq!(pull_personas(&client).await, removed_persona);

    replace_persona(&console, &path, "Eve", true).await;
    assert_eq!(pull_personas(&client).await["personas"][0]["name"], "Eve");

    assert_eq!(console.write("DELETE", &path, Value::Null).await.status, 200);
    assert_eq!(pull_personas(&client).await, removed_persona);
    assert_eq!(console.get(&path).await.refusal(), (404, "not_found"));
}

async fn a_persona_is_read_listed_and_replaced(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    assert_eq!(console.get(PERSONAS).await.body, json!([]));
    let path = create_persona(&console, " Ada ").await;
    let plugins = json!({ "pluginIds": [MEMORY, MEMORY] });
    assert_eq!(console.write("PUT", &format!("{path}/plugins"), plugins).await.status, 200);
    assign(&console, &path, &[DEFAULT_GROUP, DEFAULT_GROUP]).await;

    let created_persona = console.get(&path).await.body;
    assert_eq!(created_persona["name"], "Ada");
    assert_eq!(created_persona["isActive"], true);
    assert_eq!(console.get(&format!("{path}/plugins")).await.body, json!([MEMORY]));
    assert_eq!(console.get(&format!("{path}/groups")).await.body, json!([DEFAULT_GROUP]));

    let list = console.get(PERSONAS).await.body;
    assert_eq!(list[0]["groupCount"], 1);
    assert_eq!(list[0]["pluginCount"], 1);
    assert!(list[0].get("systemPrompt").is_none());

    // An update removes or resets the values that it leaves out.
    let required_values = json!({ "name": "Eve", "systemPrompt": "Be kind." });
    assert_eq!(console.write("PUT", &path, required_values).await.status, 200);
    let replaced_persona = console.get(&path).await.body;
    assert_eq!(replaced_persona["expertise"], Value::Null);
    assert_eq!(replaced_persona["toolScope"], 2);

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
    let response = console.get(&path).await;
    let etag = response.header("etag").expect("a tag");
    let update = async |if_match: &str| {
        let headers = [("x-csrf-token", console.csrf_token.as_str()), ("if-match", if_match)];
        console.send("PUT", &path, &headers, &persona("Eve")).await
    };

    assert_eq!(update(etag).await.status, 200);

    // The update has changed the tag.
    for stale_tag in [etag, "\"x\"", "W/\"1\"", "nonsense"] {
        assert_eq!(update(stale_tag).await.refusal(), (412, "precondition_failed"), "{stale_tag}");
    }
    assert_eq!(update("*").await.status, 200);
}

async fn refusals_name_their_reason(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;
    let path = create_persona(&console, "Ada").await;
    let groups = format!("{path}/groups");
    let plugins = format!("{path}/plugins");
    let unknown_id = Uuid::now_v7();

    for (method, path, body, field) in [
        ("POST", PERSONAS, json!({ "systemPrompt": "x" }), "name"),
        ("POST", PERSONAS, json!({ "name": "x" }), "systemPrompt"),
        ("PUT", &path, json!({ "name": "x", "systemPrompt": "x", "toolScope": 7 }), "toolScope"),
        ("PUT", &path, json!({ "name": 5, "systemPrompt": "x" }), "name"),
        ("PUT", &groups, json!({ "groupIds": [unknown_id] }), "groupIds"),
        ("PUT", &groups, json!({ "groupIds": ["5"] }), "groupIds[0]"),
        ("PUT", &groups, json!({}), "groupIds"),
        ("PUT", &plugins, json!({ "pluginIds": [unknown_id] }), "pluginIds"),
    ] {
        let response = console.write(method, path, body).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{}", response.text());
        assert_eq!(response.body["errors"][0]["field"], field, "{}", response.text());
    }
}

async fn a_full_group_gets_no_more_personas(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    app.admin("group set default quota.ManagedPersonas=1").await.expect("a quota");
    let first_persona = create_persona(&console, "A").await;
    let second_persona = create_persona(&console, "B").await;
    assert_eq!(assign(&console, &first_persona, &[DEFAULT_GROUP]).await.status, 200);

    let full_group_response = assign(&console, &second_persona, &[DEFAULT_GROUP]).await;
    assert_eq!(full_group_response.refusal(), (409, "quota_exceeded"));
    assert_eq!(full_group_response.body["limit"], 1);
    assert_eq!(full_group_response.body["resource"], "managed_personas");

    console.write("DELETE", &first_persona, Value::Null).await;
    assert_eq!(assign(&console, &second_persona, &[DEFAULT_GROUP]).await.status, 200);
}
