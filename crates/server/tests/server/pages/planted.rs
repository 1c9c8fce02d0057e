//! Rows of each kind that has a page.

use pia_kernel::{Clock as _, QueuedEmail, SystemClock};
use pia_server_testkit::ai_client::{CHAT, chat_request};
use pia_server_testkit::ai_peer::Fixed;
use pia_server_testkit::client::Client;
use pia_server_testkit::console::Console;
use pia_server_testkit::credentials::{create_api_key, create_app_password};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::machine::Machine;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use uuid::Uuid;

use super::signed_in::ADA;

const DEFAULT_GROUP: &str = "00000000-0000-7000-8000-000000000001";
const CERTIFICATE: &str = include_str!("../../../../authenticode/tests/data/rsa.pem");

/// Starts an upstream that answers with a text, also as the name of its model.
pub(super) async fn upstream(text: &str) -> Fixed {
    let message = json!({ "role": "assistant", "content": text });
    let answer = json!({
        "model": text,
        "choices": [{ "message": message, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 40, "completion_tokens": 2 },
    });
    Fixed::with_json(&answer.to_string()).await
}

/// Configures a server with everything that has pages.
pub(super) fn with_everything(database: TestDatabase, upstream: &Fixed) -> TestConfig {
    TestConfig::on(database)
        .with_mail()
        .with_upstream(&upstream.endpoint)
        .with("Knowledge__ConnectionString", "embedded:vectors")
        .with("Operators__Enabled", true)
        .with("Workflow__Address", "embedded")
}

/// Creates a row of each kind that has a page, with a text in each field that
/// takes one.
pub(super) async fn plant(app: &TestApp, text: &str) {
    let credentials = json!({ "email": ADA, "password": PASSWORD });
    let envelope = app.anonymous().post("/auth/login/local", &credentials).await;
    assert_eq!(envelope.status, 200, "{}", envelope.text());
    let ada = app.anonymous().with_tokens(&envelope.body);
    let console = Console::open(app, ADA).await;
    let email = QueuedEmail::new("invitation").with("link", "https://pia.example/");

    plant_own(&ada, text).await;
    plant_catalogue(&console, text).await;
    plant_knowledge(&console, &ada, text).await;
    plant_assignment(&console, &ada, text).await;
    let chat = ada.post(CHAT, &chat_request(text)).await;
    assert_eq!(chat.status, 200, "{}", chat.text());
    app.queue(email.to_address(SystemClock.now(), "eve@example.org")).await;
    plant_by_others(app, text).await;
}

/// Creates credentials, a device and a report of a user.
async fn plant_own(ada: &Client, text: &str) {
    create_api_key(ada, json!({ "name": text })).await;
    create_app_password(ada, text).await;
    let mut registration = Machine::new().registration();
    for field in ["deviceName", "osVersion", "appVersion"] {
        registration[field] = json!(text);
    }
    let registered = ada.post("/api/e2ee/devices/register", &registration).await;
    assert_eq!(registered.status, 200, "{}", registered.text());

    let mut report = json!({
        "schemaVersion": 1,
        "messageId": Uuid::now_v7(),
        "rating": "down",
        "comment": text,
        "answerText": text,
        "piiTokenized": false,
        "privacyConcern": true,
        "model": text,
        "answeredAt": "2026-08-01T09:14:02Z",
        "reportedAt": "2026-08-01T09:15:00Z",
        "appVersion": text,
        "locale": text,
    });
    report[text] = json!(text);
    let reported = ada.post("/api/ai-feedback", &report).await;
    assert_eq!(reported.status, 202, "{}", reported.text());
}

/// Creates a row by the JSON API.
async fn created(console: &Console, path: &str, body: Value) -> Value {
    let response = console.write("POST", path, body).await;
    assert_eq!(response.status, 201, "{path}: {}", response.text());
    response.body
}

/// Creates a group, what is assigned to groups, and a connector.
async fn plant_catalogue(console: &Console, text: &str) {
    let document = json!({ "enforce": { "theme": text } }).to_string();
    let configuration = json!({ "transport": "stdio", "command": text }).to_string();
    for (kind, body) in [
        ("groups", json!({ "name": text })),
        ("client-policies", json!({ "name": text, "document": document })),
        ("managed-personas", json!({ "name": text, "systemPrompt": text, "expertise": [text] })),
        ("plugins", json!({ "kind": "mcp_server", "name": text, "configJson": configuration })),
        ("certificates", json!({ "certificate": CERTIFICATE })),
        ("connectors", json!({ "name": text, "groupIds": [DEFAULT_GROUP] })),
    ] {
        created(console, &format!("/api/admin/{kind}"), body).await;
    }
}

/// Creates a knowledge base with a document.
async fn plant_knowledge(console: &Console, ada: &Client, text: &str) {
    let base = json!({ "name": text, "groupId": DEFAULT_GROUP });
    let base = created(console, "/api/admin/knowledge-bases", base).await;
    let id = base["id"].as_str().expect("an id");
    let document = json!({ "title": text, "contentType": "text/markdown", "content": text });
    let path = format!("/api/kb-manager/knowledge-bases/{id}/documents");
    let response = ada.post(&path, &document).await;
    assert_eq!(response.status, 202, "{}", response.text());
}

/// Hands an assignment to an operator, and stores a webhook of another one, which
/// is never called.
async fn plant_assignment(console: &Console, ada: &Client, text: &str) {
    let operators = console.get("/api/admin/operators").await.body;
    let operators = operators.as_array().expect("a list");
    let path = |operator: &Value| {
        format!("/api/admin/operators/{}", operator["id"].as_str().expect("an id"))
    };
    let brief = operators.iter().find(|it| it["name"] == "Brief").expect("an operator");
    let other = operators.iter().find(|it| it["name"] == "Research").expect("an operator");

    let groups = json!({ "groupIds": [DEFAULT_GROUP] });
    let granted = console.write("PUT", &format!("{}/groups", path(brief)), groups).await;
    assert_eq!(granted.status, 200, "{}", granted.text());
    let webhook = json!({ "url": format!("https://hooks.example/?{text}") });
    let response = console.write("PUT", &format!("{}/webhook", path(other)), webhook).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let input = json!({ "schemaVersion": 1, "prompt": text, "items": [] }).to_string();
    let assignment = json!({ "skillName": "brief", "inputJson": input });
    let accepted = ada.post("/api/assignments", &assignment).await;
    assert_eq!(accepted.status, 202, "{}", accepted.text());
}

/// Inserts what no call of an administrator creates: a pod that is connected to
/// the connector, an unanswered question of each group, and a passkey.
async fn plant_by_others(app: &TestApp, text: &str) {
    let tool = json!({
        "name": "forecast",
        "description": text,
        "parameters": { "type": "object", "title": text },
    });
    let pod = json!({
        "protocol": 1, "name": text, "version": text, "tools": [tool], "skills": ["travel-plan"],
    });
    let pod = quoted(&pod.to_string());
    let text = quoted(text);
    app.execute(&format!(
        "INSERT INTO connected_pods (id, connector_id, token_hash, host, connected_at, alive_until,
                 calls, failures, milliseconds, description, is_draining)
             SELECT connector_id, connector_id, hash, {text}, created_at, expires_at, 0, 0, 0, {pod},
                 FALSE FROM connector_tokens;
         INSERT INTO knowledge_questions
                 (id, group_id, question, seen_count, first_seen_at, last_seen_at)
             SELECT user_groups.id, user_groups.id, {text}, 1, connector_tokens.created_at,
                 connector_tokens.created_at FROM user_groups, connector_tokens;
         INSERT INTO passkeys (id, user_id, credential_id, name, credential, counter, created_at)
             SELECT accounts.id, accounts.id, hash, {text}, '{{}}', 0, connector_tokens.created_at
                 FROM accounts, connector_tokens WHERE email = '{ADA}'"
    ))
    .await;
}

/// Returns a text as a literal of SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
