//! Limits and ends of assignments, and crashes of their server.

use std::time::Duration;

use pia_server_testkit::ai_peer::{Fixed, Peer, response};
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::engines::{over_each_engine, with_engine};
use super::{ANSWER, accepting, enqueue, envelope, granted, hand_over, kinds, wait_for_end};

over_each_engine!(
    a_cancelled_step_counts_as_abandoned,
    a_terminated_assignment_names_the_reason,
    a_user_has_as_many_unfinished_assignments_as_are_permitted,
    cancelled_steps_leave_room_for_other_users,
    a_failed_step_is_repeated_and_then_gives_up,
    the_token_ceiling_ends_a_run,
    switched_off_nothing_is_accepted_and_old_ones_are_read,
    another_instance_continues_what_a_stopped_one_left,
);

fn answered() -> String {
    response("200 OK", "Content-Type: application/json\r\n", ANSWER)
}

async fn a_cancelled_step_counts_as_abandoned(database: TestDatabase) {
    let upstream = Peer::start().await;
    let (_app, _, client) = granted(accepting(database, &upstream.endpoint)).await;
    let path = hand_over(&client, "brief").await;
    let mut call = upstream.call().await;

    assert_eq!(client.post(&format!("{path}/cancel"), &Value::Null).await.status, 204);
    assert_eq!(client.post(&format!("{path}/cancel"), &Value::Null).await.status, 404);
    call.write(answered()).await;

    let cancelled = until(async || {
        let assignment = client.get(&path).await.body;
        (assignment["tokensAbandoned"] != 0).then_some(assignment)
    })
    .await;
    assert_eq!(cancelled["status"], "Cancelled");
    assert_eq!(cancelled["tokensAbandoned"], 42);
    assert_eq!(kinds(&cancelled), ["queued", "started", "cancelled"]);
    assert_eq!(client.post(&format!("{path}/collect"), &Value::Null).await.status, 204);
}

async fn a_terminated_assignment_names_the_reason(database: TestDatabase) {
    let upstream = Peer::start().await;
    let (_app, console, client) = granted(accepting(database, &upstream.endpoint)).await;
    let path = hand_over(&client, "brief").await;
    let _call = upstream.call().await;
    assert_eq!(
        client.post(&format!("{path}/collect"), &Value::Null).await.refusal(),
        (409, "assignment_unfinished")
    );

    let terminate = format!("/api/admin{}/terminate", path.trim_start_matches("/api"));
    let terminated = console.write("POST", &terminate, json!({ "reason": "Out of hours." })).await;

    assert_eq!(terminated.body, json!({ "changed": true }));
    let assignment = client.get(&path).await.body;
    assert_eq!(assignment["status"], "Failed");
    assert_eq!(assignment["errorCode"], "operator_terminated");
    assert_eq!(assignment["errorMessage"], "Out of hours.");
    assert_eq!(kinds(&assignment), ["queued", "started", "terminated"]);
}

async fn a_user_has_as_many_unfinished_assignments_as_are_permitted(database: TestDatabase) {
    let upstream = Peer::start().await;
    let (_app, _, client) = granted(accepting(database, &upstream.endpoint)).await;
    let first = hand_over(&client, "brief").await;
    hand_over(&client, "brief").await;

    let response = enqueue(&client, "brief", &envelope("One more")).await;
    assert_eq!(response.refusal(), (429, "too_many_assignments"));
    assert_eq!(response.header("retry-after"), Some("5"));

    client.post(&format!("{first}/cancel"), &Value::Null).await;
    hand_over(&client, "brief").await;
}

async fn cancelled_steps_leave_room_for_other_users(database: TestDatabase) {
    let upstream = Peer::start().await;
    let (app, _, client) = granted(accepting(database, &upstream.endpoint)).await;
    let other_client = app.sign_up("other@example.com").await;
    let mut calls = Vec::new();
    for _ in 0..2 {
        let path = hand_over(&client, "research").await;
        calls.push(upstream.call().await);
        assert_eq!(client.post(&format!("{path}/cancel"), &Value::Null).await.status, 204);
    }

    // As many as the worker has left.
    let waiting_path = hand_over(&client, "research").await;
    hand_over(&client, "research").await;
    let other_path = hand_over(&other_client, "research").await;
    upstream.call().await.write(answered()).await;
    assert_eq!(wait_for_end(&other_client, &other_path).await["status"], "Completed");

    for mut call in calls {
        call.write(answered()).await;
        upstream.call().await.write(answered()).await;
    }
    assert_eq!(wait_for_end(&client, &waiting_path).await["status"], "Completed");
}

async fn a_failed_step_is_repeated_and_then_gives_up(database: TestDatabase) {
    let failing =
        Fixed::with_response(response("500 Internal Server Error", "Content-Length: 0\r\n", ""))
            .await;
    let setting = accepting(database, &failing.endpoint).with("Operators__MaxActivityAttempts", 2);
    let (_app, _, client) = granted(setting).await;

    let path = hand_over(&client, "research").await;
    let assignment = wait_for_end(&client, &path).await;

    assert_eq!(assignment["errorCode"], "operator_upstream_failed", "{assignment}");
    assert_eq!(kinds(&assignment), ["queued", "started", "failed"]);
    assert_eq!(failing.calls().len(), 2);
}

async fn the_token_ceiling_ends_a_run(database: TestDatabase) {
    let upstream = Fixed::with_json(&ANSWER.replace("40", "1400")).await;
    let setting =
        accepting(database, &upstream.endpoint).with("Operators__PerAssignmentTokenCeiling", 1000);
    let (_app, _, client) = granted(setting).await;

    let path = hand_over(&client, "brief").await;
    let assignment = wait_for_end(&client, &path).await;

    assert_eq!(assignment["errorCode"], "operator_token_ceiling_exceeded");
    assert_eq!(assignment["stepCount"], 1);
    assert_eq!(assignment["tokensSpent"], 1402);
    assert_eq!(upstream.calls().len(), 1);
}

async fn switched_off_nothing_is_accepted_and_old_ones_are_read(database: TestDatabase) {
    let upstream = Fixed::with_json(ANSWER).await;
    let (app, _, client) = granted(accepting(database, &upstream.endpoint)).await;
    let path = hand_over(&client, "research").await;
    wait_for_end(&client, &path).await;

    let off = TestConfig::beside(&app).start().await;

    let client = client.at(off.addr);
    let response = enqueue(&client, "research", &envelope("Hi")).await;
    assert_eq!(response.refusal(), (503, "assignments_disabled"));
    assert_eq!(client.get("/api/assignments/skills").await.body, json!([]));
    assert_eq!(client.get(&path).await.body["status"], "Completed");
}

async fn another_instance_continues_what_a_stopped_one_left(database: TestDatabase) {
    let silent = Peer::start().await;
    let (app, _, client) = granted(accepting(database, &silent.endpoint)).await;
    let path = hand_over(&client, "brief").await;
    let mut call = silent.call().await;
    call.write(answered()).await;
    let _second = silent.call().await;

    let upstream = Fixed::with_json(ANSWER).await;
    let other_server = with_engine(TestConfig::beside(&app), &app.database().url)
        .with_upstream(&upstream.endpoint)
        .start()
        .await;
    app.stop.cancel();

    let client = client.at(other_server.addr);
    let assignment = tokio::time::timeout(Duration::from_secs(20), wait_for_end(&client, &path))
        .await
        .expect("continued in time");
    assert_eq!(assignment["status"], "Completed", "{assignment}");
    assert_eq!(assignment["stepCount"], 3);
    assert_eq!(assignment["tokensSpent"], 126);
    assert_eq!(upstream.calls().len(), 2);
}
