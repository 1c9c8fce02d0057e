//! Servers that are child processes.

use std::time::Duration;

use pia_mcp_client::{McpClient, McpError};
use serde_json::Map;
use tokio::process::Command;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Initialization of a server in a shell. The id of the first request is 0.
const INITIALIZED: &str = r#"
read -r request
echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}}'
read -r notification
"#;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{INITIALIZED}{script}")]);
    command
}

async fn call(client: &McpClient) -> Result<String, McpError> {
    let limit = Duration::from_secs(20);
    let token = CancellationToken::new();
    Ok(client.call("a", Map::new(), limit, token).await?.content.to_string())
}

#[tokio::test]
async fn a_child_serves_calls() {
    let script = r#"
        read -r request
        echo '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}'
        read -r end"#;
    let client = McpClient::spawn(shell(script)).await.expect("a client");

    assert_eq!(call(&client).await.expect("a result"), "\"done\"");
    client.close().await;
}

#[tokio::test]
async fn a_child_that_exits_during_a_call_ends_it() {
    let client = McpClient::spawn(shell("read -r request; exit 3")).await.expect("a client");

    let outcome = call(&client).await;

    assert!(matches!(outcome, Err(McpError::Closed)), "{outcome:?}");
    timeout(Duration::from_secs(20), client.closed()).await.expect("an end");
}

#[tokio::test]
async fn a_line_without_an_end_does_not_fill_the_memory() {
    let script = "read -r request; yes | tr -d '\\n'";
    let client = McpClient::spawn(shell(script)).await.expect("a client");
    let limit = Duration::from_secs(1);
    let token = CancellationToken::new();

    let outcome = client.call("a", Map::new(), limit, token).await;

    assert!(matches!(outcome, Err(McpError::TimedOut(_))), "{outcome:?}");
    assert!(resident_kib() < 200_000, "{} KiB", resident_kib());
}

/// Returns the memory of the test, in KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|it| it.starts_with("VmRSS:")).expect("the memory");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

#[tokio::test]
async fn a_child_that_does_not_read_blocks_nothing() {
    let client = McpClient::spawn(shell("exec sleep 1000")).await.expect("a client");
    let limit = Duration::from_millis(300);
    let token = CancellationToken::new();
    let mut arguments = Map::new();
    arguments.insert("text".to_owned(), "x".repeat(1_000_000).into());

    let outcome = client.call("a", arguments, limit, token).await;

    assert!(matches!(outcome, Err(McpError::TimedOut(_))), "{outcome:?}");
    timeout(Duration::from_secs(4), client.close()).await.expect("an end");
}

#[tokio::test]
async fn commands_that_are_no_servers_fail() {
    let missing = McpClient::spawn(Command::new("/no/such/command")).await;
    let mut command = Command::new("sh");
    command.args(["-c", "exit 0"]);
    let ended = McpClient::spawn(command).await;

    assert!(matches!(missing, Err(McpError::Start(_))), "{missing:?}");
    assert!(ended.is_err(), "{ended:?}");
}

/// Waits until a process has ended, which is then not listed any more.
async fn gone(pid: &str) {
    let status = format!("/proc/{pid}/stat");
    let is_running = || std::fs::read_to_string(&status).is_ok_and(|it| !it.contains(") Z "));
    timeout(Duration::from_secs(20), async {
        while is_running() {
            sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .expect("an end within twenty seconds");
}

#[tokio::test]
async fn a_dropped_client_kills_the_child_and_its_children() {
    let folder = std::env::temp_dir().join(format!("pia-mcp-client-{}", std::process::id()));
    let script = format!(
        "sleep 1000 & echo $$ $! > {0}.new; mv {0}.new {0}; trap '' TERM; while :; do sleep 1000; done",
        folder.display()
    );
    let client = McpClient::spawn(shell(&script)).await.expect("a client");
    let pids = loop {
        match std::fs::read_to_string(&folder) {
            Ok(pids) => break pids,
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    };

    drop(client);

    for pid in pids.split_whitespace() {
        gone(pid).await;
    }
    std::fs::remove_file(&folder).expect("a file");
}
