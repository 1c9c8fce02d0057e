//! Assignments from end to end: handed over, run, collected.

mod crashes;
mod engines;
mod limits;
#[cfg(feature = "temporal")]
mod outage;
mod schedules;
mod webhooks;

use pia_server_testkit::ai_peer::Fixed;
use pia_server_testkit::client::{Client, TestResponse, keys};
use pia_server_testkit::console::Console;
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use crate::tools::with_search;
use engines::{over_each_engine, with_engine};

over_each_engine!(
    a_brief_has_an_event_for_each_step_and_an_artifact,
    each_use_of_a_tool_is_an_event,
    collecting_deletes_everything_that_the_server_did_not_write,
    a_user_sees_granted_skills_and_own_assignments_only,
    refused_input_has_the_code_that_clients_expect,
    administrators_see_and_end_assignments_without_contents,
    an_operator_that_is_renamed_stays_switched_off,
);

pub(crate) const ASSIGNMENTS: &str = "/api/assignments";
const GRACE: &str = "grace@example.com";
/// Answer of the model, with 42 tokens.
pub(crate) const ANSWER: &str = r##"{"choices":[{"message":{"role":"assistant",
    "content":"# Findings"},"finish_reason":"stop"}],
    "usage":{"prompt_tokens":40,"completion_tokens":2}}"##;

/// Configures a server that accepts assignments.
pub(crate) fn accepting(database: TestDatabase, upstream: &str) -> TestConfig {
    let url = database.url.clone();
    with_engine(TestConfig::on(database), &url)
        .with("Admin__RequireSecondFactor", false)
        .with_upstream(upstream)
}

/// Starts a server whose operators are granted to everyone, with its
/// administrator and a user.
pub(crate) async fn granted(setting: TestConfig) -> (TestApp, Console, Client) {
    let app = setting.start().await;
    let client = app.signed_in().await;
    let _admin = app.sign_up(GRACE).await;
    let console = Console::open(&app, GRACE).await;
    let group = console.get("/api/admin/groups").await.body[0]["id"].clone();
    for operator in console.get("/api/admin/operators").await.body.as_array().expect("a list") {
        let path = format!("/api/admin/operators/{}/groups", operator["id"].as_str().expect("id"));
        let response = console.write("PUT", &path, json!({ "groupIds": [group] })).await;
        assert_eq!(response.status, 200, "{}", response.text());
    }
    (app, console, client)
}

/// Hands an assignment over.
pub(crate) async fn enqueue(client: &Client, skill: &str, envelope: &Value) -> TestResponse {
    let body = json!({ "skillName": skill, "inputJson": envelope.to_string() });
    client.post(ASSIGNMENTS, &body).await
}

pub(crate) fn envelope(prompt: &str) -> Value {
    let item = json!({
        "entityType": "memory", "entityId": "0199f0e0-0000-7000-8000-0000000000a1",
        "title": "Move", "text": "The move is on Friday.",
    });
    json!({ "schemaVersion": 1, "prompt": prompt, "items": [item] })
}

/// Hands an assignment over and returns its path.
pub(crate) async fn hand_over(client: &Client, skill: &str) -> String {
    let response = enqueue(client, skill, &envelope("Brief me on the move.")).await;
    assert_eq!(response.status, 202, "{}", response.text());
    let path = format!("{ASSIGNMENTS}/{}", response.body["id"].as_str().expect("an id"));
    assert_eq!(response.header("location"), Some(path.as_str()));
    path
}

/// Waits until an assignment has ended, and returns it.
pub(crate) async fn wait_for_end(client: &Client, path: &str) -> Value {
    until(async || {
        let assignment = client.get(path).await.body;
        let is_open = matches!(assignment["status"].as_str(), Some("Queued" | "Running"));
        (!is_open).then_some(assignment)
    })
    .await
}

pub(crate) fn kinds(assignment: &Value) -> Vec<&str> {
    assignment["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|it| it["kind"].as_str().expect("a kind"))
        .collect()
}

async fn a_brief_has_an_event_for_each_step_and_an_artifact(database: TestDatabase) {
    let upstream = Fixed::with_json(ANSWER).await;
    let (_app, _, client) = granted(accepting(database, &upstream.endpoint)).await;

    let path = hand_over(&client, "BRIEF").await;
    let assignment = wait_for_end(&client, &path).await;

    assert_eq!(assignment["status"], "Completed", "{assignment}");
    let expected =
        ["queued", "started", "step", "continued", "step", "continued", "artifact", "completed"];
    assert_eq!(kinds(&assignment), expected);
    assert_eq!(assignment["stepCount"], 3);
    assert_eq!(assignment["tokensSpent"], 126);
    assert_eq!(assignment["tokensAbandoned"], 0);
    assert_eq!(assignment["artifactText"], "# Findings");
    assert!(assignment["artifactJson"].as_str().expect("JSON").contains("choices"));

    let detail_json = assignment["events"][2]["detailJson"].as_str().expect("a detail");
    let detail: Value = serde_json::from_str(detail_json).expect("JSON");
    assert_eq!(detail["stepIndex"], 0);
    assert_eq!(detail["tokens"], 42);

    let calls = upstream.calls();
    assert_eq!(calls.len(), 3);
    let last: Value = serde_json::from_str(&calls[2].text()).expect("JSON");
    let material = last["messages"][1]["content"].as_str().expect("a text");
    assert!(material.contains("The move is on Friday."), "{material}");
    assert_eq!(material.matches("# Findings").count(), 2);

    let list = client.get(ASSIGNMENTS).await.body;
    for missing in ["events", "artifactJson", "artifactText", "plaintextDroppedAt"] {
        assert!(!keys(&list[0]).contains(&missing), "{missing}");
    }
}

async fn each_use_of_a_tool_is_an_event(database: TestDatabase) {
    // The model searches as often as it may, and once with arguments of its own.
    let function = |arguments: &str| json!({ "name": "pia_web_search", "arguments": arguments });
    let call = |arguments| json!({ "id": "a", "function": function(arguments) });
    let calls = [call(r#"{"query":"trains"}"#), call("Berlin")];
    let message = json!({ "content": "# Findings", "tool_calls": calls });
    let answer = json!({ "choices": [{ "message": message }] }).to_string();
    let model = Fixed::with_json(&answer).await;
    let linkup = Fixed::with_json(r#"{"results":[]}"#).await;
    let url = database.url.clone();
    let setting = with_engine(TestConfig::on(database), &url)
        .with("Admin__RequireSecondFactor", false)
        .with("Ai__MaxToolRounds", 1);
    let (app, _, client) = granted(with_search(setting, &model.endpoint, &linkup.endpoint)).await;
    app.admin("group set default mode.Research=talker").await.expect("a mode");

    let path = hand_over(&client, "research").await;
    let assignment = wait_for_end(&client, &path).await;

    let expected = ["queued", "started", "tool", "tool", "artifact", "completed"];
    assert_eq!(kinds(&assignment), expected, "{assignment}");
    let use_event = &assignment["events"][2];
    let failure_event = &assignment["events"][3];
    assert_eq!(use_event["message"], "Used pia_web_search.");
    assert_eq!(failure_event["message"], "pia_web_search failed.");
    assert!(use_event.get("detailJson").is_none());
    assert_eq!(linkup.calls().len(), 1);
}

async fn collecting_deletes_everything_that_the_server_did_not_write(database: TestDatabase) {
    let upstream = Fixed::with_json(ANSWER).await;
    let (app, _, client) = granted(accepting(database, &upstream.endpoint)).await;
    let path = hand_over(&client, "brief").await;
    wait_for_end(&client, &path).await;

    for _ in 0..2 {
        let collected = client.post(&format!("{path}/collect"), &Value::Null).await;
        assert_eq!(collected.status, 204, "{}", collected.text());
    }

    let assignment = client.get(&path).await.body;
    assert_eq!(kinds(&assignment).iter().filter(|it| **it == "redacted").count(), 1);
    assert!(assignment["plaintextDroppedAt"].is_string());
    assert!(assignment.get("artifactText").is_none() && assignment.get("artifactJson").is_none());
    assert!(!assignment.to_string().contains("Findings"), "{assignment}");
    assert_eq!(app.count("assignments WHERE input IS NOT NULL").await, 0);
}

async fn a_user_sees_granted_skills_and_own_assignments_only(database: TestDatabase) {
    let upstream = Fixed::with_json(ANSWER).await;
    let (app, console, client) = granted(accepting(database, &upstream.endpoint)).await;
    let path = hand_over(&client, "research").await;
    wait_for_end(&client, &path).await;
    let other_client = app.sign_up("other@example.com").await;

    for (method, path) in [
        ("GET", path.clone()),
        ("POST", format!("{path}/cancel")),
        ("POST", format!("{path}/collect")),
    ] {
        assert_eq!(other_client.send(method, &path, &[], b"").await.status, 404, "{method} {path}");
    }
    assert_eq!(other_client.get(ASSIGNMENTS).await.body, json!([]));

    let skills = other_client.get("/api/assignments/skills").await.body;
    assert_eq!(skills[0]["name"], "brief");
    assert_eq!(skills[1]["declaredInputTypes"], json!(["assistantChat", "session", "memory"]));

    for operator in console.get("/api/admin/operators").await.body.as_array().expect("a list") {
        let path = format!("/api/admin/operators/{}/groups", operator["id"].as_str().expect("id"));
        console.write("PUT", &path, json!({ "groupIds": [] })).await;
    }
    assert_eq!(other_client.get("/api/assignments/skills").await.body, json!([]));

    let response = enqueue(&other_client, "brief", &envelope("Hi")).await;
    assert_eq!(response.refusal(), (400, "skill_not_granted"));
}

async fn refused_input_has_the_code_that_clients_expect(database: TestDatabase) {
    let upstream = Fixed::with_json(ANSWER).await;
    let (app, _, client) = granted(accepting(database, &upstream.endpoint)).await;
    let of_type = |name: &str| json!({ "schemaVersion": 1, "prompt": "p", "items": [{ "entityType": name, "text": "t" }] });

    for (skill, envelope, code) in [
        ("brief", json!({}), "invalid_envelope"),
        ("brief", json!({ "prompt": "p" }), "unsupported_schema_version"),
        ("brief", json!({ "schemaVersion": 1, "prompt": "x".repeat(4001) }), "envelope_too_large"),
        ("brief", of_type("Todo"), "unknown_entity_type"),
        ("research", of_type("todo"), "undeclared_entity_type"),
    ] {
        assert_eq!(enqueue(&client, skill, &envelope).await.refusal(), (400, code), "{envelope}");
    }

    let opaque = json!({ "skillName": "brief", "inputJson": "{" });
    assert_eq!(client.post(ASSIGNMENTS, &opaque).await.refusal(), (400, "invalid_envelope"));
    assert_eq!(app.count("assignments").await, 0);
    for query in ["limit=0", "limit=-1", "skip=-7", "limit=9223372036854775807"] {
        assert_eq!(client.get(&format!("{ASSIGNMENTS}?{query}")).await.status, 200, "{query}");
    }
}

async fn administrators_see_and_end_assignments_without_contents(database: TestDatabase) {
    let upstream = Fixed::with_json(ANSWER).await;
    let (_app, console, client) = granted(accepting(database, &upstream.endpoint)).await;
    let path = hand_over(&client, "brief").await;
    wait_for_end(&client, &path).await;

    let list = console.get("/api/admin/assignments").await.body;

    assert_eq!(list[0]["status"], "Completed");
    assert_eq!(list[0]["tokensSpent"], 126);
    for missing in ["artifactJson", "errorMessage", "events"] {
        assert!(!keys(&list[0]).contains(&missing), "{missing}");
    }

    let id = list[0]["id"].as_str().expect("an id");
    let terminate = format!("/api/admin/assignments/{id}/terminate");
    let terminated = console.write("POST", &terminate, Value::Null).await;
    assert_eq!(terminated.status, 200);
    assert_eq!(terminated.body, json!({ "changed": false }));
    let invalid_id = "/api/admin/assignments/x/terminate";
    let terminated = console.write("POST", invalid_id, Value::Null).await;
    assert_eq!(terminated.status, 200);
    assert_eq!(terminated.body, json!({ "changed": false }));

    let queue = console.get("/api/admin/assignments/queue").await.body;
    assert_eq!(queue["queued"], 0);
    assert_eq!(queue["workers"].as_array().map(Vec::len), Some(1));
}

async fn an_operator_that_is_renamed_stays_switched_off(database: TestDatabase) {
    let upstream = Fixed::with_json(ANSWER).await;
    let (_app, console, client) = granted(accepting(database, &upstream.endpoint)).await;
    let operators = console.get("/api/admin/operators").await.body;
    let path = format!("/api/admin/operators/{}", operators[0]["id"].as_str().expect("an id"));

    for body in [json!({ "name": "Off", "isActive": false }), json!({ "name": "Renamed" })] {
        let response = console.write("PUT", &path, body).await;
        assert_eq!(response.status, 200, "{}", response.text());
    }

    let operators = console.get("/api/admin/operators").await.body;
    let mut operators = operators.as_array().expect("a list").iter();
    let renamed = operators.find(|it| it["name"] == "Renamed").expect("the operator");
    assert_eq!(renamed["isActive"], false);
    let skills = client.get("/api/assignments/skills").await.body;
    assert_eq!(skills.as_array().map(Vec::len), Some(1), "{skills}");
}
