//! Assignments on pods that end before their skill does.

use std::time::Duration;

use pia_server_testkit::ai_peer::Fixed;
use pia_server_testkit::client::Client;
use pia_server_testkit::harness::PASSWORD;
use pia_server_testkit::on_databases_with_roles;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{NewConnector, Pod, create_connector, pod_after};
use crate::assignments::{accepting, enqueue, granted, wait_for_end};

on_databases_with_roles!(
    a_cancelled_assignment_ends_its_call_and_makes_room,
    a_terminated_assignment_ends_its_call,
    a_deleted_account_ends_its_calls,
);

/// Hands over an assignment of the pod's skill. Returns its path.
async fn handed_over(client: &Client, prompt: &str) -> String {
    let input = json!({ "schemaVersion": 1, "prompt": prompt, "items": [] });
    let response = enqueue(client, "travel-plan", &input).await;
    assert_eq!(response.status, 202, "{}", response.text());
    format!("/api/assignments/{}", response.body["id"].as_str().expect("an id"))
}

async fn a_cancelled_assignment_ends_its_call_and_makes_room(database: TestDatabase) {
    let upstream = Fixed::with_json("{}").await;
    let setting =
        accepting(database, &upstream.endpoint).with("Operators__MaxConcurrentAssignments", 1);
    let (app, console, client) = granted(setting).await;
    let NewConnector { token, .. } = create_connector(&console, Some("travel-plan")).await;
    let mut pod = Pod::start(&app, &token, "json");
    pod.line_after("ready").await;
    let path = handed_over(&client, "Plan forever.").await;
    let call = pod.line_after("waits").await;

    assert_eq!(client.post(&format!("{path}/cancel"), &Value::Null).await.status, 204);
    let next_path = handed_over(&client, "Plan the move.").await;

    let cancelled = timeout(Duration::from_secs(5), pod.line_after("cancel")).await;
    assert_eq!(cancelled.expect("in time"), call);
    assert_eq!(wait_for_end(&client, &next_path).await["status"], "Completed");
    assert_eq!(client.get(&path).await.body["status"], "Cancelled");
    assert_eq!(pod_after(&console, 2).await["failures"], 1);
}

async fn a_terminated_assignment_ends_its_call(database: TestDatabase) {
    let upstream = Fixed::with_json("{}").await;
    let (app, console, client) = granted(accepting(database, &upstream.endpoint)).await;
    let NewConnector { token, .. } = create_connector(&console, Some("travel-plan")).await;
    let mut pod = Pod::start(&app, &token, "messagepack");
    pod.line_after("ready").await;
    let path = handed_over(&client, "Plan forever.").await;
    let call = pod.line_after("waits").await;

    let terminate = format!("/api/admin{}/terminate", path.trim_start_matches("/api"));
    let body = json!({ "reason": "Out of hours." });
    assert_eq!(console.write("POST", &terminate, body).await.status, 200);

    assert_eq!(pod.line_after("cancel").await, call);
    assert_eq!(wait_for_end(&client, &path).await["errorCode"], "operator_terminated");
}

async fn a_deleted_account_ends_its_calls(database: TestDatabase) {
    let upstream = Fixed::with_json("{}").await;
    let (app, console, client) = granted(accepting(database, &upstream.endpoint)).await;
    let NewConnector { token, .. } = create_connector(&console, Some("travel-plan")).await;
    let mut pod = Pod::start(&app, &token, "json");
    pod.line_after("ready").await;
    handed_over(&client, "Plan forever.").await;
    let call = pod.line_after("waits").await;

    let deletion = json!({ "confirm": "DELETE", "password": PASSWORD });
    assert_eq!(client.post("/auth/account/delete", &deletion).await.status, 200);

    assert_eq!(pod.line_after("cancel").await, call);
}
