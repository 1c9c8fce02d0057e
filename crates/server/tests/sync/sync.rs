//! Keeping devices in step, as the desktop client does it.

mod bad_input;
mod encrypted;
mod losing_nothing;
mod pulling;
mod pushing;
mod restored;
mod supporting;

use pia_server_testkit::client::{Answer, Client};
use serde_json::{Value, json};
use uuid::Uuid;

/// Watermark of a device that has nothing yet.
pub(crate) const NOTHING: &str = "0001-01-01T00:00:00.0000000Z";
/// The channels whose changes are `upserted`.
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

/// A todo that was changed at this second of a minute long ago.
pub(crate) fn todo(number: u128, second: u32, title: &str) -> Value {
    let at = format!("2026-03-01T10:00:{second:02}Z");
    json!({ "id": id(number), "title": title, "createdAt": at, "updatedAt": at, "sortOrder": 1 })
}

/// A push of these todos, as from a device that has seen nothing.
pub(crate) fn todos(items: &[Value]) -> Value {
    json!({
        "clientTimestamp": "2026-03-01T10:01:00Z",
        "lastSyncTimestamp": "0001-01-01T00:00:00",
        "isE2EEEncrypted": false,
        "todos": { "upserted": items, "deleted": [] },
    })
}

/// A push that is taken.
pub(crate) async fn push(client: &Client, body: &Value) -> Value {
    let answer = client.post("/api/sync/push", body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.body
}

pub(crate) async fn pull_with(client: &Client, since: &str, more: &str) -> Answer {
    client.get(&format!("/api/sync/pull?since={since}{more}")).await
}

pub(crate) async fn pull(client: &Client, since: &str) -> Value {
    let answer = pull_with(client, since, "&limit=500").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.body
}

/// After which stamp to ask next.
pub(crate) fn cursor(pulled: &Value) -> &str {
    pulled["serverTimestamp"].as_str().expect("a stamp")
}

/// The ids of all that a pull brings, and of all that it takes away.
pub(crate) fn moved(pulled: &Value) -> (Vec<String>, Vec<String>) {
    let (mut there, mut gone) = (Vec::new(), Vec::new());
    for (channel, part) in
        UPSERTED.map(|it| (it, "upserted")).into_iter().chain([("sessions", "added")])
    {
        let ids = |of: &Value| -> Vec<String> {
            let all = of.as_array().expect(channel).iter();
            all.map(|it| it["id"].as_str().or(it.as_str()).expect("an id").to_owned()).collect()
        };
        there.extend(ids(&pulled[channel][part]));
        gone.extend(ids(&pulled[channel]["deleted"]));
    }
    (there, gone)
}
