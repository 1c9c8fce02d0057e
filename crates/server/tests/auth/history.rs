//! Tests of the sign-in history.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::client::{Client, keys};
use pia_server_testkit::credentials::current_session;
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::Value;

use super::{another_session, log_out, refresh_token, sign_in};

on_both_databases!(
    attempts_are_listed_for_their_own_account_only,
    an_attempt_outlives_its_session,
    attempts_are_listed_in_pages,
);

async fn history(client: &Client, query: &str) -> Value {
    let response = client.get(&format!("/auth/login-history{query}")).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.body
}

fn outcomes(history: &Value) -> Vec<&str> {
    history["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["outcome"].as_str().expect("an outcome"))
        .collect()
}

async fn attempts_are_listed_for_their_own_account_only(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let bob = app.sign_up("bob@example.org").await;
    sign_in(&app.anonymous(), " ADA@example.org", "a wrong password").await;
    sign_in(&app.anonymous(), "nobody@example.org", "a wrong password").await;
    sign_in(&app.anonymous(), "ada@example.org", "").await;

    let adas = history(&ada, "").await;
    let bobs = history(&bob, "").await;

    assert_eq!(outcomes(&adas), ["wrong_password", "signed_in"]);
    assert_eq!(outcomes(&bobs), ["signed_in"]);
    let failed = &adas["items"][0];
    let signed_in = &adas["items"][1];
    assert_eq!(keys(failed), ["address", "at", "id", "method", "outcome"]);
    assert_eq!(keys(signed_in), ["address", "at", "id", "method", "outcome", "sessionId"]);
    assert_eq!(signed_in["sessionId"], current_session(&ada).await);
    assert_eq!(failed["method"], "password");
    assert_eq!(failed["address"], "127.0.0.1");
    assert!(adas["nextCursor"].is_null());
}

async fn an_attempt_outlives_its_session(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let ended = current_session(&ada).await;
    log_out(&app.anonymous(), refresh_token(&ada)).await;

    let repeated_client = another_session(&app.anonymous(), "ada@example.org").await;

    let attempts = history(&repeated_client, "").await;
    assert_eq!(outcomes(&attempts), ["signed_in", "signed_in"]);
    assert_eq!(attempts["items"][1]["sessionId"], ended);
}

async fn attempts_are_listed_in_pages(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let ada = app.sign_up("ada@example.org").await;
    // The throttle has expired before each guess.
    let fail = async || {
        clock.advance(Duration::from_secs(16));
        sign_in(&app.anonymous(), "ada@example.org", "a wrong password").await
    };
    for _ in 0..6 {
        fail().await;
    }
    let expected = history(&ada, "?limit=200").await;

    let mut listed = Vec::new();
    let mut query = "?limit=3".to_owned();
    loop {
        let page = history(&ada, &query).await;
        listed.extend(page["items"].as_array().expect("a list").clone());
        // New attempts come before the cursor and shift no page.
        assert_eq!(fail().await.status, 401);
        let Some(cursor) = page["nextCursor"].as_str() else { break };
        query = format!("?limit=3&cursor={cursor}");
    }

    assert_eq!(listed.len(), 7);
    assert_eq!(Some(&listed), expected["items"].as_array());
}
