//! Credentials of users: sessions, app passwords, API keys and passkeys.

use serde_json::{Value, json};

use crate::authenticator::Authenticator;
use crate::client::{Client, TestResponse};
use crate::harness::{PASSWORD, TestApp};

/// Lists the sessions of the client.
pub async fn sessions(client: &Client) -> Vec<Value> {
    let response = client.get("/auth/sessions").await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.body["items"].as_array().expect("a list").clone()
}

/// Returns the id of the client's own session.
pub async fn current_session(client: &Client) -> String {
    let items = sessions(client).await;
    let current = items.iter().find(|it| it["current"] == true).expect("a session");
    text(&current["id"])
}

/// Creates an app password for the client, and returns the body of the response.
pub async fn create_app_password(client: &Client, name: &str) -> Value {
    let response =
        client.post("/auth/app-passwords", &json!({ "name": name, "password": PASSWORD })).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.body
}

/// Creates an app password, and returns its id.
pub async fn app_password_id(client: &Client) -> String {
    text(&create_app_password(client, "one").await["id"])
}

/// Creates an API key for the client, with these fields besides the defaults.
pub async fn create_api_key(client: &Client, fields: Value) -> Value {
    let mut body = json!({ "name": "Nightly", "password": PASSWORD });
    let object = body.as_object_mut().expect("an object");
    object.extend(fields.as_object().cloned().unwrap_or_default());
    let response = client.post("/auth/api-keys", &body).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.body
}

/// Creates an API key, and returns its id.
pub async fn api_key_id(client: &Client) -> String {
    text(&create_api_key(client, json!({})).await["id"])
}

/// Returns a client that holds nothing but a new API key of the owner.
pub async fn api_key_client(app: &TestApp, owner: &Client) -> Client {
    let key = text(&create_api_key(owner, json!({})).await["apiKey"]);
    Client { access: Some(key), ..app.anonymous() }
}

/// Requests the options for a new passkey with the default password.
pub async fn passkey_options(client: &Client) -> Value {
    let response =
        client.post("/auth/webauthn/register/begin", &json!({ "password": PASSWORD })).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.body
}

/// Adds a passkey by the credential that was created for its options.
pub async fn add_passkey(
    client: &Client,
    options: &Value,
    name: &str,
    credential: &Value,
) -> TestResponse {
    let token = &options["challengeToken"];
    let body = json!({ "challengeToken": token, "name": name, "credential": credential });
    client.post("/auth/webauthn/register/complete", &body).await
}

/// Adds the authenticator's passkey to the client's account, and returns its id.
pub async fn enrol(client: &Client, key: &mut Authenticator, name: &str) -> String {
    let options = passkey_options(client).await;
    let added = add_passkey(client, &options, name, &key.create(&options["publicKey"])).await;
    assert_eq!(added.status, 200, "{}", added.text());
    text(&added.body["id"])
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
