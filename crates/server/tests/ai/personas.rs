//! Managed personas in chats.

use pia_server_testkit::ai_client::{CHAT, chat_request};
use pia_server_testkit::ai_peer::Fixed;
use pia_server_testkit::client::Client;
use pia_server_testkit::console::Console;
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use uuid::Uuid;

on_both_databases!(a_chat_follows_a_persona_of_the_callers_group_alone,);

const PERSONAS: &str = "/api/admin/managed-personas";
const DEFAULT_GROUP: &str = "00000000-0000-7000-8000-000000000001";
const ANSWER: &str = r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;

async fn write(console: &Console, method: &str, path: &str, body: Value) -> Value {
    let answer = console.write(method, path, body).await;
    assert!(answer.status < 300, "{}", answer.text());
    answer.body
}

/// Sends a chat with this persona and returns the messages that were sent
/// upstream.
async fn messages(client: &Client, upstream: &Fixed, persona: &str) -> Value {
    let headers = [("content-type", "application/json"), ("x-pia-persona", persona)];
    let request = chat_request("Hello").to_string();
    let answer = client.send("POST", CHAT, &headers, request.as_bytes()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let calls = upstream.calls();
    let body: Value = serde_json::from_str(&calls.last().expect("a call").text()).expect("JSON");
    body["messages"].clone()
}

async fn a_chat_follows_a_persona_of_the_callers_group_alone(database: TestDatabase) {
    let upstream = Fixed::with_json(ANSWER).await;
    let app = TestConfig::on(database)
        .with_upstream(&upstream.endpoint)
        .with("Admin:RequireSecondFactor", false)
        .start()
        .await;
    let ada = app.sign_up("ada@example.org").await;
    let console = Console::open(&app, "ada@example.org").await;
    let draft = json!({ "name": "Ada", "systemPrompt": "Be exact.", "guardrails": "No advice." });
    let created = write(&console, "POST", PERSONAS, draft.clone()).await;
    let id = created["id"].as_str().expect("an id");
    let groups = format!("{PERSONAS}/{id}/groups");
    let plain = messages(&ada, &upstream, "none").await;

    assert_eq!(messages(&ada, &upstream, id).await, plain);
    assert_eq!(messages(&ada, &upstream, &Uuid::now_v7().to_string()).await, plain);
    write(&console, "PUT", &groups, json!({ "groupIds": [DEFAULT_GROUP] })).await;
    let with_persona = messages(&ada, &upstream, id).await;
    let first = json!({ "role": "system", "content": "Be exact.\n\nNo advice." });
    assert_eq!(with_persona[0], first);
    assert_eq!(with_persona[1], plain[0]);

    let mut inactive = draft;
    inactive["isActive"] = json!(false);
    write(&console, "PUT", &format!("{PERSONAS}/{id}"), inactive).await;
    assert_eq!(messages(&ada, &upstream, id).await, plain);
}
