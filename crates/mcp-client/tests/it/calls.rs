//! Lists of tools, and their calls.

use std::time::Duration;

use pia_mcp_client::{McpError, McpResult};
use serde_json::json;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::server::{ServerHandle, arguments};

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn the_list_has_the_tools_of_all_pages_up_to_a_hundred() {
    let three_tools = ServerHandle::start(3).await.client.tools().await.expect("tools");
    let limited_tools = ServerHandle::start(1_000).await.client.tools().await.expect("tools");

    let names: Vec<_> = three_tools.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["tool-0", "tool-1", "tool-2"]);
    assert_eq!(limited_tools.len(), 100);
}

#[tokio::test]
async fn calls_have_results() {
    let server = ServerHandle::start(1).await;
    let token = CancellationToken::new();

    let fail_result = server.client.call("fail", arguments(json!({})), LONG, token.clone()).await;
    let change_result = server.client.call("change", arguments(json!({})), LONG, token).await;

    let expected = McpResult { content: json!("it failed"), is_error: true };
    assert_eq!(fail_result.expect("a result"), expected);
    let expected = McpResult { content: json!({ "changed": true }), is_error: false };
    assert_eq!(change_result.expect("a result"), expected);
    timeout(LONG, server.client.tools_changed()).await.expect("an announcement");
    assert_eq!(server.client.tools().await.expect("tools").len(), 2);
}

#[tokio::test]
async fn the_server_learns_of_the_end_of_a_call() {
    let mut server = ServerHandle::start(1).await;
    let token = CancellationToken::new();
    let short = Duration::from_millis(200);

    let late = server.client.call("wait", arguments(json!({})), short, token.clone()).await;
    assert!(matches!(late, Err(McpError::TimedOut(it)) if it == short), "{late:?}");
    assert_eq!([server.next().await, server.next().await], ["started", "cancelled"]);

    let cancelling = token.clone();
    let calling = server.client.call("wait", arguments(json!({})), LONG, token);
    let (cancelled, ()) = tokio::join!(calling, async {
        tokio::time::sleep(short).await;
        cancelling.cancel();
    });
    assert!(matches!(cancelled, Err(McpError::Cancelled)), "{cancelled:?}");
    assert_eq!([server.next().await, server.next().await], ["started", "cancelled"]);
}

#[tokio::test]
async fn requests_of_the_server_are_refused() {
    let server = ServerHandle::start(1).await;

    let token = CancellationToken::new();
    let ask_result = server.client.call("ask", arguments(json!({})), LONG, token).await;

    let content = ask_result.expect("a result").content;
    assert_eq!(content, "Mcp error: -32601: not supported");
}
