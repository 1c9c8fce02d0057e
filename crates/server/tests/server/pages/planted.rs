//! Rows of each kind that has a page.

use pia_kernel::{Clock as _, QueuedEmail, SystemClock};
use pia_server_testkit::ai_client::{CHAT, chat_request};
use pia_server_testkit::ai_peer::Fixed;
use pia_server_testkit::client::Client;
use pia_server_testkit::console::{Console, scim_client};
use pia_server_testkit::credentials::{create_api_key, create_app_password};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::machine::Machine;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use uuid::Uuid;

use super::visitor::ADA;

const DEFAULT_GROUP: &str = "00000000-0000-7000-8000-000000000001";
/// Address of the account that an identity provider creates.
const PROVISIONED: &str = "grace@example.org";
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
    plant_provisioned(app, &console, text).await;
    plant_failures(app, text).await;
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
async fn create(console: &Console, path: &str, body: Value) -> Value {
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
        create(console, &format!("/api/admin/{kind}"), body).await;
    }
}

/// Creates a knowledge base with a document.
async fn plant_knowledge(console: &Console, ada: &Client, text: &str) {
    let base = json!({ "name": text, "groupId": DEFAULT_GROUP });
    let base = create(console, "/api/admin/knowledge-bases", base).await;
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

/// Creates a user as an identity provider does.
async fn plant_provisioned(app: &TestApp, console: &Console, text: &str) {
    let provider = scim_client(app, console).await;
    let user = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
        "userName": PROVISIONED,
        "displayName": text,
        "name": { "givenName": text, "familyName": text },
        "externalId": text,
        "active": true,
    });
    let headers = [("content-type", "application/scim+json"), ("accept", "application/scim+json")];
    let body = user.to_string();
    let created = provider.send("POST", "/scim/v2/Users", &headers, body.as_bytes()).await;
    assert_eq!(created.status, 201, "{}", created.text());
}

/// Inserts an email, a delivery of a webhook and a document that failed, with the
/// reasons that other systems reported. Their ids are that of the newest account, so
/// that lists of pages begin with the other rows.
async fn plant_failures(app: &TestApp, text: &str) {
    let text = quoted(text);
    app.execute(&format!(
        "INSERT INTO mails (id, letter, queued_at, due_at, tries, failed_at, failure)
             SELECT id, 'invitation', created_at, created_at, 1, created_at, {text} FROM accounts
                 WHERE email = '{PROVISIONED}';
         INSERT INTO webhook_deliveries
                 (id, user_id, operator_id, created_at, attempts, failure, payload)
             SELECT accounts.id, accounts.id, operators.id, created_at, 3, {text}, {text}
                 FROM accounts, operators
                 WHERE email = '{PROVISIONED}' AND webhook_url IS NOT NULL;
         INSERT INTO knowledge_documents
                 (id, base_id, title, content_type, content_hash, size_bytes, status, error,
                 chunk_count, tokens, new_chunks, new_embedded, is_held, reserved_tokens, failures,
                 fence, retrieval_count, created_at, updated_at)
             SELECT accounts.id, base_id, {text}, content_type, hash, size_bytes, 'Failed', {text},
                 0, 0, 0, 0, FALSE, 0, 1, 0, 0, accounts.created_at, accounts.created_at
                 FROM accounts, knowledge_documents, connector_tokens
                 WHERE email = '{PROVISIONED}';
         INSERT INTO knowledge_files (document_id, content)
             SELECT id, content FROM accounts, knowledge_files WHERE email = '{PROVISIONED}'"
    ))
    .await;
}

/// Returns a text as a literal of SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
