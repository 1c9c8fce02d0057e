//! Tests of client policies, from the console to a member's pull.

use futures_util::future::join_all;
use pia_kernel::{Clock as _, SystemClock};
use pia_policy::{Edition, Terms};
use pia_server_testkit::client::Client;
use pia_server_testkit::console::{Console, administrator};
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use uuid::Uuid;

const POLICIES: &str = "/api/admin/client-policies";
const DEFAULT_GROUP: &str = "/api/admin/groups/00000000-0000-7000-8000-000000000001/client-policy";
const DOCUMENT: &str = "{\"enforce\" : {\"theme\":\"\\u0064ark\", \"n\":1.50}}";

on_both_databases!(
    a_member_gets_an_assigned_policy_with_the_next_pull,
    a_policy_is_read_listed_replaced_and_deleted,
    refusals_name_their_reason,
    concurrent_writes_of_a_policy_are_atomic,
    every_write_is_audited,
    versions_are_read_compared_and_restored,
);

/// Creates a policy and returns its id.
async fn create_policy(console: &Console, name: &str) -> String {
    let body = json!({ "name": name, "document": format!("  {DOCUMENT}\n") });
    let creation_response = console.write("POST", POLICIES, body).await;
    assert_eq!(creation_response.status, 201, "{}", creation_response.text());
    creation_response.body["id"].as_str().expect("an id").to_owned()
}

async fn pull(client: &Client, more: &str) -> Value {
    let pull_response =
        client.get(&format!("/api/sync/pull?since=2020-01-01T00:00:00Z{more}")).await;
    assert_eq!(pull_response.status, 200, "{}", pull_response.text());
    pull_response.body
}

async fn a_member_gets_an_assigned_policy_with_the_next_pull(database: TestDatabase) {
    let (_app, client, console) = administrator(TestConfig::on(database)).await;
    let before = pull(&client, "").await;
    assert_eq!(before["clientPolicy"], json!({ "document": "{}" }));
    let id = create_policy(&console, "Office").await;

    let assignment_response = console.write("PUT", DEFAULT_GROUP, json!({ "policyId": id })).await;
    assert_eq!(assignment_response.status, 200);
    assert_eq!(assignment_response.body["name"], "Office");
    assert_eq!(console.get(DEFAULT_GROUP).await.body, assignment_response.body);

    let known_version = format!("&catalogVersion={}", before["catalogVersion"]);
    let pulled = pull(&client, &known_version).await;
    assert_eq!(pulled["clientPolicy"]["document"], DOCUMENT);
    assert_eq!(pulled["clientPolicy"]["updatedAt"], assignment_response.body["updatedAt"]);
    let pulled_version = format!("&catalogVersion={}", pulled["catalogVersion"]);
    assert!(pull(&client, &pulled_version).await.get("clientPolicy").is_none());

    let path = format!("{POLICIES}/{id}");
    let tag = console.get(&path).await.header("etag").expect("a tag").to_owned();
    let replacement_response = console.write("PUT", &path, json!({ "name": "Office" })).await;
    let headers = [("x-csrf-token", console.csrf_token.as_str()), ("if-match", tag.as_str())];
    let stale = console.send("PUT", &path, &headers, &json!({ "name": "Home" })).await;
    assert_eq!(stale.refusal(), (412, "precondition_failed"));
    assert_eq!(replacement_response.status, 200, "{}", replacement_response.text());
    assert_eq!(pull(&client, &pulled_version).await["clientPolicy"]["document"], "{}");

    let removal_response = console.write("PUT", DEFAULT_GROUP, json!({ "policyId": null })).await;
    assert_eq!(removal_response.status, 200);
    assert_eq!(removal_response.body, json!({ "document": "{}" }));
    assert_eq!(pull(&client, "").await["clientPolicy"], json!({ "document": "{}" }));
}

async fn a_policy_is_read_listed_replaced_and_deleted(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;
    assert_eq!(console.get(POLICIES).await.body, json!([]));
    let id = create_policy(&console, " Office ").await;
    let path = format!("{POLICIES}/{id}");

    let stored_body = console.get(&path).await.body;
    assert_eq!(stored_body["name"], "Office");
    assert_eq!(stored_body["document"], json!(DOCUMENT));

    console.write("PUT", DEFAULT_GROUP, json!({ "policyId": id })).await;
    let list = console.get(POLICIES).await.body;
    let updated_at = stored_body["updatedAt"].clone();
    assert_eq!(
        list,
        json!([{ "id": id, "name": "Office", "documentBytes": DOCUMENT.len(),
            "updatedAt": updated_at, "groupCount": 1 }])
    );

    let groups = console.get(&format!("{path}/groups")).await.body;
    assert_eq!(groups.as_array().map(Vec::len), Some(1));
    assert!(groups[0]["name"].is_string());

    let in_use = console.write("DELETE", &path, Value::Null).await;
    assert_eq!(in_use.refusal(), (409, "client_policy_in_use"));
    assert_eq!(in_use.body["groups"], json!([groups[0]["name"]]));

    console.write("PUT", DEFAULT_GROUP, json!({ "policyId": null })).await;
    assert_eq!(console.write("DELETE", &path, Value::Null).await.status, 200);
    for gone in [
        console.get(&path).await,
        console.get(&format!("{path}/groups")).await,
        console.write("PUT", &path, json!({ "name": "x" })).await,
        console.write("DELETE", &path, Value::Null).await,
    ] {
        assert_eq!(gone.refusal(), (404, "not_found"));
    }
}

async fn refusals_name_their_reason(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;
    let id = create_policy(&console, "Office").await;

    for (body, field) in [
        (json!({}), "name"),
        (json!({ "name": "x".repeat(101) }), "name"),
        (json!({ "name": "a", "description": "x".repeat(1001) }), "description"),
        (json!({ "name": "a", "document": "[]" }), "document"),
        (json!({ "name": "a", "document": r#"{"Defaults":{}}"# }), "document"),
        (json!({ "name": "a", "document": r#"{"enforce":{"SyncEnabled":true}}"# }), "document"),
    ] {
        let response = console.write("POST", POLICIES, body).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{}", response.text());
        assert_eq!(response.body["errors"][0]["field"], field);
    }

    let conflict_response = console.write("POST", POLICIES, json!({ "name": "OFFICE" })).await;
    assert_eq!(conflict_response.refusal(), (409, "name_taken"));
    for unknown in [json!(Uuid::now_v7()), json!("5"), json!("")] {
        let response = console.write("PUT", DEFAULT_GROUP, json!({ "policyId": unknown })).await;
        assert_eq!(response.refusal(), (400, "client_policy_not_found"), "{unknown}");
    }

    let nowhere = format!("/api/admin/groups/{}/client-policy", Uuid::now_v7());
    let unknown = console.get(&nowhere).await;
    assert_eq!(unknown.refusal(), (404, "not_found"));
    assert_eq!(unknown.body["message"], "Nothing has this ID here. It may have been deleted.");
    let nowhere = console.write("PUT", &nowhere, json!({ "policyId": id })).await;
    assert_eq!(nowhere.refusal(), (404, "not_found"));

    let numbers = console.write("POST", POLICIES, json!({ "name": 5 })).await;
    assert_eq!(numbers.refusal(), (400, "validation_failed"));
}

async fn concurrent_writes_of_a_policy_are_atomic(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;
    let path = format!("{POLICIES}/{}", create_policy(&console, "Office").await);

    let bodies = (0..100).map(|n| {
        let document = format!("{{\"defaults\":{{\"n\":{n}}}}}");
        json!({ "name": format!("Office {n}"), "description": n.to_string(), "document": document })
    });
    let answers = join_all(bodies.map(|it| console.write("PUT", &path, it))).await;

    assert!(answers.iter().all(|it| it.status == 200));
    let stored_body = console.get(&path).await.body;
    let n = stored_body["description"].as_str().expect("a number");
    assert_eq!(stored_body["name"], format!("Office {n}"));
    assert_eq!(stored_body["document"], format!("{{\"defaults\":{{\"n\":{n}}}}}"));
}

async fn every_write_is_audited(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database)).await;
    let id = create_policy(&console, "Office").await;
    let path = format!("{POLICIES}/{id}");
    console.write("PUT", &path, json!({ "name": "Home" })).await;
    for policy in [json!(id), Value::Null] {
        console.write("PUT", DEFAULT_GROUP, json!({ "policyId": policy })).await;
    }
    console.write("DELETE", &path, Value::Null).await;

    for (action, object, count) in [
        ("ClientPolicy.Created", format!("client-policy:{id}"), 1),
        ("ClientPolicy.Updated", format!("client-policy:{id}"), 1),
        ("ClientPolicy.Deleted", format!("client-policy:{id}"), 1),
        ("Group.ClientPolicyUpdated", "group:00000000-0000-7000-8000-000000000001".into(), 2),
    ] {
        let entries = format!("audit_entries WHERE action = '{action}' AND object = '{object}'");
        assert_eq!(app.count(&entries).await, count, "{action}");
    }
}

async fn versions_are_read_compared_and_restored(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;
    let path = format!("{POLICIES}/{}", create_policy(&console, "Office").await);
    let versions = format!("{path}/versions");
    let document = r#"{"enforce":{"theme":"light","n":1.5},"defaults":{"autoUpdate":true}}"#;
    console.write("PUT", &path, json!({ "name": "Home", "document": document })).await;

    let list = console.get(&versions).await.body;
    assert_eq!(list[0]["number"], 2);
    assert_eq!(list[1]["number"], 1);
    assert!(list[0]["writtenBy"].is_string() && list[0]["writtenAt"].is_string());
    assert_eq!(list[1]["documentBytes"], DOCUMENT.len());

    let first_body = console.get(&format!("{versions}/1")).await.body;
    assert_eq!(first_body["name"], "Office");
    assert_eq!(first_body["document"], json!(DOCUMENT));

    let compared = console.get(&format!("{versions}/1/comparison")).await.body;
    assert_eq!(compared["from"], first_body);
    assert_eq!(compared["to"]["name"], "Home");

    let differences = json!([
        { "section": "defaults", "setting": "autoUpdate", "after": true },
        { "section": "enforce", "setting": "theme", "before": "dark", "after": "light" },
    ]);
    assert_eq!(compared["settings"], differences);

    let unchanged_body = console.get(&format!("{versions}/1/comparison?with=1")).await.body;
    assert_eq!(unchanged_body["settings"], json!([]));

    let restore = format!("{versions}/1/restore");
    let tag = console.get(&path).await.header("etag").expect("a tag").to_owned();
    assert_eq!(console.write("POST", &restore, Value::Null).await.status, 200);

    let headers = [("x-csrf-token", console.csrf_token.as_str()), ("if-match", tag.as_str())];
    let stale = console.send("POST", &restore, &headers, &Value::Null).await;
    assert_eq!(stale.refusal(), (412, "precondition_failed"));

    let restored_body = console.get(&path).await.body;
    assert_eq!(restored_body["name"], first_body["name"]);
    assert_eq!(restored_body["document"], first_body["document"]);
    assert_eq!(console.get(&versions).await.body[0]["number"], 3);

    create_policy(&console, "Home").await;
    let response = console.write("POST", &format!("{versions}/2/restore"), Value::Null).await;
    assert_eq!(response.refusal(), (409, "name_taken"));
    for number in ["9", "0", "-1", "x", "99999999999"] {
        let show = format!("{versions}/{number}");
        let compare = format!("{versions}/1/comparison");
        assert_eq!(console.get(&show).await.refusal(), (404, "not_found"), "{number}");
        assert_eq!(console.get(&format!("{show}/comparison")).await.status, 404);
        assert_eq!(
            console.write("POST", &format!("{show}/restore"), Value::Null).await.status,
            404
        );
        let compared = console.get(&format!("{compare}?with={number}")).await;
        assert!(matches!(compared.status, 400 | 404), "{number}: {}", compared.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_feature_policies_are_read_and_not_written() {
    let terms = Terms::new("A test", Edition::Community, SystemClock.now());
    let setting = TestConfig::on(TestDatabase::sqlite()).licensed(Some(terms));
    let (_app, _, console) = administrator(setting).await;

    assert_eq!(console.get(POLICIES).await.status, 200);
    assert_eq!(console.get(DEFAULT_GROUP).await.status, 200);
    let response = console.write("POST", POLICIES, json!({ "name": "x" })).await;
    assert_eq!(response.refusal(), (403, "feature_not_licensed"));
    assert_eq!(response.body["feature"], "GroupManagement");
}
