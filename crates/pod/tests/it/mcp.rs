//! Tools of MCP servers. Those of the tests are shell scripts, which read a line
//! for each message.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::process::Command;
use tokio::time::sleep;

use crate::hub::{Event, Hub, TOKEN};
use crate::program::{output, program};

/// Initialization, and a list of one tool. The ids of requests begin at 0.
const LISTED: &str = r#"
echo "token: $PIA_POD_TOKEN$PIA_POD_TOKEN_FILE." >&2
read -r initialize
echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"sh","version":"1"}}}'
read -r initialized
read -r list
echo '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"first","description":"One.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}}'
"#;

/// Returns the program with an MCP server that goes on with a script.
fn with_server(hub: &Hub, script: &str) -> Command {
    let mut program = program(hub);
    program.env("PIA_POD_TOKEN", TOKEN).env("PATH", "/usr/bin:/bin");
    program.args(["--name", "files", "--", "sh", "-c", &format!("{LISTED}{script}")]);
    program
}

#[actix_web::test]
async fn the_program_serves_the_tools_of_an_mcp_server() {
    let mut hub = Hub::start();
    let script = r#"
        read -r call
        echo '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"done"}]}}'
        read -r call
        echo '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"no"}],"isError":true}}'
        read -r end"#;
    let child = with_server(&hub, script).spawn().expect("the program");

    let description = hub.hello().await;
    let tool = json!({
        "name": "first", "description": "One.", "parameters": { "type": "object" },
        "dangerous": false, "idempotent": true,
    });
    assert_eq!(description["name"], "files");
    assert_eq!(description["tools"], json!([tool]));
    hub.call("call-1", "first", &json!({}));
    assert_eq!(hub.result().await, json!({ "content": "done" }));
    hub.call("call-2", "first", &json!({}));
    assert_eq!(hub.result().await, json!({ "content": "no", "isError": true }));

    let pid = child.id().and_then(|it| Pid::from_raw(it.cast_signed())).expect("a process");
    kill_process(pid, Signal::TERM).expect("a running process");
    assert_eq!(hub.next().await, Event::Drain);
    let output = output(child).await;
    assert_eq!(output.status.code(), Some(0));
    let error_output = String::from_utf8_lossy(&output.stderr);
    assert!(error_output.contains("token: ."), "{error_output}");
}

#[actix_web::test]
async fn announced_tools_replace_the_others() {
    let mut hub = Hub::start();
    let script = r#"
        echo '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
        read -r list
        echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"second","inputSchema":{"type":"object"}}]}}'
        read -r end"#;
    let _child = with_server(&hub, script).spawn().expect("the program");

    assert_eq!(hub.hello().await["tools"][0]["name"], "first");
    assert_eq!(hub.hello().await["tools"][0]["name"], "second");
}

#[actix_web::test]
async fn the_program_ends_with_its_mcp_server() {
    let mut hub = Hub::start();
    let child = with_server(&hub, "read -r call; sleep 0.1; exit 0").spawn().expect("the program");
    hub.hello().await;

    hub.call("call-1", "first", &json!({}));

    let content = "the MCP server closed the connection";
    let result = json!({ "content": content, "isError": true });
    let events = [hub.next().await, hub.next().await];
    for event in [Event::Drain, Event::Result(Ok(Some(result)))] {
        assert!(events.contains(&event), "{events:?}");
    }

    let output = output(child).await;
    assert_eq!(output.status.code(), Some(1));
    let error_output = String::from_utf8_lossy(&output.stderr);
    assert!(error_output.ends_with("pia-pod: the MCP server has ended\n"), "{error_output}");
}

#[actix_web::test]
async fn a_command_that_is_no_mcp_server_is_explained() {
    let hub = Hub::start();
    let mut program = program(&hub);
    program.env("PIA_POD_TOKEN", TOKEN).args(["--", "/no/such/command"]);

    let output = output(program.spawn().expect("the program")).await;

    assert_eq!(output.status.code(), Some(1));
    let error_output = String::from_utf8_lossy(&output.stderr);
    assert!(error_output.contains("could not be started"), "{error_output}");
}

#[actix_web::test]
async fn a_program_that_is_killed_leaves_no_server_behind() {
    let mut hub = Hub::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ended");
    let script = format!("while read -r message; do :; done; touch {}", file.display());
    let mut child = with_server(&hub, &script).stdin(Stdio::null()).spawn().expect("the program");
    hub.hello().await;

    child.kill().await.expect("a running process");

    for _ in 0..200 {
        if file.exists() {
            return;
        }
        sleep(Duration::from_millis(50)).await;
    }
    panic!("the server goes on");
}
