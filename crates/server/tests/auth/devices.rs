//! Tests of the list of devices and of revoking sessions.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::client::{Client, TestResponse, keys};
use pia_server_testkit::credentials::{current_session, sessions};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{another_session, refresh, refresh_token};

on_both_databases!(
    every_session_is_listed_with_its_device,
    a_session_is_listed_with_the_device_that_refreshed_it_last,
    a_revoked_session_is_over_at_once,
    revoking_other_sessions_spares_the_current_one,
    a_revoked_session_cannot_revoke_others,
    sessions_are_listed_in_pages,
);

const DEVICE: &str = "0199f0e0-0000-7000-8000-00000000000a";

async fn revoke(client: &Client, id: &str) -> TestResponse {
    client.send("DELETE", &format!("/auth/sessions/{id}"), &[], b"").await
}

async fn revoke_others(client: &Client) -> TestResponse {
    client.post("/auth/sessions/revoke-others", &json!({})).await
}

async fn send(client: &Client, path: &str, headers: &[(&str, &str)], body: &Value) -> TestResponse {
    let headers = [&[("content-type", "application/json")], headers].concat();
    client.send("POST", path, &headers, body.to_string().as_bytes()).await
}

/// Server with a browser and, a second later, a desktop client of Ada's, both signed in.
struct SignedInDevices {
    app: TestApp,
    clock: Arc<ManualClock>,
    browser: Client,
    desktop: Client,
}

impl SignedInDevices {
    async fn new(database: TestDatabase) -> Self {
        let clock = Arc::new(ManualClock::new(SystemClock.now()));
        let app = TestConfig::on(database)
            .at(Arc::<ManualClock>::clone(&clock))
            .with("Server__TrustedProxies", "127.0.0.0/8")
            .start()
            .await;
        let browser = app.sign_up("ada@example.org").await;
        clock.advance(Duration::from_secs(1));

        let credentials = json!({ "email": "ada@example.org", "password": PASSWORD });
        let from_home = [("x-forwarded-for", "192.0.2.1"), ("user-agent", "an\tagent")];
        let envelope = send(&app.anonymous(), "/auth/login/local", &from_home, &credentials).await;
        let desktop = app.anonymous().with_tokens(&envelope.body);

        Self { app, clock, browser, desktop }
    }
}

async fn every_session_is_listed_with_its_device(database: TestDatabase) {
    let devices = SignedInDevices::new(database).await;

    let listed_sessions = sessions(&devices.browser).await;

    let desktop_session = &listed_sessions[0];
    assert_eq!(desktop_session["current"], false);
    assert_eq!(desktop_session["console"], false);
    assert_eq!(desktop_session["address"], "192.0.2.1");
    assert_eq!(desktop_session["userAgent"], "anagent");
    assert_eq!(desktop_session["method"], "password");
    assert_eq!(desktop_session["lastSeenAt"], desktop_session["createdAt"]);

    let browser_session = &listed_sessions[1];
    assert_eq!(browser_session["current"], true);
    assert_eq!(browser_session["console"], false);
    let keys_without_device = [
        "address",
        "console",
        "createdAt",
        "current",
        "id",
        "lastSeenAt",
        "method",
        "signInAddress",
    ];
    assert_eq!(keys(browser_session), keys_without_device);
}

async fn a_session_is_listed_with_the_device_that_refreshed_it_last(database: TestDatabase) {
    let SignedInDevices { app, clock, browser, desktop } = SignedInDevices::new(database).await;
    let sessions_at_sign_in = sessions(&browser).await;
    clock.advance(Duration::from_mins(1));

    let from_work = [
        ("x-forwarded-for", "2001:db8::7"),
        ("x-pia-device-id", DEVICE),
        ("x-pia-app-version", "1.4.278.0"),
        ("x-pia-os-version", "Microsoft Windows NT 10.0.22631.0"),
    ];
    let token = json!({ "refreshToken": desktop.refresh });
    let refresh_response = send(&app.anonymous(), "/auth/refresh", &from_work, &token).await;
    let desktop_at_work = app.anonymous().with_tokens(&refresh_response.body);
    let response_without_device = refresh(&app.anonymous(), refresh_token(&desktop_at_work)).await;
    let desktop_without_device = app.anonymous().with_tokens(&response_without_device.body);

    let listed_sessions = sessions(&desktop_without_device).await;
    let desktop_session = &listed_sessions[0];
    assert_eq!(desktop_session["current"], true);
    assert_eq!(desktop_session["id"], sessions_at_sign_in[0]["id"]);
    assert_eq!(desktop_session["createdAt"], sessions_at_sign_in[0]["createdAt"]);
    assert_ne!(desktop_session["lastSeenAt"], desktop_session["createdAt"]);
    assert_eq!(desktop_session["deviceId"], json!(DEVICE));
    assert_eq!(desktop_session["appVersion"], "1.4.278.0");
    assert_eq!(desktop_session["osVersion"], "Microsoft Windows NT 10.0.22631.0");
    assert_eq!(desktop_session["address"], "127.0.0.1");
    assert_eq!(desktop_session["signInAddress"], "192.0.2.1");
    assert_eq!(desktop_session["userAgent"], "anagent");
    assert_eq!(listed_sessions[1]["current"], false);
}

async fn a_revoked_session_is_over_at_once(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let desktop = another_session(&app.anonymous(), "ada@example.org").await;
    let id = current_session(&desktop).await;

    let revocation = revoke(&ada, &id.to_uppercase()).await;
    let repeated_revocation = revoke(&ada, &id).await;

    assert_eq!(revocation.status, 200);
    assert_eq!(revocation.body, json!({ "success": true }));
    assert_eq!(repeated_revocation.refusal(), (404, "not_found"));
    assert_eq!(desktop.get("/auth/me").await.refusal(), (401, "unauthorized"));
    let refresh_response = refresh(&app.anonymous(), refresh_token(&desktop)).await;
    assert_eq!(refresh_response.refusal(), (401, "invalid_refresh_token"));
    assert_eq!(sessions(&ada).await.len(), 1);

    let own_response = revoke(&ada, &current_session(&ada).await).await;

    assert_eq!(own_response.status, 200);
    assert_eq!(ada.get("/auth/me").await.refusal(), (401, "unauthorized"));
}

async fn revoking_other_sessions_spares_the_current_one(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let bob = app.sign_up("bob@example.org").await;
    let mut devices = Vec::new();
    for _ in 0..3 {
        let device = another_session(&app.anonymous(), "ada@example.org").await;
        assert_eq!(device.get("/auth/me").await.status, 200);
        devices.push(device);
    }

    let revocation = revoke_others(&ada).await;
    let revocation_without_body = ada.send("POST", "/auth/sessions/revoke-others", &[], b"").await;

    assert_eq!(revocation.status, 200);
    assert_eq!(revocation.body, json!({ "revoked": 3 }));
    assert_eq!(revocation_without_body.status, 200);
    assert_eq!(revocation_without_body.body, json!({ "revoked": 0 }));
    for device in &devices {
        assert_eq!(device.get("/auth/me").await.refusal(), (401, "unauthorized"));
        assert_eq!(refresh(&app.anonymous(), refresh_token(device)).await.status, 401);
    }
    assert_eq!(refresh(&app.anonymous(), refresh_token(&ada)).await.status, 200);
    assert_eq!(bob.get("/auth/me").await.status, 200);
}

async fn a_revoked_session_cannot_revoke_others(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let beside = TestConfig::beside(&app).start().await;
    let thief = another_session(&app.anonymous(), "ada@example.org").await;
    let remote_client = beside.anonymous().with_tokens(&json!({ "accessToken": thief.access }));
    let own_session = current_session(&ada).await;
    let stolen = current_session(&remote_client).await;

    // The other instance caches the session for some seconds.
    assert_eq!(revoke(&ada, &stolen).await.status, 200);
    let revoked_one = revoke(&remote_client, &own_session).await;
    let revoked_others = revoke_others(&remote_client).await;

    assert_eq!(revoked_one.refusal(), (401, "unauthorized"));
    assert_eq!(revoked_others.refusal(), (401, "unauthorized"));
    assert_eq!(sessions(&ada).await.len(), 1);
}

async fn sessions_are_listed_in_pages(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    for _ in 1..5 {
        another_session(&app.anonymous(), "ada@example.org").await;
    }
    let all_sessions = sessions(&ada).await;

    let mut paged_sessions = Vec::new();
    let mut path = Some("/auth/sessions?limit=2".to_owned());
    while let Some(next) = path {
        let page = ada.get(&next).await;
        paged_sessions.extend(page.body["items"].as_array().expect("a list").clone());
        let cursor = page.body["nextCursor"].as_str();
        path = cursor.map(|it| format!("/auth/sessions?limit=2&cursor={it}"));
    }

    assert_eq!(paged_sessions.len(), 5);
    assert_eq!(paged_sessions, all_sessions);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_parameters_are_reported_by_field() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;

    for path in ["/auth/sessions", "/auth/login-history"] {
        for limit in ["0", "-1", "201", "9223372036854775808", "text", "", "1.5"] {
            let response = ada.get(&format!("{path}?limit={limit}")).await;
            assert_eq!(response.refusal(), (400, "validation_failed"), "{path} {limit}");
            assert_eq!(response.body["errors"][0]["field"], "limit", "{path} {limit}");
        }
        let response = ada.get(&format!("{path}?cursor=text")).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{path}");
        assert_eq!(response.body["errors"][0]["field"], "cursor", "{path}");
        assert_eq!(ada.get(&format!("{path}?limit=200&unknown")).await.status, 200, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn device_headers_are_truncated_and_sanitised() {
    let app = TestApp::spawn().await;
    app.sign_up("ada@example.org").await;
    let credentials = json!({ "email": "ada@example.org", "password": PASSWORD });
    let long_text = "ü".repeat(2000);
    let headers = [
        ("x-pia-os-version", &*long_text),
        ("x-pia-device-id", " \t "),
        ("x-pia-app-version", "<b>\t1"),
    ];

    let envelope = send(&app.anonymous(), "/auth/login/local", &headers, &credentials).await;

    let client = app.anonymous().with_tokens(&envelope.body);
    let listed_sessions = sessions(&client).await;
    let session = listed_sessions.iter().find(|it| it["current"] == true).expect("a session");
    assert_eq!(session["osVersion"], "ü".repeat(128));
    assert_eq!(session["deviceId"], Value::Null);
    assert_eq!(session["appVersion"], "<b>1");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_sessions_that_revoke_each_other_one_survives() {
    let app = TestApp::spawn().await;
    let mut clients = vec![app.sign_up("ada@example.org").await];
    for _ in 1..8 {
        clients.push(another_session(&app.anonymous(), "ada@example.org").await);
    }

    let responses = join_all(clients.iter().map(revoke_others)).await;

    let succeeded = responses.iter().filter(|it| it.status == 200).count();
    let mut alive = 0;
    for client in &clients {
        alive += usize::from(client.get("/auth/me").await.status == 200);
    }

    assert_eq!(succeeded, 1);
    assert_eq!(alive, 1);
}
