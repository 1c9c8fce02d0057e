//! Tests of calls of tools.

use serde_json::json;

use crate::hub::{Event, Hub};
use crate::hub_connection::Command;
use crate::running_pod::{RunningPod, pod};
use crate::tools::{Echo, Gated};

#[actix_web::test]
async fn a_call_returns_the_value_of_the_tool() {
    let mut hub = Hub::start();
    let (_pod, _gate) = RunningPod::connected(&mut hub).await;

    hub.call("call-1", "echo", &json!({ "text": "Grüße\u{1e}" }));

    assert_eq!(hub.result().await, json!({ "content": { "text": "Grüße\u{1e}" } }));
}

#[actix_web::test]
async fn failures_of_a_tool_are_results_for_the_model() {
    let mut hub = Hub::start();
    let (_pod, _gate) = RunningPod::connected(&mut hub).await;

    for (failure, content) in [
        ("error", "it failed"),
        ("panic", "the tool failed"),
        ("large", "the result is too large: 300014 of 204800 bytes"),
    ] {
        hub.call("call-1", "echo", &json!({ "fail": failure }));
        assert_eq!(hub.result().await, json!({ "content": content, "isError": true }));
    }
}

#[actix_web::test]
async fn an_unknown_tool_is_an_error() {
    let mut hub = Hub::start();
    let (_pod, _gate) = RunningPod::connected(&mut hub).await;

    hub.call("call-1", "fly", &json!({}));

    let content = "the pod has no tool fly";
    assert_eq!(hub.result().await, json!({ "content": content, "isError": true }));
}

#[actix_web::test]
async fn invocations_that_the_pod_does_not_understand_fail() {
    let mut hub = Hub::start();
    let (_pod, _gate) = RunningPod::connected(&mut hub).await;

    hub.invoke("Call", json!({ "tool": "echo" }));
    let malformed = hub.next().await;
    hub.invoke("RunSkill", json!({ "callId": "call-1", "skill": "report" }));
    let skill = hub.next().await;
    hub.invoke("Fly", json!({}));
    let unknown = hub.next().await;

    let error = "the call is malformed: missing field `callId`".to_owned();
    assert!(matches!(malformed, Event::Result(Err(it)) if it == error));
    let error = "the call is malformed: missing field `material`".to_owned();
    assert!(matches!(skill, Event::Result(Err(it)) if it == error));
    let error = "the pod has no method Fly".to_owned();
    assert!(matches!(unknown, Event::Result(Err(it)) if it == error));
}

#[actix_web::test]
async fn a_cancellation_reaches_the_tool() {
    let mut hub = Hub::start();
    let (_pod, mut gate) = RunningPod::connected(&mut hub).await;
    hub.call("call-1", "gated", &json!({}));
    assert_eq!(gate.next().await, "started");

    hub.command(Command::Cancel("another"));
    hub.command(Command::Cancel("call-1"));

    assert_eq!(gate.next().await, "cancelled");
    assert_eq!(hub.result().await["isError"], true);
}

#[actix_web::test]
async fn a_tool_that_ignores_its_cancellation_is_dropped() {
    let mut hub = Hub::start();
    let (_pod, mut gate) = RunningPod::connected(&mut hub).await;
    hub.call("call-1", "gated", &json!({ "stubborn": true }));
    assert_eq!(gate.next().await, "started");

    hub.command(Command::Cancel("call-1"));

    assert_eq!(gate.next().await, "dropped");
    let content = "the call was cancelled";
    assert_eq!(hub.result().await, json!({ "content": content, "isError": true }));
}

#[actix_web::test]
async fn a_call_ends_at_its_time_limit() {
    let mut hub = Hub::start();
    let (_pod, mut gate) = RunningPod::connected(&mut hub).await;

    hub.invoke(
        "Call",
        json!({
            "callId": "call-1",
            "tool": "gated",
            "arguments": { "stubborn": true },
            "timeoutSeconds": 1,
        }),
    );

    assert_eq!(gate.next().await, "started");
    assert_eq!(gate.next().await, "dropped");
    let content = "the call took longer than 1 s";
    assert_eq!(hub.result().await, json!({ "content": content, "isError": true }));
}

#[actix_web::test]
async fn calls_over_the_limit_wait_for_others() {
    let mut hub = Hub::start();
    let (tool, mut gate) = Gated::new();
    let pod = pod(&hub).with_max_concurrent_calls(2).with_tool(tool).with_tool(Echo);
    let _pod = RunningPod::start(pod);
    assert_eq!(hub.hello().await["maxConcurrentCalls"], 2);

    for call_id in ["call-1", "call-2", "call-3", "call-4"] {
        hub.call(call_id, "gated", &json!({}));
    }
    assert_eq!([gate.next().await, gate.next().await], ["started"; 2]);
    // Answered behind the calls that were sent before it.
    hub.call("call-5", "fly", &json!({}));
    assert_eq!(hub.result().await["isError"], true);
    assert!(gate.is_silent(), "a third call has started");

    hub.command(Command::Cancel("call-4"));
    assert_eq!(hub.result().await["content"], "the call was cancelled");
    gate.open();
    assert_eq!(hub.result().await, json!({ "content": "done" }));
    assert_eq!(gate.next().await, "started");

    gate.open();
    gate.open();
    assert_eq!(hub.result().await, json!({ "content": "done" }));
    assert_eq!(hub.result().await, json!({ "content": "done" }));
    assert!(gate.is_silent(), "the call that was cancelled has started");
}
