//! Accounts, signing in, and staying so.

mod account;
mod addresses;
pub(crate) mod api_keys;
pub(crate) mod app_passwords;
mod audit;
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
pub(crate) mod passkeys;
mod passwords;
mod providers;
mod registration;
mod sessions;
mod sign_in;
mod tokens;
mod traces;
mod verification;

use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::harness::PASSWORD;

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

pub(crate) fn keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = object.as_object().expect("an object").keys().collect();
    keys.sort();
    keys.into_iter().map(String::as_str).collect()
}

fn spent(client: &Client) -> &str {
    client.refresh.as_deref().expect("a refresh token")
}

/// Lists the sessions of the client.
pub(crate) async fn sessions(client: &Client) -> Vec<Value> {
    let answer = client.get("/auth/sessions").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.body["items"].as_array().expect("a list").clone()
}

/// The id of the client's own session.
pub(crate) async fn current(client: &Client) -> String {
    let sessions = sessions(client).await;
    let current = sessions.iter().find(|it| it["current"] == true).expect("a session");
    current["id"].as_str().expect("an id").to_owned()
}
