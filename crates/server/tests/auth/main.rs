//! Accounts, signing in, and staying so.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod account;
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

use pia_server_testkit::client::{Answer, Client};
use pia_server_testkit::harness::PASSWORD;
use serde_json::{Value, json};

async fn sign_in(caller: &Client, email: &str, password: &str) -> Answer {
    let credentials = json!({ "email": email, "password": password });
    caller.post("/auth/login/local", &credentials).await
}

async fn refresh(caller: &Client, token: &str) -> Answer {
    caller.post("/auth/refresh", &json!({ "refreshToken": token })).await
}

async fn log_out(caller: &Client, token: &str) -> Answer {
    caller.post("/auth/logout", &json!({ "refreshToken": token })).await
}

/// A new session of an account that there is.
async fn another_session(caller: &Client, email: &str) -> Client {
    let envelope = sign_in(caller, email, PASSWORD).await;
    assert_eq!(envelope.status, 200, "{}", envelope.text());
    caller.clone().with_tokens(&envelope.body)
}

/// The fields that a body is refused for, and why.
fn faults(answer: &Answer) -> Vec<(&str, &str)> {
    let errors = answer.body["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    errors
        .iter()
        .map(|it| (it["field"].as_str().expect("a field"), it["code"].as_str().expect("a code")))
        .collect()
}

fn spent(client: &Client) -> &str {
    client.refresh.as_deref().expect("a refresh token")
}
