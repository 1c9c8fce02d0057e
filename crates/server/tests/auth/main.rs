//! Accounts, sign-ins and sessions.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod account;
mod account_security;
mod addresses;
mod api_keys;
mod app_passwords;
mod audit;
mod console;
mod deactivated;
mod declaration;
mod desktop;
mod devices;
mod factors;
mod guessing;
mod history;
mod hosted;
mod instances;
mod invitations;
mod passkeys;
mod passwords;
mod providers;
mod registration;
mod sessions;
mod sign_in;
mod tokens;
mod traces;
mod verification;

use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::harness::PASSWORD;
use serde_json::{Value, json};

async fn sign_in(client: &Client, email: &str, password: &str) -> TestResponse {
    let credentials = json!({ "email": email, "password": password });
    client.post("/auth/login/local", &credentials).await
}

async fn refresh(client: &Client, token: &str) -> TestResponse {
    client.post("/auth/refresh", &json!({ "refreshToken": token })).await
}

async fn log_out(client: &Client, token: &str) -> TestResponse {
    client.post("/auth/logout", &json!({ "refreshToken": token })).await
}

/// Starts a new session of an existing account.
async fn another_session(client: &Client, email: &str) -> Client {
    let envelope = sign_in(client, email, PASSWORD).await;
    assert_eq!(envelope.status, 200, "{}", envelope.text());
    client.clone().with_tokens(&envelope.body)
}

/// Returns the invalid fields of a request, with their error codes.
fn field_errors(response: &TestResponse) -> Vec<(&str, &str)> {
    let errors = response.body["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    errors
        .iter()
        .map(|it| (it["field"].as_str().expect("a field"), it["code"].as_str().expect("a code")))
        .collect()
}

fn refresh_token(client: &Client) -> &str {
    client.refresh.as_deref().expect("a refresh token")
}
