//! Chats that tests store, and requests for them.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::client::{Client, TestResponse};

/// Path of all chats.
pub const CHATS: &str = "/api/v1/chats";
const JSON: (&str, &str) = ("content-type", "application/json");

/// Generates the id of a new chat.
pub fn new_id() -> String {
    Uuid::now_v7().to_string()
}

/// Returns a chat with one message.
pub fn chat(id: &str, updated_at: &str) -> Value {
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

/// Stores a text as a chat, which need not be valid.
pub async fn put_text(client: &Client, id: &str, document: &str) -> TestResponse {
    client.send("PUT", &format!("{CHATS}/{id}"), &[JSON], document.as_bytes()).await
}

/// Stores a chat under its own id.
pub async fn put(client: &Client, chat: &Value) -> TestResponse {
    put_text(client, chat["id"].as_str().expect("an id"), &chat.to_string()).await
}

/// Stores a new chat and returns its id.
pub async fn create_chat(client: &Client) -> String {
    let id = new_id();
    let response = put(client, &chat(&id, "2026-08-01T09:14:02Z")).await;
    assert_eq!(response.status, 201, "{}", response.text());
    id
}

/// Deletes a chat, which leaves a tombstone.
pub async fn delete(client: &Client, id: &str) -> TestResponse {
    client.send("DELETE", &format!("{CHATS}/{id}"), &[], b"").await
}
