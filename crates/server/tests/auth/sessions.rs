//! Refreshing and ending sessions.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::client::keys;
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::{another_session, log_out, refresh, refresh_token};

on_both_databases!(
    a_refresh_token_is_valid_for_one_refresh,
    concurrent_refreshes_return_the_same_successor,
    a_replay_ends_the_session_at_once,
    a_replay_after_the_grace_period_ends_the_session,
    signing_out_ends_one_session_and_no_other,
    a_rotated_token_signs_out_too,
    an_idle_session_expires,
);

async fn a_refresh_token_is_valid_for_one_refresh(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;

    let mut token = refresh_token(&ada).to_owned();
    for round in 0..5 {
        let refresh_response = refresh(&app.anonymous(), &token).await;
        assert_eq!(refresh_response.status, 200, "{round}");
        assert_eq!(keys(&refresh_response.body), ["accessToken", "expiresIn", "refreshToken"]);
        assert_eq!(refresh_response.body["expiresIn"], 900);
        let client = app.anonymous().with_tokens(&refresh_response.body);
        assert_eq!(client.get("/auth/me").await.status, 200);
        assert_ne!(refresh_token(&client), token);
        token = refresh_token(&client).to_owned();
    }
}

async fn concurrent_refreshes_return_the_same_successor(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;

    let stranger = app.anonymous();
    let responses = join_all((0..20).map(|_| refresh(&stranger, refresh_token(&ada)))).await;

    let first = &responses.first().expect("a response").body["refreshToken"];
    assert!(first.is_string());
    for response in &responses {
        assert_eq!(response.status, 200);
        assert_eq!(&response.body["refreshToken"], first);
        assert_eq!(stranger.clone().with_tokens(&response.body).get("/auth/me").await.status, 200);
    }
    let refresh_response = refresh(&stranger, first.as_str().expect("a token")).await;
    assert_eq!(refresh_response.status, 200);
}

async fn a_replay_ends_the_session_at_once(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let other_session = another_session(&app.anonymous(), "ada@example.org").await;
    let second_client =
        app.anonymous().with_tokens(&refresh(&app.anonymous(), refresh_token(&ada)).await.body);
    let third_client = app
        .anonymous()
        .with_tokens(&refresh(&app.anonymous(), refresh_token(&second_client)).await.body);
    assert_eq!(third_client.get("/auth/me").await.status, 200);

    let replay = refresh(&app.anonymous(), refresh_token(&ada)).await;

    assert_eq!(replay.refusal(), (401, "invalid_refresh_token"));
    for client in [&ada, &second_client, &third_client] {
        assert_eq!(client.get("/auth/me").await.refusal(), (401, "unauthorized"));
        let refresh_response = refresh(&app.anonymous(), refresh_token(client)).await;
        assert_eq!(refresh_response.refusal(), (401, "invalid_refresh_token"));
    }
    assert_eq!(other_session.get("/auth/me").await.status, 200);
}

async fn a_replay_after_the_grace_period_ends_the_session(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let second_client =
        app.anonymous().with_tokens(&refresh(&app.anonymous(), refresh_token(&ada)).await.body);

    clock.advance(Duration::from_secs(29));
    let second_response = refresh(&app.anonymous(), refresh_token(&ada)).await;
    clock.advance(Duration::from_secs(2));
    let late_response = refresh(&app.anonymous(), refresh_token(&ada)).await;

    assert_eq!(second_response.status, 200);
    assert_eq!(second_response.body["refreshToken"].as_str(), second_client.refresh.as_deref());
    assert_eq!(late_response.refusal(), (401, "invalid_refresh_token"));
    assert_eq!(second_client.get("/auth/me").await.refusal(), (401, "unauthorized"));
    assert_eq!(refresh(&app.anonymous(), refresh_token(&second_client)).await.status, 401);
}

async fn signing_out_ends_one_session_and_no_other(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let other_session = another_session(&app.anonymous(), "ada@example.org").await;
    assert_eq!(ada.get("/auth/me").await.status, 200);

    let out = log_out(&app.anonymous(), refresh_token(&ada)).await;
    let second_response = log_out(&app.anonymous(), refresh_token(&ada)).await;

    assert_eq!(out.status, 200);
    assert_eq!(out.body, json!({ "success": true }));
    assert_eq!(second_response.status, 200);
    assert_eq!(second_response.body, json!({ "success": true }));
    assert_eq!(ada.get("/auth/me").await.refusal(), (401, "unauthorized"));
    let refresh_response = refresh(&app.anonymous(), refresh_token(&ada)).await;
    assert_eq!(refresh_response.refusal(), (401, "invalid_refresh_token"));
    assert_eq!(other_session.get("/auth/me").await.status, 200);
    assert_eq!(refresh(&app.anonymous(), refresh_token(&other_session)).await.status, 200);
}

async fn a_rotated_token_signs_out_too(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let second_client =
        app.anonymous().with_tokens(&refresh(&app.anonymous(), refresh_token(&ada)).await.body);
    assert_eq!(second_client.get("/auth/me").await.status, 200);

    let out = log_out(&app.anonymous(), refresh_token(&ada)).await;

    assert_eq!(out.status, 200);
    assert_eq!(second_client.get("/auth/me").await.refusal(), (401, "unauthorized"));
    assert_eq!(refresh(&app.anonymous(), refresh_token(&second_client)).await.status, 401);
}

async fn an_idle_session_expires(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let ada = app.sign_up("ada@example.org").await;
    clock.advance(Duration::from_hours(29 * 24));
    let second_client =
        app.anonymous().with_tokens(&refresh(&app.anonymous(), refresh_token(&ada)).await.body);

    clock.advance(Duration::from_hours(29 * 24));
    let third_response = refresh(&app.anonymous(), refresh_token(&second_client)).await;
    clock.advance(Duration::from_hours(30 * 24) + Duration::from_secs(1));
    let token = third_response.body["refreshToken"].as_str().unwrap_or_default();
    let late_response = refresh(&app.anonymous(), token).await;

    assert_eq!(third_response.status, 200);
    assert_eq!(late_response.refusal(), (401, "invalid_refresh_token"));
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_tokens_are_refused_alike_and_end_no_session() {
    let app = TestApp::spawn().await;

    for token in ["", "nonsense", "ÄÖÜ", &"A".repeat(43), &"x".repeat(8000)] {
        let refreshed = refresh(&app.anonymous(), token).await;
        let out = log_out(&app.anonymous(), token).await;

        assert_eq!(refreshed.refusal(), (401, "invalid_refresh_token"), "{token}");
        assert_eq!(out.status, 200, "{token}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_sessions_can_be_lowered() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("Jwt__MaxSessions", 1).start().await;
    let first_client = app.sign_up("ada@example.org").await;

    let second_client = another_session(&app.anonymous(), "ada@example.org").await;

    assert_eq!(first_client.get("/auth/me").await.refusal(), (401, "unauthorized"));
    assert_eq!(second_client.get("/auth/me").await.status, 200);
}
