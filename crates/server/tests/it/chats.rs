//! Stored chats.

mod bodies;
mod documents;
mod encrypted;
mod hosted;
mod kept;
mod lists;
mod memory;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use diesel_async::SimpleAsyncConnection;
use pia_storage::{Conn, Database, DatabaseOptions};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::client::{Answer, Client};
use crate::harness::TestApp;

const CHATS: &str = "/api/v1/chats";
const JSON: (&str, &str) = ("content-type", "application/json");

fn new_id() -> String {
    Uuid::now_v7().to_string()
}

/// A chat with one message, changed then.
pub(crate) fn chat(id: &str, updated_at: &str) -> Value {
    json!({
        "id": id,
        "schemaVersion": 1,
        "title": "A title",
        "createdAt": "2026-01-01T00:00:00Z",
        "updatedAt": updated_at,
        "lastAccessedAt": "2026-01-02T00:00:00Z",
        "windowMode": "Assistant",
        "messages": [{
            "id": new_id(), "role": "user", "content": "Hello", "timestamp": updated_at,
            "isProtectedRoute": false,
        }],
    })
}

/// Returns an encrypted chat, for its owner's devices alone.
fn encrypted(id: &str, updated_at: &str) -> Value {
    let mut chat = chat(id, updated_at);
    chat["encryptedPayload"] = STANDARD.encode([0xfb; 200]).into();
    chat["wrappedDek"] = STANDARD.encode([0xfb; 60]).into();
    chat["messages"] = json!([]);
    chat
}

async fn put_text(client: &Client, id: &str, document: &str) -> Answer {
    client.send("PUT", &format!("{CHATS}/{id}"), &[JSON], document.as_bytes()).await
}

pub(crate) async fn put(client: &Client, chat: &Value) -> Answer {
    put_text(client, chat["id"].as_str().expect("an id"), &chat.to_string()).await
}

async fn get(client: &Client, id: &str) -> Answer {
    client.get(&format!("{CHATS}/{id}")).await
}

pub(crate) async fn delete(client: &Client, id: &str) -> Answer {
    client.send("DELETE", &format!("{CHATS}/{id}"), &[], b"").await
}

/// A chat of somebody's; its id.
pub(crate) async fn stored(client: &Client) -> String {
    let id = new_id();
    let answer = put(client, &chat(&id, "2026-08-01T09:14:02Z")).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    id
}

/// The fields that a chat is refused for.
fn fields(answer: &Answer) -> Vec<&str> {
    let errors = answer.body["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    errors.iter().filter_map(|it| it["field"].as_str()).collect()
}

/// The ids of a list, in its order.
fn ids(list: &Value) -> Vec<String> {
    let chats = list.as_array().expect("a list");
    let id = |it: &Value| it.as_str().or(it["id"].as_str()).map(str::to_owned);
    chats.iter().map(|it| id(it).expect("an id")).collect()
}

async fn execute(app: &TestApp, sql: &str) {
    let db =
        Database::open(&app.database().target(), DatabaseOptions::default()).expect("a database");
    let done = match db.writer().await.expect("a connection") {
        Conn::Sqlite(mut conn) => conn.batch_execute(sql).await,
        Conn::Postgres(mut conn) => conn.batch_execute(sql).await,
    };
    done.unwrap_or_else(|err| panic!("{sql}: {err}"));
}

/// Everybody who has ever stored anything has an encrypted account from now on.
async fn encrypt(app: &TestApp) {
    execute(app, "UPDATE ledgers SET encrypted_at = last_stamp").await;
}
