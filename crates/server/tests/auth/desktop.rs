//! The desktop client's own requests, byte for byte, from its first sign-in to
//! its last sign-out.

use std::fmt::Write as _;

use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::credentials::sessions;
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::providers::ServerWithProvider;
use super::refresh_token;

on_both_databases!(
    the_client_signs_in_with_a_password_refreshes_and_signs_out,
    the_client_signs_in_at_a_provider_refreshes_and_deletes_the_account,
);

/// Address that the client's serialiser escapes unlike most others.
const EMAIL: &str = "ada+desk@example.org";
const SECRET: &str = "correct+horse <battery> & 'stäple'";
const COMPANY: &str = "Müller & Söhne <GmbH>";

const DEVICE: &str = "6f9619ff-8b86-4d01-b42d-00c04fc964ff";
/// Headers that it sends once per start, with the first call that may carry
/// them.
const DEVICE_HEADERS: [(&str, &str); 3] = [
    ("X-Pia-Device-Id", DEVICE),
    ("X-Pia-App-Version", "1.4.278.0"),
    ("X-Pia-OS-Version", "Microsoft Windows NT 10.0.22631.0"),
];

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const STATE: &str = "nS3kX-0vJq9d_2wZr8Tn5Yb1Lm6Pc4Hs9GfUeKaQiRo";

/// Path that it opens a browser with.
const LOGIN: &str = "/auth/login?provider=google\
     &redirect_uri=http%3A%2F%2Flocalhost%3A49731%2F\
     &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM\
     &code_challenge_method=S256\
     &state=nS3kX-0vJq9d_2wZr8Tn5Yb1Lm6Pc4Hs9GfUeKaQiRo";

/// Quotes a string as .NET does in JSON, with escapes for HTML's special
/// characters and for all that is not ASCII.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for unit in text.encode_utf16() {
        match u8::try_from(unit).map(char::from) {
            Ok(char) if char.is_ascii_graphic() && !"+<>&'\"`\\".contains(char) => {
                quoted.push(char);
            }
            Ok(' ') => quoted.push(' '),
            _ => write!(quoted, "\\u{unit:04X}").expect("text"),
        }
    }
    quoted + "\""
}

/// Posts a raw body.
async fn post(client: &Client, path: &str, extra: &[(&str, &str)], body: &str) -> TestResponse {
    let mut headers = vec![("Content-Type", "application/json; charset=utf-8")];
    headers.extend_from_slice(extra);
    client.send("POST", path, &headers, body.as_bytes()).await
}

/// Sends a request without an access token.
async fn bare(app: &TestApp, path: &str, extra: &[(&str, &str)], body: &str) -> TestResponse {
    post(&app.anonymous(), path, extra, body).await
}

fn refresh_body(client: &Client) -> String {
    format!("{{\"refreshToken\":{}}}", quoted(refresh_token(client)))
}

/// Refreshes the tokens, as the client does when it starts.
async fn start(app: &TestApp, client: Client, extra: &[(&str, &str)]) -> Client {
    let next_response = bare(app, "/auth/refresh", extra, &refresh_body(&client)).await;
    assert_eq!(next_response.status, 200, "{}", next_response.text());
    assert_eq!(next_response.body["expiresIn"], 900);
    for token in ["accessToken", "refreshToken"] {
        assert!(next_response.body[token].as_str().is_some_and(|it| !it.is_empty()), "{token}");
    }
    assert_ne!(next_response.body["refreshToken"].as_str(), client.refresh.as_deref());
    client.with_tokens(&next_response.body)
}

/// Returns a client with the tokens of a sign-in response, which must have all
/// fields that the desktop client reads.
fn signed_in_client(app: &TestApp, envelope: &TestResponse, email: &str) -> Client {
    assert_eq!(envelope.status, 200, "{}", envelope.text());
    let user = &envelope.body["user"];
    assert_eq!(user["email"], email);
    assert!(user["provider"].is_string() && user["requiresBusinessProfile"].is_boolean());
    let id = user["id"].as_str().expect("an id");
    assert_eq!(id.len(), 36);
    assert_eq!(id, id.to_lowercase());
    app.anonymous().with_tokens(&envelope.body)
}

/// Signs out, and asserts that the session has ended.
async fn sign_out(app: &TestApp, client: &Client) {
    let out = bare(app, "/auth/logout", &[], &refresh_body(client)).await;
    assert_eq!(out.status, 200, "{}", out.text());
    let later_response = bare(app, "/auth/refresh", &[], &refresh_body(client)).await;
    assert_eq!(later_response.refusal(), (401, "invalid_refresh_token"));
    assert_eq!(client.get("/auth/me").await.refusal(), (401, "unauthorized"));
}

#[test]
fn strings_are_escaped_as_the_client_escapes_them() {
    assert_eq!(quoted("a+b@c.d"), r#""a\u002Bb@c.d""#);
    assert_eq!(quoted("<&'\"ü"), r#""\u003C\u0026\u0027\u0022\u00FC""#);
    assert_eq!(quoted("🎈 /x"), r#""\uD83C\uDF88 /x""#);
}

async fn the_client_signs_in_with_a_password_refreshes_and_signs_out(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let registration = json!({ "email": EMAIL, "password": SECRET });
    assert_eq!(app.anonymous().post("/auth/register", &registration).await.status, 200);
    app.reload(&json!({ "LocalAuth": { "RequireBusinessDeclaration": true } }));
    let credentials = format!("{{\"email\":{},\"password\":{}}}", quoted(EMAIL), quoted(SECRET));

    // A fresh installation has no id yet.
    let envelope = bare(&app, "/auth/login/local", &[], &credentials).await;
    let ada = signed_in_client(&app, &envelope, EMAIL);
    assert_eq!(sessions(&ada).await[0].get("deviceId"), None);
    let mut ada = start(&app, ada, &DEVICE_HEADERS).await;

    assert_eq!(ada.get("/auth/me").await.body["requiresBusinessProfile"], true);
    let undeclared_response = ada.get("/api/e2ee/status").await;
    assert_eq!(undeclared_response.refusal(), (403, "business_profile_incomplete"));

    let profile = format!("{{\"companyName\":{},\"actingAsBusiness\":true}}", quoted(COMPANY));
    let declaration_response = post(&ada, "/auth/business-profile", &[], &profile).await;
    assert_eq!(declaration_response.status, 200, "{}", declaration_response.text());

    // The token from before the declaration works.
    assert_eq!(ada.get("/api/e2ee/status").await.status, 200);
    let me = ada.get("/auth/me").await.body;
    assert_eq!(me["requiresBusinessProfile"], false);
    assert_eq!(me["companyName"], json!(COMPANY));

    let export = ada.get("/auth/account/export").await;
    assert_eq!(export.status, 200);
    assert!(export.bytes.starts_with(b"PK"));

    for _ in 0..5 {
        ada = start(&app, ada, &[]).await;
        assert_eq!(ada.get("/auth/me").await.status, 200);
    }

    let listed_sessions = sessions(&ada).await;
    assert_eq!(listed_sessions.len(), 1);
    assert_eq!(listed_sessions[0]["deviceId"], json!(DEVICE));
    assert_eq!(listed_sessions[0]["appVersion"], "1.4.278.0");
    assert_eq!(listed_sessions[0]["osVersion"], "Microsoft Windows NT 10.0.22631.0");
    sign_out(&app, &ada).await;
}

async fn the_client_signs_in_at_a_provider_refreshes_and_deletes_the_account(
    database: TestDatabase,
) {
    let server = ServerWithProvider::google(database).await;
    let app = &server.app;

    let redirect = server.browse(LOGIN).await;

    assert_eq!(redirect.status, 302, "{}", redirect.text());
    let location = redirect.header("location").expect("a location");
    let query = location.strip_prefix("http://localhost:49731/?").expect("the redirect URI");
    let parameters: Vec<(String, String)> =
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let parameter = |name: &str| {
        let values: Vec<_> = parameters.iter().filter(|(it, _)| it == name).collect();
        assert_eq!(values.len(), 1, "{name} in {query}");
        values[0].1.clone()
    };
    assert_eq!(parameter("state"), STATE);

    // The client ignores the code if one of these is present.
    assert!(parameters.iter().all(|(name, _)| !["error", "access_token"].contains(&name.as_str())));
    let body = format!(
        "{{\"code\":{},\"codeVerifier\":{}}}",
        quoted(&parameter("code")),
        quoted(VERIFIER)
    );
    let envelope = bare(app, "/auth/token", &DEVICE_HEADERS, &body).await;
    let ada = signed_in_client(app, &envelope, "Ada@example.org");
    assert_eq!(sessions(&ada).await[0]["deviceId"], DEVICE);
    let ada = start(app, ada, &[]).await;

    let confirmation = r#"{"confirm":"DELETE","password":null}"#;
    let deletion_response = post(&ada, "/auth/account/delete", &[], confirmation).await;
    assert_eq!(deletion_response.status, 200);
    assert_eq!(deletion_response.body, json!({ "deleted": true }));
    // Sent again if the response was lost.
    let second_response = post(&ada, "/auth/account/delete", &[], confirmation).await;
    assert_eq!(second_response.refusal(), (404, "user_not_found"));
    sign_out(app, &ada).await;
}
