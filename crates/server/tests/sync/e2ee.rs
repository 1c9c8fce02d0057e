//! Tests of devices with keys of encrypted accounts.

mod directory;
mod enabling;
mod joining;
mod proving;
mod recovering;
mod refusals;

use pia_server_testkit::client::Client;
use serde_json::Value;

/// Returns the state of the account's encryption.
async fn status(client: &Client) -> Value {
    let answer = client.get("/api/e2ee/status").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.body
}

/// Returns the status of a device: 0 pending, 1 active, 2 revoked.
async fn device_status(client: &Client, device: &str) -> Value {
    let answer = client.get(&format!("/api/e2ee/devices/{device}/status")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.body["isApproved"], answer.body["status"] == 1);
    answer.body["status"].clone()
}
