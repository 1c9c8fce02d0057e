//! Pod of `examples/pod-ts`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use pia_signalr::Reconnect;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::hub::{Event, Hub, TOKEN};
use crate::hub_connection::Command as HubCommand;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/pod-ts");

/// Digest of "abc", from the specification of SHA-256.
const DIGEST: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

#[expect(clippy::disallowed_methods, reason = "a test reads the environment itself")]
fn variable(name: &str) -> String {
    std::env::var(name).expect("TEST_POD_TS: run `cargo xtask test`, which installs the packages")
}

async fn output(child: Child) -> Output {
    let output = timeout(Duration::from_mins(1), child.wait_with_output()).await;
    output.expect("an end within a minute").expect("an exit status")
}

fn command(program: impl AsRef<Path>, folder: &TempDir) -> Command {
    let mut command = Command::new(program.as_ref());
    command
        .current_dir(folder)
        .env_clear()
        .env("PATH", variable("PATH"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// Type-checks and compiles the example in a folder of its own.
async fn compiled() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for file in ["package.json", "tsconfig.json", "pod.ts"] {
        fs::copy(Path::new(EXAMPLE).join(file), folder.path().join(file)).expect("a file");
    }
    let modules = Path::new(&variable("TEST_POD_TS")).join("node_modules");
    symlink(&modules, folder.path().join("node_modules")).expect("a link");
    let compiler = command(modules.join(".bin/tsc"), &folder).spawn().expect("the compiler");
    let compiled = output(compiler).await;
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stdout));
    folder
}

fn start(folder: &TempDir, hub: &Hub, token: &str) -> Child {
    let mut node = command("node", folder);
    node.arg("dist/pod.js").env("PIA_SERVER", hub.url()).env("PIA_POD_TOKEN", token);
    node.spawn().expect("Node.js")
}

#[actix_web::test]
async fn the_example_serves_its_tool_and_comes_back() {
    let folder = compiled().await;
    let mut hub = Hub::start();
    let child = start(&folder, &hub, TOKEN);
    let tool = hub.hello().await["tools"][0].clone();
    assert_eq!(tool["name"], "sha256");
    assert_eq!(tool["outputSchema"]["type"], "string");

    hub.call("call-1", "sha256", &json!({ "text": "abc" }));
    assert_eq!(hub.result().await, json!({ "content": DIGEST }));
    hub.call("call-2", "sha256", &json!({}));
    assert_eq!(hub.result().await["isError"], true);
    hub.command(HubCommand::Cut);
    assert_eq!(hub.next().await, Event::Gone);
    hub.hello().await;

    let pid = child.id().and_then(|it| Pid::from_raw(it.cast_signed())).expect("a process");
    kill_process(pid, Signal::TERM).expect("a running process");
    assert_eq!(hub.next().await, Event::Drain);
    assert_eq!(output(child).await.status.code(), Some(0));
}

#[actix_web::test]
async fn the_example_ends_when_its_token_is_refused_or_revoked() {
    let folder = compiled().await;
    let mut hub = Hub::start();

    let refused = output(start(&folder, &hub, "pia_pod_wrong")).await;
    let child = start(&folder, &hub, TOKEN);
    hub.hello().await;
    hub.command(HubCommand::Close(Reconnect::Denied));
    let revoked = output(child).await;

    for (ended, message) in [(refused, "the token is refused"), (revoked, "closed by the test")] {
        let written = String::from_utf8_lossy(&ended.stderr);
        assert!(written.contains(message), "{written}");
        assert_eq!(ended.status.code(), Some(1));
    }
}
