//! Pods from end to end, with the official SignalR client as a pod.

mod cancellation;

use std::process::Stdio;
use std::time::Duration;

use futures_util::future::join;
use pia_server_testkit::ai_peer::{Fixed, Peer, Request, read, response};
use pia_server_testkit::client::Client;
use pia_server_testkit::console::Console;
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::on_databases_with_roles;
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::assignments::{accepting, enqueue, granted, wait_for_end};

on_databases_with_roles!(
    a_chat_calls_the_tool_of_a_granted_pod,
    a_tool_that_fails_is_reported_to_the_model,
    a_revoked_token_disconnects_its_pod,
    a_call_is_lost_when_the_token_is_revoked,
    a_connected_pod_replaces_its_token,
    an_administrator_tries_a_tool_and_ends_the_pod,
    an_assignment_runs_on_a_pod,
);

const CONNECTORS: &str = "/api/admin/connectors";
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ai/pods/pod.mjs");
const TIMEOUT: Duration = Duration::from_secs(20);

/// Pod in a process of its own.
struct Pod {
    lines: Lines<BufReader<ChildStdout>>,
    _process: Child,
}

#[expect(clippy::disallowed_methods, reason = "a test asks the environment itself")]
fn variable(name: &str) -> String {
    std::env::var(name).expect("TEST_SIGNALR: run `cargo xtask test`, which installs the client")
}

impl Pod {
    fn start(app: &TestApp, token: &str, protocol: &str) -> Self {
        Self::start_with(app, token, &[("PROTOCOL", protocol)])
    }

    fn start_with(app: &TestApp, token: &str, variables: &[(&str, &str)]) -> Self {
        let mut process = Command::new("node")
            .arg(SCRIPT)
            .env_clear()
            .env("PATH", variable("PATH"))
            .env("SIGNALR_MODULES", variable("TEST_SIGNALR"))
            .env("HUB", format!("http://{}/hubs/pod-uplink", app.addr))
            .env("TOKEN", token)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("node");
        let stdout = process.stdout.take().expect("a pipe");
        Self { lines: BufReader::new(stdout).lines(), _process: process }
    }

    /// Waits for a line that begins like this, and returns the rest of it.
    async fn line_after(&mut self, beginning: &str) -> String {
        timeout(TIMEOUT, async {
            loop {
                let line = self.lines.next_line().await.expect("a pipe").expect("a line");
                if let Some(rest) = line.strip_prefix(beginning) {
                    return rest.trim().to_owned();
                }
            }
        })
        .await
        .unwrap_or_else(|_| panic!("no `{beginning}` in time"))
    }
}

/// Connector that was just created.
pub(crate) struct NewConnector {
    id: String,
    /// Token of its pods.
    token: String,
}

/// Creates a connector that is granted to everyone.
pub(crate) async fn create_connector(console: &Console, skill: Option<&str>) -> NewConnector {
    let group = console.get("/api/admin/groups").await.body[0]["id"].clone();
    let body = json!({ "name": "Weather", "groupIds": [group], "operatorSkill": skill });
    let creation_response = console.write("POST", CONNECTORS, body).await;
    assert_eq!(creation_response.status, 201, "{}", creation_response.text());
    assert!(creation_response.body["resolvedMemberCount"].as_i64().expect("a number") >= 2);
    let text = |name: &str| creation_response.body[name].as_str().expect("a text").to_owned();
    NewConnector { id: text("connectorId"), token: text("token") }
}

/// Answers the next call of the model. Returns the request.
async fn model_answers(upstream: &Peer, answer: Value) -> Value {
    let accepted = timeout(TIMEOUT, upstream.listener.accept()).await;
    let (mut socket, _) = accepted.expect("a call in time").expect("a connection");
    let Request { body, .. } = read(&mut socket).await.expect("a request");
    let answer = response("200 OK", "content-type: application/json\r\n", &answer.to_string());
    socket.write_all(answer.as_bytes()).await.expect("a reader");
    serde_json::from_slice(&body).expect("JSON")
}

fn calls(tool: &str, arguments: &str) -> Value {
    let function = json!({ "name": tool, "arguments": arguments });
    let call = json!({ "id": "call-1", "type": "function", "function": function });
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    json!({ "choices": [{ "message": message, "finish_reason": "tool_calls" }] })
}

fn text_answer(text: &str) -> Value {
    let message = json!({ "role": "assistant", "content": text });
    json!({ "choices": [{ "message": message, "finish_reason": "stop" }] })
}

/// Tools of a chat, as its model sees them.
pub(crate) struct ToolExchange {
    /// Names of the offered tools.
    pub(crate) tools: Vec<String>,
    /// Result of the called tool.
    pub(crate) result: String,
}

/// Lets a chat call a tool.
pub(crate) async fn chat(
    client: &Client,
    upstream: &Peer,
    tool: &str,
    arguments: &str,
) -> ToolExchange {
    let body = json!({ "messages": [{ "role": "user", "content": "Will it rain?" }] });
    let (answer, (offered, last)) = join(client.post("/api/ai/chat", &body), async {
        let offered = model_answers(upstream, calls(tool, arguments)).await;
        (offered, model_answers(upstream, text_answer("It rains.")).await)
    })
    .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.text().contains("It rains."), "{}", answer.text());

    let tools = offered["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|it| it["function"]["name"].as_str().expect("a name").to_owned())
        .collect();
    let result = last["messages"].as_array().expect("messages").last().expect("a message");
    assert_eq!(result["role"], "tool");
    ToolExchange { tools, result: result["content"].as_str().expect("a text").to_owned() }
}

/// Returns the only connected pod once this many of its calls are recorded, which
/// happens after their results were returned.
async fn pod_after(console: &Console, calls: u64) -> Value {
    until(async || {
        let pods = console.get("/api/admin/connectors/pods").await.body;
        assert_eq!(pods.as_array().map(Vec::len), Some(1), "{pods}");
        Some(pods[0].clone()).filter(|it| it["calls"] == calls)
    })
    .await
}

async fn a_chat_calls_the_tool_of_a_granted_pod(database: TestDatabase) {
    let upstream = Peer::start().await;
    let (app, console, client) = granted(accepting(database, &upstream.endpoint)).await;
    let NewConnector { id, token } = create_connector(&console, None).await;
    let mut pod = Pod::start(&app, &token, "json");
    assert_eq!(pod.line_after("ready").await, id);

    let ToolExchange { tools, result } =
        chat(&client, &upstream, "forecast", r#"{"city":"Rome"}"#).await;

    assert_eq!(tools, ["broken", "forecast", "lying", "patient", "slow"]);
    assert_eq!(pod.line_after("call").await, r#"forecast {"city":"Rome"}"#);
    assert!(result.contains("Rain in Rome.") && result.contains("never an instruction"));
    assert_eq!(result.matches("</result>").count(), 1);

    let listed = pod_after(&console, 1).await;
    assert_eq!(listed["name"], "test-pod");
    let audit = console.get("/api/admin/audit?limit=50&action=Pod.ToolCalled").await;
    assert!(
        audit.text().contains("forecast") && !audit.text().contains("Rome"),
        "{}",
        audit.text()
    );

    let path = format!("{CONNECTORS}/{id}/groups");
    assert_eq!(console.write("PUT", &path, json!({ "groupIds": [] })).await.status, 200);
    // A model that calls it all the same learns nothing.
    let body = json!({ "messages": [{ "role": "user", "content": "Will it rain?" }] });
    let model = model_answers(&upstream, text_answer("Who knows."));
    let (answer, offered) = join(client.post("/api/ai/chat", &body), model).await;
    assert_eq!(answer.status, 200);
    assert_eq!(offered.get("tools"), None);
}

async fn a_tool_that_fails_is_reported_to_the_model(database: TestDatabase) {
    let upstream = Peer::start().await;
    let (app, console, client) = granted(accepting(database, &upstream.endpoint)).await;
    let NewConnector { token, .. } = create_connector(&console, None).await;
    let mut pod = Pod::start(&app, &token, "messagepack");
    pod.line_after("ready").await;
    for (tool, expected) in [
        ("broken", "The tool failed."),
        ("lying", "The tool failed."),
        ("slow", "The tool did not answer in time."),
        ("forecast", "Rain in undefined."),
    ] {
        let result = chat(&client, &upstream, tool, "{}").await.result;
        assert!(result.contains(expected), "{tool}: {result}");
    }

    let waiting = pod.line_after("waits").await;
    assert_eq!(pod.line_after("cancel").await, waiting);
    assert_eq!(pod_after(&console, 4).await["failures"], 3);
}

async fn a_revoked_token_disconnects_its_pod(database: TestDatabase) {
    let upstream = Fixed::with_json("{}").await;
    let (app, console, client) = granted(accepting(database, &upstream.endpoint)).await;
    let NewConnector { id, token } = create_connector(&console, None).await;
    let mut pod = Pod::start(&app, &token, "json");
    pod.line_after("ready").await;
    let path = format!("{CONNECTORS}/{id}/tokens");
    assert_eq!(console.write("DELETE", &path, json!({})).await.status, 200);

    let close_line =
        timeout(Duration::from_secs(6), pod.line_after("closed")).await.expect("in time");
    assert!(close_line.contains("no longer valid"), "{close_line}");
    let mut refused_pod = Pod::start(&app, &token, "json");
    assert!(refused_pod.line_after("refused").await.contains("401"));

    let issue_response = console.write("POST", &path, json!({})).await;
    assert_eq!(issue_response.status, 201, "{}", issue_response.text());
    let token = issue_response.body["token"].as_str().expect("a token").to_owned();
    let mut reconnected_pod = Pod::start(&app, &token, "json");
    assert_eq!(reconnected_pod.line_after("ready").await, id);

    // Other credentials are none.
    let negotiate = "/hubs/pod-uplink/negotiate?negotiateVersion=1";
    assert_eq!(client.post(negotiate, &json!({})).await.refusal(), (401, "unauthorized"));

    let bearer = format!("Bearer {token}");
    let header = [("authorization", bearer.as_str())];
    let answer = app.anonymous().send("POST", negotiate, &header, b"").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.body["availableTransports"][0]["transport"], "WebSockets");

    let no_upgrade = app.anonymous().send("GET", "/hubs/pod-uplink", &header, b"").await;
    assert_eq!(no_upgrade.status, 404);
}

async fn a_call_is_lost_when_the_token_is_revoked(database: TestDatabase) {
    let upstream = Fixed::with_json("{}").await;
    let (app, console, _) = granted(accepting(database, &upstream.endpoint)).await;
    let NewConnector { id, token } = create_connector(&console, None).await;
    let mut pod = Pod::start(&app, &token, "json");
    pod.line_after("ready").await;
    let test = format!("{CONNECTORS}/{id}/test-call");
    let connectors = console.get(CONNECTORS).await.body;
    let connector = connectors.as_array().expect("a list").iter().find(|it| it["id"] == id);
    let token_id = connector.expect("the connector")["tokens"][0]["id"].as_str().expect("a token");
    let own_path = format!("{CONNECTORS}/{id}/tokens/{token_id}");
    let unknown_path = format!("{CONNECTORS}/{id}/tokens/{id}");
    assert_eq!(console.write("DELETE", &unknown_path, json!({})).await.status, 404);

    let body = json!({ "tool": "patient", "arguments": {} });
    let revoking = async {
        pod.line_after("waits").await;
        assert_eq!(console.write("DELETE", &own_path, json!({})).await.status, 200);
        pod.line_after("closed").await
    };
    let called = timeout(TIMEOUT, join(console.write("POST", &test, body), revoking)).await;
    let (answer, closed) = called.expect("in time");

    assert_eq!(answer.body["outcome"], "lost", "{}", answer.text());
    assert!(closed.contains("no longer valid"), "{closed}");
}

async fn a_connected_pod_replaces_its_token(database: TestDatabase) {
    let upstream = Fixed::with_json("{}").await;
    let (app, console, _) = granted(accepting(database, &upstream.endpoint)).await;
    let NewConnector { id, token: old } = create_connector(&console, None).await;
    let mut pod = Pod::start_with(&app, &old, &[("ROTATE", "1")]);
    let rotated = pod.line_after("rotated").await;
    let (token, is_later) = rotated.split_once(' ').expect("two words");
    assert!(token.starts_with("pia_pod_") && token != old && is_later == "true", "{rotated}");

    // Both are valid for a day.
    for token in [&old, token] {
        let mut other_pod = Pod::start(&app, token, "json");
        assert_eq!(other_pod.line_after("ready").await, id);
    }

    let audit = console.get("/api/admin/audit?limit=50&action=Connector.TokenRotated").await.text();
    assert!(audit.contains(&id) && !audit.contains(token), "{audit}");
    let path = format!("{CONNECTORS}/{id}/tokens");
    assert_eq!(console.write("DELETE", &path, json!({})).await.status, 200);
    assert!(pod.line_after("closed").await.contains("no longer valid"));
}

async fn an_administrator_tries_a_tool_and_ends_the_pod(database: TestDatabase) {
    let upstream = Fixed::with_json("{}").await;
    let (app, console, _) = granted(accepting(database, &upstream.endpoint)).await;
    let NewConnector { id, token } = create_connector(&console, None).await;
    let mut pod = Pod::start(&app, &token, "json");
    pod.line_after("ready").await;
    let path = format!("{CONNECTORS}/{id}/test-call");
    let call = async |tool: &str, arguments: Value| {
        let body = json!({ "tool": tool, "arguments": arguments });
        let response = console.write("POST", &path, body).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let text = |name: &str| response.body[name].as_str().expect("a text").to_owned();
        (text("outcome"), text("text"))
    };
    let tools = console.get(&format!("{CONNECTORS}/{id}/tools")).await.body;
    let tools = tools.as_array().expect("a list");
    let names: Vec<_> = tools.iter().map(|it| it["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["broken", "erase", "forecast", "lying", "patient", "slow"]);
    assert_eq!(tools[1]["isDangerous"], true);
    assert_eq!(tools[5]["timeoutSeconds"], 1);
    assert_eq!(tools[5]["isDangerous"], false);
    assert_eq!(tools[2]["parameters"]["type"], "object");
    let (outcome, text) = call("forecast", json!({ "city": "Rome" })).await;
    assert!(outcome == "completed" && text.contains("Rain in Rome."), "{outcome}: {text}");
    for (tool, arguments, expected) in [
        ("forecast", json!({ "city": 3 }), "invalid_arguments"),
        ("forecast", json!([]), "invalid_arguments"),
        ("unknown", json!({}), "not_granted"),
        ("broken", json!({}), "failed"),
        ("slow", json!({}), "timed_out"),
    ] {
        assert_eq!(call(tool, arguments).await.0, expected, "{tool}");
    }

    let pods = console.get("/api/admin/connectors/pods").await.body;
    let drain = |pod: &str| format!("{CONNECTORS}/pods/{pod}/drain");
    let unknown_path = drain("0199f0e0-0000-7000-8000-0000000000ff");
    assert_eq!(console.write("POST", &unknown_path, json!({})).await.status, 404);

    let own_path = drain(pods[0]["id"].as_str().expect("an id"));
    assert_eq!(console.write("POST", &own_path, json!({})).await.status, 200);
    let close_line =
        timeout(Duration::from_secs(6), pod.line_after("closed")).await.expect("in time");
    assert!(close_line.contains("An administrator has ended this pod."), "{close_line}");
}

async fn an_assignment_runs_on_a_pod(database: TestDatabase) {
    let upstream = Fixed::with_json("{}").await;
    let (app, console, client) = granted(accepting(database, &upstream.endpoint)).await;
    let NewConnector { token, .. } = create_connector(&console, Some("travel-plan")).await;
    let mut pod = Pod::start(&app, &token, "json");
    pod.line_after("ready").await;
    let skills = client.get("/api/assignments/skills").await.body;
    let skill = skills.as_array().expect("a list").iter().find(|it| it["name"] == "travel-plan");
    assert_eq!(skill.expect("the skill")["declaredInputTypes"], json!([]));

    let input = json!({ "schemaVersion": 1, "prompt": "Plan the move.", "items": [] });
    let response = enqueue(&client, "travel-plan", &input).await;
    assert_eq!(response.status, 202, "{}", response.text());

    let path = format!("/api/assignments/{}", response.body["id"].as_str().expect("an id"));
    let assignment = wait_for_end(&client, &path).await;
    assert_eq!(assignment["artifactText"], "# Plan\n\nMove on Friday.", "{assignment}");

    let events = assignment["events"].as_array().expect("a list");
    let progress = events.iter().find(|it| it["kind"] == "progress").expect("an event");
    assert_eq!(progress["message"], "Packing.");
    assert_eq!(pod.line_after("skill").await, "travel-plan");
    assert!(upstream.calls().is_empty());

    // A pod of the connector that does not advertise the skill.
    let (other, token) = {
        let group = console.get("/api/admin/groups").await.body[0]["id"].clone();
        let body = json!({ "name": "Other", "groupIds": [group], "operatorSkill": "unknown" });
        let created_body = console.write("POST", CONNECTORS, body).await.body;
        (
            created_body["connectorId"].clone(),
            created_body["token"].as_str().expect("a token").to_owned(),
        )
    };
    let mut pod = Pod::start(&app, &token, "json");
    assert_eq!(json!(pod.line_after("ready").await), other);

    let response = enqueue(&client, "unknown", &input).await;
    assert_eq!(response.status, 202, "{}", response.text());
    let path = format!("/api/assignments/{}", response.body["id"].as_str().expect("an id"));
    let failed = wait_for_end(&client, &path).await;
    assert_eq!(failed["errorCode"], "operator_pod_plane_mismatch", "{failed}");
}

/// The pod is connected to another instance than the one that the chat calls.
#[tokio::test(flavor = "multi_thread")]
async fn a_chat_calls_a_pod_of_another_instance() {
    let upstream = Peer::start().await;
    let database = TestDatabase::postgres().await;
    let (app, console, client) = granted(accepting(database, &upstream.endpoint)).await;
    let other_server = TestConfig::beside(&app).start().await;
    let NewConnector { id, token } = create_connector(&console, None).await;
    let mut pod = Pod::start(&other_server, &token, "json");
    assert_eq!(pod.line_after("ready").await, id);

    // An instance looks for pods of the others every second.
    let offered = until(async || {
        tokio::time::sleep(Duration::from_millis(400)).await;
        let body = json!({ "messages": [{ "role": "user", "content": "Will it rain?" }] });
        let model = model_answers(&upstream, text_answer("Who knows."));
        let (_, offered) = join(client.post("/api/ai/chat", &body), model).await;
        offered.get("tools").is_some().then_some(())
    });
    offered.await;

    let result = chat(&client, &upstream, "forecast", r#"{"city":"Rome"}"#).await.result;
    assert!(result.contains("Rain in Rome."), "{result}");
    let result = chat(&client, &upstream, "slow", "{}").await.result;
    assert!(result.contains("did not answer in time"), "{result}");
    pod.line_after("waits").await;

    let model = &upstream;
    let body = json!({ "messages": [{ "role": "user", "content": "Will it rain?" }] });
    let (answer, last) = join(client.post("/api/ai/chat", &body), async move {
        model_answers(model, calls("patient", "{}")).await;
        pod.line_after("waits").await;
        drop(pod);
        model_answers(model, text_answer("It is gone.")).await
    })
    .await;
    assert_eq!(answer.status, 200, "{}", answer.text());

    let result = last["messages"].as_array().expect("messages").last().expect("a result");
    assert_eq!(result["content"], "The tool did not answer.");
    until(async || {
        let pods = console.get("/api/admin/connectors/pods").await.body;
        (pods == json!([]) && app.count("pod_calls").await == 0).then_some(())
    })
    .await;

    // It comes back on the instance that calls it.
    let mut pod = Pod::start(&app, &token, "messagepack");
    assert_eq!(pod.line_after("ready").await, id);
    let result = chat(&client, &upstream, "forecast", r#"{"city":"Oslo"}"#).await.result;
    assert!(result.contains("Rain in Oslo."), "{result}");
}
