//! Refreshing and ending sessions.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::client::{Client, keys};
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

/// Time in which a token that was just used returns its successor again.
const GRACE: Duration = Duration::from_secs(30);

/// Time after which an unused session ends.
const IDLE: Duration = Duration::from_hours(30 * 24);

const SECOND: Duration = Duration::from_secs(1);

/// Refreshes the tokens of a session, and returns its client with the new ones.
async fn refreshed(app: &TestApp, client: &Client) -> Client {
    let response = refresh(&app.anonymous(), refresh_token(client)).await;
    assert_eq!(response.status, 200, "{}", response.text());
    app.anonymous().with_tokens(&response.body)
}

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

    let successor = &responses.first().expect("a response").body["refreshToken"];
    for response in &responses {
        assert_eq!(response.status, 200);
        assert_eq!(&response.body["refreshToken"], successor);
        assert_eq!(stranger.clone().with_tokens(&response.body).get("/auth/me").await.status, 200);
    }

    let token = successor.as_str().expect("a token");
    assert_eq!(refresh(&stranger, token).await.status, 200);
}

async fn a_replay_ends_the_session_at_once(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let separate_session = another_session(&app.anonymous(), "ada@example.org").await;
    let successor = refreshed(&app, &ada).await;
    let latest = refreshed(&app, &successor).await;
    assert_eq!(latest.get("/auth/me").await.status, 200);

    let replay = refresh(&app.anonymous(), refresh_token(&ada)).await;

    assert_eq!(replay.refusal(), (401, "invalid_refresh_token"));
    for client in [&ada, &successor, &latest] {
        assert_eq!(client.get("/auth/me").await.refusal(), (401, "unauthorized"));
        let refresh_response = refresh(&app.anonymous(), refresh_token(client)).await;
        assert_eq!(refresh_response.refusal(), (401, "invalid_refresh_token"));
    }
    assert_eq!(separate_session.get("/auth/me").await.status, 200);
}

async fn a_replay_after_the_grace_period_ends_the_session(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let successor = refreshed(&app, &ada).await;

    clock.advance(GRACE.saturating_sub(SECOND));
    let repetition = refresh(&app.anonymous(), refresh_token(&ada)).await;
    clock.advance(SECOND * 2);
    let replay = refresh(&app.anonymous(), refresh_token(&ada)).await;

    assert_eq!(repetition.status, 200);
    assert_eq!(repetition.body["refreshToken"].as_str(), successor.refresh.as_deref());
    assert_eq!(replay.refusal(), (401, "invalid_refresh_token"));
    assert_eq!(successor.get("/auth/me").await.refusal(), (401, "unauthorized"));
    assert_eq!(refresh(&app.anonymous(), refresh_token(&successor)).await.status, 401);
}

async fn signing_out_ends_one_session_and_no_other(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let separate_session = another_session(&app.anonymous(), "ada@example.org").await;
    assert_eq!(ada.get("/auth/me").await.status, 200);

    let sign_out = log_out(&app.anonymous(), refresh_token(&ada)).await;
    let repeated_sign_out = log_out(&app.anonymous(), refresh_token(&ada)).await;

    for response in [sign_out, repeated_sign_out] {
        assert_eq!(response.status, 200);
        assert_eq!(response.body, json!({ "success": true }));
    }
    assert_eq!(ada.get("/auth/me").await.refusal(), (401, "unauthorized"));
    let refresh_response = refresh(&app.anonymous(), refresh_token(&ada)).await;
    assert_eq!(refresh_response.refusal(), (401, "invalid_refresh_token"));
    assert_eq!(separate_session.get("/auth/me").await.status, 200);
    assert_eq!(refresh(&app.anonymous(), refresh_token(&separate_session)).await.status, 200);
}

async fn a_rotated_token_signs_out_too(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let successor = refreshed(&app, &ada).await;
    assert_eq!(successor.get("/auth/me").await.status, 200);

    let sign_out = log_out(&app.anonymous(), refresh_token(&ada)).await;

    assert_eq!(sign_out.status, 200);
    assert_eq!(successor.get("/auth/me").await.refusal(), (401, "unauthorized"));
    assert_eq!(refresh(&app.anonymous(), refresh_token(&successor)).await.status, 401);
}

async fn an_idle_session_expires(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let ada = app.sign_up("ada@example.org").await;

    // Each refresh begins the time anew.
    clock.advance(IDLE.saturating_sub(SECOND));
    let successor = refreshed(&app, &ada).await;
    clock.advance(IDLE.saturating_sub(SECOND));
    let latest = refreshed(&app, &successor).await;
    clock.advance(IDLE + SECOND);
    let response = refresh(&app.anonymous(), refresh_token(&latest)).await;

    assert_eq!(response.refusal(), (401, "invalid_refresh_token"));
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_tokens_are_refused_alike_and_end_no_session() {
    let app = TestApp::spawn().await;

    for token in ["", "nonsense", "ÄÖÜ", &"A".repeat(43), &"x".repeat(8000)] {
        let refresh_response = refresh(&app.anonymous(), token).await;
        let sign_out = log_out(&app.anonymous(), token).await;

        assert_eq!(refresh_response.refusal(), (401, "invalid_refresh_token"), "{token}");
        assert_eq!(sign_out.status, 200, "{token}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_sessions_can_be_lowered() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("Jwt__MaxSessions", 1).start().await;
    let oldest_session = app.sign_up("ada@example.org").await;

    let newest_session = another_session(&app.anonymous(), "ada@example.org").await;

    assert_eq!(oldest_session.get("/auth/me").await.refusal(), (401, "unauthorized"));
    assert_eq!(newest_session.get("/auth/me").await.status, 200);
}
