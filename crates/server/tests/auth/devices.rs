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

async fn every_session_is_listed_with_its_device(database: TestDatabase) {
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

    let at_first = sessions(&browser).await;
    clock.advance(Duration::from_mins(1));
    let from_work = [
        ("x-forwarded-for", "2001:db8::7"),
        ("x-pia-device-id", DEVICE),
        ("x-pia-app-version", "1.4.278.0"),
        ("x-pia-os-version", "Microsoft Windows NT 10.0.22631.0"),
    ];
    let token = json!({ "refreshToken": desktop.refresh });
    let refresh_response = send(&app.anonymous(), "/auth/refresh", &from_work, &token).await;
    let desktop = app.anonymous().with_tokens(&refresh_response.body);
    let without_device = refresh(&app.anonymous(), refresh_token(&desktop)).await;
    let later_sessions = sessions(&app.anonymous().with_tokens(&without_device.body)).await;

    let second_session = &at_first[0];
    let first_session = &at_first[1];
    assert_eq!([&first_session["current"], &second_session["current"]], [true, false]);

    let bare = [
        "address",
        "console",
        "createdAt",
        "current",
        "id",
        "lastSeenAt",
        "method",
        "signInAddress",
    ];
    assert_eq!(keys(first_session), bare);
    assert_eq!([&first_session["console"], &second_session["console"]], [false, false]);
    assert_eq!(second_session["address"], "192.0.2.1");
    assert_eq!(second_session["userAgent"], "anagent");
    assert_eq!(second_session["method"], "password");
    assert_eq!(second_session["lastSeenAt"], second_session["createdAt"]);

    let later_session = &later_sessions[0];
    let other_session = &later_sessions[1];
    assert_eq!([&later_session["current"], &other_session["current"]], [true, false]);
    assert_eq!(later_session["id"], second_session["id"]);
    assert_eq!(later_session["createdAt"], second_session["createdAt"]);
    assert_ne!(later_session["lastSeenAt"], later_session["createdAt"]);
    assert_eq!(later_session["deviceId"], json!(DEVICE));
    assert_eq!(later_session["appVersion"], "1.4.278.0");
    assert_eq!(later_session["osVersion"], "Microsoft Windows NT 10.0.22631.0");
    assert_eq!(later_session["address"], "127.0.0.1");
    assert_eq!(later_session["signInAddress"], "192.0.2.1");
    assert_eq!(later_session["userAgent"], "anagent");
}

async fn a_revoked_session_is_over_at_once(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let other_session = another_session(&app.anonymous(), "ada@example.org").await;
    let id = current_session(&other_session).await;

    let ended = revoke(&ada, &id.to_uppercase()).await;
    let second_response = revoke(&ada, &id).await;

    assert_eq!(ended.status, 200);
    assert_eq!(ended.body, json!({ "success": true }));
    assert_eq!(second_response.refusal(), (404, "not_found"));
    assert_eq!(other_session.get("/auth/me").await.refusal(), (401, "unauthorized"));
    let refresh_response = refresh(&app.anonymous(), refresh_token(&other_session)).await;
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
    let mut others = Vec::new();
    for _ in 0..3 {
        let other_session = another_session(&app.anonymous(), "ada@example.org").await;
        assert_eq!(other_session.get("/auth/me").await.status, 200);
        others.push(other_session);
    }

    let ended = revoke_others(&ada).await;
    let second_response = ada.send("POST", "/auth/sessions/revoke-others", &[], b"").await;

    assert_eq!(ended.status, 200);
    assert_eq!(ended.body, json!({ "revoked": 3 }));
    assert_eq!(second_response.status, 200);
    assert_eq!(second_response.body, json!({ "revoked": 0 }));
    for other_session in &others {
        assert_eq!(other_session.get("/auth/me").await.refusal(), (401, "unauthorized"));
        assert_eq!(refresh(&app.anonymous(), refresh_token(other_session)).await.status, 401);
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
    let expected = sessions(&ada).await;

    let mut listed = Vec::new();
    let mut path = Some("/auth/sessions?limit=2".to_owned());
    while let Some(next) = path {
        let page = ada.get(&next).await;
        listed.extend(page.body["items"].as_array().expect("a list").clone());
        let cursor = page.body["nextCursor"].as_str();
        path = cursor.map(|it| format!("/auth/sessions?limit=2&cursor={it}"));
    }

    assert_eq!(listed.len(), 5);
    assert_eq!(listed, expected);
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
