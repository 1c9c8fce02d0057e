//! Descriptions that are not true.

use serde_json::{Value, json};

use crate::echo_pod;
use crate::raw_pod::{RawPod, description};
use crate::server::Server;

/// Returns the answer to the description of a pod that goes on.
async fn answer(server: &Server, description: Value) -> Value {
    let mut pod = RawPod::open(server.address, 1).await;
    pod.shake_hands("json", 1).await;
    let answer = pod.hello("lie", description).await;
    // It may correct itself.
    let corrected = pod.hello("correct", crate::raw_pod::description("raw", 1)).await;
    assert!(corrected["result"]["podId"].is_string(), "{corrected}");
    answer
}

#[actix_web::test]
async fn lies_in_a_description_are_refused_with_the_reason() {
    let server = Server::start();
    echo_pod::start(server.address, 2, "echo").await;
    let tool = description("raw", 1)["tools"][0].clone();
    let changed_description = |pointer: &str, value: Value| {
        let mut lie = description("raw", 1);
        *lie.pointer_mut(pointer).unwrap() = value;
        lie
    };
    for (description, reason) in [
        (changed_description("/protocol", json!(2)), "unsupported protocol"),
        (changed_description("/protocol", json!(u64::MAX)), "malformed"),
        (changed_description("/tools", json!([tool, tool])), "raw"),
        (changed_description("/tools", json!(vec![&tool; 101])), "at most 100"),
        (changed_description("/tools/0/timeoutSeconds", json!(0)), "timeoutSeconds"),
        (changed_description("/tools/0/timeoutSeconds", json!(601)), "timeoutSeconds"),
        (changed_description("/tools/0/name", json!("pia_search")), "pia_search"),
        (
            changed_description("/tools/0/parameters", json!({ "x": "y".repeat(32 * 1024) })),
            "parameters",
        ),
        (changed_description("/maxConcurrentCalls", json!(-1)), "malformed"),
        (json!(null), "malformed"),
        (json!([[]]), "malformed"),
    ] {
        let response = answer(&server, description).await;
        let error = response["error"].as_str().expect("an error");
        assert!(error.contains(reason), "{error}: no {reason}");
        server.assert_echo("echo").await;
    }
}

#[actix_web::test]
async fn a_hundred_tools_are_registered_if_they_fit_into_a_message() {
    let server = Server::start();
    let tools: Vec<_> = (0..100)
        .map(|number| {
            let mut tool = description(&format!("tool-{number}"), 600)["tools"][0].take();
            tool["description"] = json!("d".repeat(2000));
            tool
        })
        .collect();
    let mut large_description = description("raw", 1);
    large_description["tools"] = json!(tools);
    assert!(answer(&server, large_description.clone()).await["result"].is_object());

    large_description["tools"][0]["parameters"] = json!({ "x": "y".repeat(31 * 1024) });
    large_description["tools"][1]["parameters"] = json!({ "x": "y".repeat(31 * 1024) });
    let mut pod = RawPod::open(server.address, 1).await;
    pod.shake_hands("json", 1).await;
    pod.invoke("large", "Hello", vec![large_description]).await;
    assert!(pod.closed().await.expect("a close message")["error"].is_string());
}
