//! Requests of a signed-in console, without a real browser.
//!
//! `administrator` starts a server with an administrator who is signed in to the
//! console; `get` sends the cookie, `write` the CSRF token too. Pages in a real
//! browser are tested by `browser.rs`.

use serde_json::{Value, json};

use crate::client::{Client, TestResponse};
use crate::harness::{PASSWORD, TestApp, TestConfig};

/// Browser that is signed in to the console.
pub struct Console {
    /// Connection, without the cookie.
    pub client: Client,
    /// Value of its `Cookie` header.
    pub cookie: String,
    /// CSRF token that it sends with writes.
    pub csrf_token: String,
}

/// Starts a server that requires no second factor. Returns it with an
/// administrator's desktop and console.
pub async fn administrator(setting: TestConfig) -> (TestApp, Client, Console) {
    const ADA: &str = "ada@example.org";
    let app = setting.with("Admin:RequireSecondFactor", false).start().await;
    let client = app.sign_up(ADA).await;
    let console = Console::open(&app, ADA).await;
    (app, client, console)
}

/// Returns an identity provider with a SCIM token of all scopes.
pub async fn scim_client(app: &TestApp, console: &Console) -> Client {
    let created = console.write("POST", "/api/admin/scim-tokens", json!({ "name": "IdP" })).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let token = created.body["token"].as_str().map(str::to_owned);
    Client { access: token, ..app.anonymous() }
}

impl Console {
    /// Makes an account an administrator and signs it in with its password, on
    /// a server that requires no second factor.
    pub async fn open(app: &TestApp, email: &str) -> Self {
        app.admin(&format!("grant {email} --role admin")).await.expect("a role");
        let credentials = json!({ "email": email, "password": PASSWORD });
        let response = app.anonymous().post("/admin/login", &credentials).await;
        Self::from_answer(app, &response)
    }

    /// Reads the cookie and the CSRF token from a sign-in response.
    pub fn from_answer(app: &TestApp, response: &TestResponse) -> Self {
        assert_eq!(response.status, 200, "{}", response.text());
        let set_cookie = response.header("set-cookie").expect("a cookie");
        assert!(set_cookie.contains("; HttpOnly; SameSite=Strict"), "{set_cookie}");
        let cookie = set_cookie.split(';').next().expect("a value").to_owned();
        let csrf_token = response.body["csrfToken"].as_str().expect("a token").to_owned();
        Self { client: app.anonymous(), cookie, csrf_token }
    }

    /// Sends a `GET` with the cookie.
    pub async fn get(&self, path: &str) -> TestResponse {
        self.send("GET", path, &[], &Value::Null).await
    }

    /// Sends a write with the CSRF token.
    pub async fn write(&self, method: &str, path: &str, body: Value) -> TestResponse {
        let headers = [("x-csrf-token", self.csrf_token.as_str())];
        self.send(method, path, &headers, &body).await
    }

    /// Sends a request with these headers besides the cookie.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> TestResponse {
        let own_headers = [("cookie", self.cookie.as_str()), ("content-type", "application/json")];
        let headers = [&own_headers[..], headers].concat();
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.client.send(method, path, &headers, &body).await
    }
}
