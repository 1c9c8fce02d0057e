//! Servers that do not keep to the protocol.

use std::time::Duration;

use pia_mcp_client::McpError;
use serde_json::{Map, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::script::Script;

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn another_call_s_result_is_none() {
    let (client, mut script) = Script::initialized().await;

    let calling = client.call("a", Map::new(), SHORT, CancellationToken::new());
    let (called, ()) = tokio::join!(calling, async {
        let mut request = script.receive().await;
        request["id"] = json!(4711);
        script.respond(&request, &json!({ "content": [] })).await;
        assert_eq!(script.receive().await["method"], "notifications/cancelled");
    });

    assert!(matches!(called, Err(McpError::TimedOut(SHORT))), "{called:?}");
}

#[tokio::test]
async fn a_line_that_is_too_long_is_skipped() {
    let (client, mut script) = Script::initialized().await;

    let calling = client.call("a", Map::new(), LONG, CancellationToken::new());
    let (called, ()) = tokio::join!(calling, async {
        let request = script.receive().await;
        script.send(&"x".repeat(10_000_000)).await;
        script.send("no JSON").await;
        let content = json!([{ "type": "text", "text": "done" }]);
        script.respond(&request, &json!({ "content": content })).await;
    });

    assert_eq!(called.expect("a result").content, "done");
}

#[tokio::test]
async fn the_end_of_the_connection_ends_calls() {
    let (client, mut script) = Script::initialized().await;

    let calling = client.call("a", Map::new(), LONG, CancellationToken::new());
    let (called, ()) = tokio::join!(calling, async move {
        script.receive().await;
    });

    assert!(matches!(called, Err(McpError::Closed)), "{called:?}");
    timeout(LONG, client.closed()).await.expect("an end");
}

#[tokio::test]
async fn errors_and_malformed_results_are_errors() {
    let (client, mut script) = Script::initialized().await;

    let (refused, ()) = tokio::join!(client.tools(), async {
        let id = script.receive().await["id"].clone();
        let error = json!({ "code": -32603, "message": "x".repeat(10_000) });
        script.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()).await;
    });
    let (malformed, ()) = tokio::join!(client.tools(), async {
        let request = script.receive().await;
        script.respond(&request, &json!({ "tools": [{ "name": "a" }] })).await;
    });

    assert!(matches!(&refused, Err(McpError::Refused(it)) if it.len() == 500), "{refused:?}");
    assert!(matches!(malformed, Err(McpError::Protocol(_))), "{malformed:?}");
}

#[tokio::test]
async fn a_server_that_floods_its_client_is_not_answered_forever() {
    let (client, mut script) = Script::initialized().await;
    for id in 0..1_000 {
        let ping = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
        script.send(&ping.to_string()).await;
        let logged = json!({ "level": "info", "data": "x" });
        let log = json!({
            "jsonrpc": "2.0", "method": "notifications/message", "params": logged,
        });
        script.send(&log.to_string()).await;
    }

    let calling = client.call("a", Map::new(), LONG, CancellationToken::new());
    let (called, ()) = tokio::join!(calling, async {
        let request = loop {
            let message = script.receive().await;
            if message["method"] == "tools/call" {
                break message;
            }
        };
        script.respond(&request, &json!({ "content": [] })).await;
    });

    assert_eq!(called.expect("a result").content, "");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_initialize_ends_the_attempt() {
    let (connecting, mut script) = Script::connecting();

    let (connected, ()) = tokio::join!(connecting, async {
        script.receive().await;
    });

    assert!(matches!(connected, Err(McpError::TimedOut(_))), "{connected:?}");
}

#[tokio::test]
async fn an_initialization_with_a_wrong_id_fails() {
    let (connecting, mut script) = Script::connecting();

    let (connected, ()) = tokio::join!(connecting, async {
        let mut request = script.receive().await;
        request["id"] = json!("other");
        script.respond(&request, &json!({})).await;
    });

    assert!(matches!(connected, Err(McpError::Protocol(_))), "{connected:?}");
}
