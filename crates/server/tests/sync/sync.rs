//! Tests of synchronisation, with requests of the desktop client.

mod bad_input;
mod encrypted;
mod losing_nothing;
mod pulling;
mod pushing;
mod restored;
mod supporting;

use pia_server_testkit::client::{Client, TestResponse};
use serde_json::{Value, json};
use uuid::Uuid;

/// Initial cursor of a device.
pub(crate) const NOTHING: &str = "0001-01-01T00:00:00.0000000Z";
/// Channels whose changes are `upserted`.
const UPSERTED: [&str; 8] = [
    "templates",
    "personas",
    "providers",
    "memories",
    "todos",
    "kanbanColumns",
    "scheduledJobs",
    "researchSessions",
];

pub(crate) fn id(number: u128) -> String {
    Uuid::from_u128(number).to_string()
}

/// Returns a to-do item that was changed at this second of a past minute.
pub(crate) fn todo(number: u128, second: u32, title: &str) -> Value {
    let at = format!("2026-03-01T10:00:{second:02}Z");
    json!({ "id": id(number), "title": title, "createdAt": at, "updatedAt": at, "sortOrder": 1 })
}

/// Returns a push of these to-do items, from a device without a cursor.
pub(crate) fn todos(items: &[Value]) -> Value {
    json!({
        "clientTimestamp": "2026-03-01T10:01:00Z",
        "lastSyncTimestamp": "0001-01-01T00:00:00",
        "isE2EEEncrypted": false,
        "todos": { "upserted": items, "deleted": [] },
    })
}

/// Pushes, asserting success.
pub(crate) async fn push(client: &Client, body: &Value) -> Value {
    let answer = client.post("/api/sync/push", body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.body
}

pub(crate) async fn pull_with(client: &Client, since: &str, more: &str) -> TestResponse {
    client.get(&format!("/api/sync/pull?since={since}{more}")).await
}

pub(crate) async fn pull(client: &Client, since: &str) -> Value {
    let answer = pull_with(client, since, "&limit=500").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.body
}

/// Returns the cursor of the next pull.
pub(crate) fn cursor(pulled: &Value) -> &str {
    pulled["serverTimestamp"].as_str().expect("a stamp")
}

/// Returns the ids of the added and of the deleted items of a pull.
pub(crate) fn changed_ids(pulled: &Value) -> (Vec<String>, Vec<String>) {
    let mut added = Vec::new();
    let mut deleted = Vec::new();
    for (channel, part) in
        UPSERTED.map(|it| (it, "upserted")).into_iter().chain([("sessions", "added")])
    {
        let ids = |of: &Value| -> Vec<String> {
            of.as_array()
                .expect(channel)
                .iter()
                .map(|it| it["id"].as_str().or(it.as_str()).expect("an id").to_owned())
                .collect()
        };
        added.extend(ids(&pulled[channel][part]));
        deleted.extend(ids(&pulled[channel]["deleted"]));
    }
    (added, deleted)
}
