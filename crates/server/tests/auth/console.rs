//! Sign-ins to the console, and access by its cookie.

use std::time::Duration;

use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::console::Console;
use pia_server_testkit::harness::{PASSWORD, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::factors::{Ada, EMAIL};
use super::{another_session, sign_in};

on_both_databases!(
    an_administrator_signs_in_with_a_second_factor_and_out_again,
    the_cookie_and_access_tokens_are_not_interchangeable,
    a_write_requires_the_csrf_token_and_the_same_origin,
    the_console_requires_an_administrative_role_and_a_second_factor,
    revoking_the_role_closes_the_console,
    a_console_session_is_listed_and_ended_like_the_others,
    a_console_session_ends_when_idle_and_after_its_lifetime,
    console_sessions_do_not_evict_devices,
);

/// Signs Ada in with a code of her authenticator app.
async fn open(ada: &Ada) -> Console {
    let challenge = log_in(&ada.app.anonymous()).await;
    assert_eq!(challenge.refusal(), (401, "mfa_required"));
    let body = json!({ "mfaToken": challenge.body["mfaToken"], "code": ada.code() });
    let opened = ada.app.anonymous().post("/admin/login", &body).await;
    ada.clock.advance(Duration::from_secs(30));
    Console::from_answer(&ada.app, &opened)
}

async fn session(console: &Console) -> TestResponse {
    console.get("/api/admin/session").await
}

async fn log_out(console: &Console, headers: &[(&str, &str)]) -> TestResponse {
    console.send("POST", "/admin/logout", headers, &Value::Null).await
}

async fn log_in(client: &Client) -> TestResponse {
    client.post("/admin/login", &json!({ "email": EMAIL, "password": PASSWORD })).await
}

/// Returns Ada as an administrator with a second factor.
async fn administrator(database: TestDatabase) -> Ada {
    let ada = Ada::on(database).await;
    ada.app.admin(&format!("grant {EMAIL} --role admin")).await.expect("a role");
    ada
}

async fn an_administrator_signs_in_with_a_second_factor_and_out_again(database: TestDatabase) {
    let ada = administrator(database).await;
    let console = open(&ada).await;

    let current_response = session(&console).await;
    assert_eq!(current_response.status, 200, "{}", current_response.text());
    assert_eq!(current_response.body["email"], json!(EMAIL));
    assert_eq!(current_response.body["role"], "admin");
    assert_eq!(current_response.body["csrfToken"], console.csrf_token.as_str());

    let out = log_out(&console, &[("x-csrf-token", &console.csrf_token)]).await;
    assert_eq!(out.status, 200, "{}", out.text());
    assert!(out.header("set-cookie").is_some_and(|it| it.contains("=; Path=/; Max-Age=0")));
    assert_eq!(session(&console).await.refusal(), (401, "unauthorized"));
}

async fn the_cookie_and_access_tokens_are_not_interchangeable(database: TestDatabase) {
    let ada = administrator(database).await;
    let console = open(&ada).await;
    let (_, token) = console.cookie.split_once('=').expect("a value");

    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str())];
    let as_bearer = ada.app.anonymous().send("GET", "/auth/me", &headers, b"").await;
    assert_eq!(as_bearer.refusal(), (401, "unauthorized"));

    assert_eq!(ada.client.get("/api/admin/session").await.refusal(), (401, "unauthorized"));
    let access = ada.client.access.as_deref().expect("an access token");
    let (name, _) = console.cookie.split_once('=').expect("a name");
    let cookie = format!("{name}={access}");
    let as_cookie =
        ada.app.anonymous().send("GET", "/api/admin/session", &[("cookie", &cookie)], b"").await;
    assert_eq!(as_cookie.refusal(), (401, "unauthorized"));
}

async fn a_write_requires_the_csrf_token_and_the_same_origin(database: TestDatabase) {
    let ada = administrator(database).await;
    let console = open(&ada).await;
    let token = ("x-csrf-token", console.csrf_token.as_str());

    for headers in [
        &[][..],
        &[("x-csrf-token", "wrong")],
        &[token, ("origin", "https://evil.example")],
        &[token, ("origin", "null")],
        &[token, ("sec-fetch-site", "cross-site")],
        &[token, ("sec-fetch-site", "same-site")],
    ] {
        let response = log_out(&console, headers).await;
        assert_eq!(response.refusal(), (403, "csrf_rejected"), "{headers:?}");
    }

    let other_console = open(&ada).await;
    let others = [("x-csrf-token", other_console.csrf_token.as_str())];
    assert_eq!(log_out(&console, &others).await.refusal(), (403, "csrf_rejected"));
    assert_eq!(session(&console).await.status, 200);
}

async fn the_console_requires_an_administrative_role_and_a_second_factor(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    app.sign_up(EMAIL).await;

    assert_eq!(log_in(&app.anonymous()).await.refusal(), (403, "forbidden"));
    for role in ["kb-manager", "org-manager", "admin"] {
        app.admin(&format!("grant {EMAIL} --role {role}")).await.expect("a role");
        let response = log_in(&app.anonymous()).await;
        assert_eq!(response.refusal(), (403, "second_factor_required"), "{role}");
    }
    let credentials = json!({ "email": EMAIL, "password": "not the password at all" });
    let wrong_response = app.anonymous().post("/admin/login", &credentials).await;
    assert_eq!(wrong_response.refusal(), (401, "invalid_credentials"));

    app.reload(&json!({ "Admin": { "RequireSecondFactor": false } }));
    let console = Console::from_answer(&app, &log_in(&app.anonymous()).await);
    assert_eq!(session(&console).await.body["role"], "admin");
}

async fn revoking_the_role_closes_the_console(database: TestDatabase) {
    let ada = administrator(database).await;
    ada.app.sign_up("bob@example.org").await;
    ada.app.admin("grant bob@example.org --role admin").await.expect("another administrator");
    let console = open(&ada).await;

    ada.app.admin(&format!("grant {EMAIL} --role user")).await.expect("no role");
    // The command line is another process: a cached state may be five seconds old.
    ada.clock.advance(Duration::from_secs(6));

    assert!([401, 403].contains(&session(&console).await.status));
}

async fn a_console_session_is_listed_and_ended_like_the_others(database: TestDatabase) {
    let ada = administrator(database).await;
    let first = open(&ada).await;
    let second = open(&ada).await;

    let list_response = ada.client.get("/auth/sessions").await;
    let items = list_response.body["items"].as_array().expect("sessions");
    let consoles: Vec<&Value> = items.iter().filter(|it| it["console"] == true).collect();
    assert_eq!(consoles.len(), 2);
    assert_eq!(items.len(), 3);
    let id = consoles[0]["id"].as_str().expect("an id");
    let ended = ada.client.send("DELETE", &format!("/auth/sessions/{id}"), &[], b"").await;
    assert_eq!(ended.status, 200, "{}", ended.text());
    assert_eq!(session(&second).await.refusal(), (401, "unauthorized"));

    let change = json!({ "currentPassword": PASSWORD, "newPassword": "eight herons wade slowly" });
    let change_response = ada.client.post("/auth/password", &change).await;
    assert_eq!(change_response.status, 200, "{}", change_response.text());
    assert_eq!(session(&first).await.refusal(), (401, "unauthorized"));
}

async fn a_console_session_ends_when_idle_and_after_its_lifetime(database: TestDatabase) {
    let ada = administrator(database).await;
    let idle_session = open(&ada).await;
    let used_session = open(&ada).await;

    for _ in 0..35 {
        ada.clock.advance(Duration::from_mins(20));
        assert_eq!(session(&used_session).await.status, 200);
    }
    assert_eq!(session(&idle_session).await.refusal(), (401, "unauthorized"));
    ada.clock.advance(Duration::from_mins(21));
    assert_eq!(session(&used_session).await.refusal(), (401, "unauthorized"));
}

async fn console_sessions_do_not_evict_devices(database: TestDatabase) {
    let app = TestConfig::on(database).with("Admin:RequireSecondFactor", false).start().await;
    let device = app.sign_up(EMAIL).await;
    app.admin(&format!("grant {EMAIL} --role admin")).await.expect("a role");
    let mut consoles = Vec::new();
    for _ in 0..11 {
        consoles.push(Console::from_answer(&app, &log_in(&app.anonymous()).await));
    }

    let other_session = another_session(&app.anonymous(), EMAIL).await;
    assert_eq!(device.get("/auth/me").await.status, 200);
    assert_eq!(other_session.get("/auth/me").await.status, 200);
    assert_eq!(session(&consoles[0]).await.status, 401);
    assert_eq!(session(&consoles[1]).await.status, 200);
    assert_eq!(sign_in(&app.anonymous(), EMAIL, PASSWORD).await.status, 200);
}
