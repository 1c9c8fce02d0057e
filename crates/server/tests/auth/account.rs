//! Exporting and deleting accounts.

mod delete;
mod export;

use pia_server_testkit::harness::TestApp;

use super::*;

const EXPORT: &str = "/auth/account/export";
const DELETE: &str = "/auth/account/delete";

async fn execute(app: &TestApp, sql: &str) {
    app.execute(sql).await;
}

async fn delete_account(client: &Client, password: &str) -> TestResponse {
    client.post(DELETE, &json!({ "confirm": "DELETE", "password": password })).await
}
