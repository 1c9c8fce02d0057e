//! Connections: their beginning, their loss and their end.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::Secret;
use pia_pod::{Pod, PodError, Tool};
use pia_signalr::{ConnectionSettings, Reconnect};
use serde_json::json;

use crate::hub::{Event, Hub, HubOptions};
use crate::hub_connection::Command;
use crate::running_pod::{RunningPod, pod};
use crate::tools::{Echo, Gated};

#[actix_web::test]
async fn a_hello_describes_the_pod() {
    let mut hub = Hub::start();
    let pod = pod(&hub).with_name("echoes").with_version("1.2.3").with_tool(Echo);
    let _pod = RunningPod::start(pod.with_max_concurrent_calls(3));

    let description = hub.hello().await;

    let expected = json!({
        "protocol": 1,
        "name": "echoes",
        "version": "1.2.3",
        "tools": [{
            "name": "echo",
            "description": "Echoes.",
            "parameters": { "type": "object" },
            "outputSchema": { "type": "object" },
            "dangerous": false,
            "idempotent": true,
        }],
        "skills": [],
        "maxConcurrentCalls": 3,
    });
    assert_eq!(description, expected);
}

#[actix_web::test]
async fn replaced_tools_are_described_on_the_same_connection() {
    let mut hub = Hub::start();
    let (tool, mut gate) = Gated::new();
    let pod = Arc::new(pod(&hub).with_tool(tool));
    let _pod = RunningPod::start(Arc::clone(&pod));
    hub.hello().await;
    hub.call("call-1", "gated", &json!({}));
    assert_eq!(gate.next().await, "started");

    pod.replace_tools([Arc::new(Echo) as Arc<dyn Tool>]);

    let description = hub.hello().await;
    assert_eq!(description["tools"].as_array().map(Vec::len), Some(1));
    hub.call("call-2", "echo", &json!({ "a": 1 }));
    assert_eq!(hub.result().await, json!({ "content": { "a": 1 } }));
    hub.call("call-3", "gated", &json!({}));
    assert_eq!(hub.result().await["isError"], true);
    gate.open();
    assert_eq!(hub.result().await, json!({ "content": "done" }));
}

#[actix_web::test]
async fn a_refused_token_ends_the_pod() {
    let hub = Hub::start();
    let pod = Pod::new(hub.url(), &Secret::new("pia_pod_wrong".to_owned())).expect("a pod");

    let ended = RunningPod::start(pod).ended().await;

    assert!(matches!(ended, Err(PodError::TokenRefused)), "{ended:?}");
}

#[actix_web::test]
async fn a_refused_hello_ends_the_pod() {
    let hub = Hub::with(HubOptions { refusal: Some("too many tools"), ..HubOptions::default() });

    let ended = RunningPod::start(pod(&hub)).ended().await;

    assert!(matches!(&ended, Err(PodError::HelloRefused(it)) if it == "too many tools"));
}

#[actix_web::test]
async fn a_pod_whose_connection_is_cut_comes_back() {
    let mut hub = Hub::start();
    let (_pod, mut gate) = RunningPod::connected(&mut hub).await;
    hub.call("call-1", "gated", &json!({ "stubborn": true }));
    assert_eq!(gate.next().await, "started");

    hub.command(Command::Cut);

    assert_eq!(hub.next().await, Event::Gone);
    assert_eq!(gate.next().await, "dropped");
    hub.hello().await;
    hub.call("call-2", "echo", &json!({ "a": 1 }));
    assert_eq!(hub.result().await, json!({ "content": { "a": 1 } }));
}

#[actix_web::test]
async fn a_pod_comes_back_after_a_restart_of_the_server() {
    let mut hub = Hub::start();
    let (_pod, _gate) = RunningPod::connected(&mut hub).await;

    hub.command(Command::Close(Reconnect::Allowed));

    assert_eq!(hub.next().await, Event::Gone);
    hub.hello().await;
}

#[actix_web::test]
async fn a_revoked_pod_does_not_come_back() {
    let mut hub = Hub::start();
    let (pod, _gate) = RunningPod::connected(&mut hub).await;

    hub.command(Command::Close(Reconnect::Denied));

    let ended = pod.ended().await;
    assert!(matches!(&ended, Err(PodError::Expelled(it)) if it == "closed by the test"));
}

#[actix_web::test]
async fn a_stopped_pod_ends_after_its_calls() {
    let mut hub = Hub::start();
    let (pod, mut gate) = RunningPod::connected(&mut hub).await;
    hub.call("call-1", "gated", &json!({}));
    assert_eq!(gate.next().await, "started");

    pod.stop();

    assert_eq!(hub.next().await, Event::Drain);
    // Answered behind the response to the drain.
    hub.call("call-2", "fly", &json!({}));
    assert_eq!(hub.result().await["isError"], true);
    gate.open();
    assert_eq!(hub.result().await, json!({ "content": "done" }));
    assert_eq!(hub.next().await, Event::Gone);
    assert!(pod.ended().await.is_ok());
}

#[actix_web::test]
async fn a_pod_without_a_server_can_be_stopped() {
    let pod = Pod::new("http://127.0.0.1:1", &Secret::new("pia_pod_x".to_owned())).expect("a pod");
    let pod = RunningPod::start(pod);

    pod.stop();

    assert!(pod.ended().await.is_ok());
}

#[actix_web::test]
async fn pings_keep_an_idle_pod_connected() {
    let client_timeout = Duration::from_secs(1);
    let settings = ConnectionSettings {
        keep_alive: Duration::from_millis(200),
        client_timeout,
        ..ConnectionSettings::default()
    };
    let mut hub = Hub::with(HubOptions { settings, ..HubOptions::default() });
    let pod = pod(&hub).with_keep_alive(Duration::from_millis(300));
    let _pod = RunningPod::start(pod);
    hub.hello().await;

    // For longer than the time after which the hub counts a pod as gone.
    for _ in 0..6 {
        assert_eq!(hub.next_or_ping().await, Event::Ping);
    }
}

#[actix_web::test]
async fn a_pod_leaves_a_server_that_is_silent() {
    let mut hub = Hub::start();
    let pod = pod(&hub).with_keep_alive(Duration::from_millis(300));
    let _pod = RunningPod::start(pod);
    hub.hello().await;

    assert_eq!(hub.next().await, Event::Gone);
    hub.hello().await;
}

#[test]
fn values_that_cannot_be_right_are_refused_at_once() {
    let token = Secret::new("pia_pod_x".to_owned());
    let broken = Secret::new("pia_pod_\n".to_owned());

    assert!(matches!(Pod::new("pia.example", &token), Err(PodError::Address(_))));
    assert!(matches!(Pod::new("https://pia.example", &broken), Err(PodError::MalformedToken)));
}
