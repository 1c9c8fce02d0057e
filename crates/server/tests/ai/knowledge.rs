//! Knowledge bases from end to end: documents in, answers out.

mod chats;
mod ingest;
mod managers;
mod matrix;
mod models;
mod operators;
mod unanswered;

use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

/// Key of the ingest API.
const KEY: &str = "kb-9f2c4e7a1b3d5f60";
const JSON: (&str, &str) = ("content-type", "application/json");

/// Configures a server with an embedded store and the local embedder.
fn knowing(database: TestDatabase) -> TestConfig {
    TestConfig::on(database)
        .with("Knowledge__ConnectionString", "embedded:vectors")
        .with("Knowledge__IngestApiKey", KEY)
}

/// Creates a base of a group and returns its id.
async fn create_base(app: &TestApp, name: &str, group: &str) -> String {
    let printed = app.admin(&format!("kb create {name} {group}")).await.expect("a base");
    printed.trim().rsplit(' ').next().expect("an id").to_owned()
}

/// Sends a request with the ingest key.
async fn service(app: &TestApp, method: &str, path: &str, body: &Value) -> TestResponse {
    let headers = [JSON, ("x-service-key", KEY)];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    app.anonymous().send(method, path, &headers, body.as_bytes()).await
}

/// Returns the path of a base's documents in the ingest API.
fn documents(base: &str) -> String {
    format!("/api/kb/{base}/documents")
}

/// Stores a text and waits until it was ingested. Returns its id.
async fn ingest(app: &TestApp, base: &str, title: &str, content: &str) -> String {
    let draft = json!({ "title": title, "contentType": "text/markdown", "content": content });
    let response = service(app, "POST", &documents(base), &draft).await;
    assert_eq!(response.status, 202, "{}", response.text());
    let id = response.body["documentId"].as_str().expect("an id").to_owned();
    wait_for_ingestion(app, base, &id).await;
    id
}

/// Waits until a document is ready or has failed, and returns it.
async fn wait_for_ingestion(app: &TestApp, base: &str, id: &str) -> Value {
    let path = format!("{}/{id}", documents(base));
    until(async || {
        let document = service(app, "GET", &path, &json!(null)).await.body;
        let status = document["status"].as_str().map(str::to_owned);
        matches!(status.as_deref(), Some("Ready" | "Failed")).then_some(document)
    })
    .await
}

/// Registers a manager of the default group.
async fn sign_up_manager(app: &TestApp, email: &str) -> Client {
    let client = app.sign_up(email).await;
    app.admin(&format!("grant {email} --role kb_manager")).await.expect("a role");
    client
}
