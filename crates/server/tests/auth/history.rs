//! Tests of the sign-in history.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::client::{Client, keys};
use pia_server_testkit::credentials::current_session;
use pia_server_testkit::harness::Setting;
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{another_session, log_out, sign_in, spent};

on_both_databases!(
    every_attempt_is_reported_to_its_account_alone,
    an_attempt_outlives_its_session,
    attempts_are_reported_in_parts,
);

async fn history(client: &Client, query: &str) -> Value {
    let answer = client.get(&format!("/auth/login-history{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.body
}

fn outcomes(history: &Value) -> Vec<&str> {
    let items = history["items"].as_array().expect("a list").iter();
    items.map(|it| it["outcome"].as_str().expect("an outcome")).collect()
}

async fn every_attempt_is_reported_to_its_account_alone(database: TestDatabase) {
    let app = Setting::on(database).start().await;
    let (ada, bob) = (app.sign_up("ada@example.org").await, app.sign_up("bob@example.org").await);
    sign_in(&app.stranger(), " ADA@example.org", "a wrong password").await;
    sign_in(&app.stranger(), "nobody@example.org", "a wrong password").await;
    sign_in(&app.stranger(), "ada@example.org", "").await;

    let (reported, bobs) = (history(&ada, "").await, history(&bob, "").await);

    assert_eq!(outcomes(&reported), ["wrong_password", "signed_in"]);
    assert_eq!(outcomes(&bobs), ["signed_in"]);
    let (failed, signed_in) = (&reported["items"][0], &reported["items"][1]);
    assert_eq!(keys(failed), ["address", "at", "id", "method", "outcome"]);
    assert_eq!(keys(signed_in), ["address", "at", "id", "method", "outcome", "sessionId"]);
    assert_eq!(signed_in["sessionId"], current_session(&ada).await);
    assert_eq!((&failed["method"], &failed["address"]), (&json!("password"), &json!("127.0.0.1")));
    assert!(reported["nextCursor"].is_null());
}

async fn an_attempt_outlives_its_session(database: TestDatabase) {
    let app = Setting::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let ended = current_session(&ada).await;
    log_out(&app.stranger(), spent(&ada)).await;

    let again = another_session(&app.stranger(), "ada@example.org").await;

    let reported = history(&again, "").await;
    assert_eq!(outcomes(&reported), ["signed_in", "signed_in"]);
    assert_eq!(reported["items"][1]["sessionId"], ended);
}

async fn attempts_are_reported_in_parts(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = Setting::on(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let ada = app.sign_up("ada@example.org").await;
    // Each guess has waited long enough.
    let fail = async || {
        clock.advance(Duration::from_secs(16));
        sign_in(&app.stranger(), "ada@example.org", "a wrong password").await
    };
    for _ in 0..6 {
        fail().await;
    }
    let whole = history(&ada, "?limit=200").await;

    let (mut reported, mut query) = (Vec::new(), "?limit=3".to_owned());
    loop {
        let part = history(&ada, &query).await;
        reported.extend(part["items"].as_array().expect("a list").clone());
        // What comes in meanwhile stands before the place and moves nothing.
        assert_eq!(fail().await.status, 401);
        let Some(cursor) = part["nextCursor"].as_str() else { break };
        query = format!("?limit=3&cursor={cursor}");
    }

    assert_eq!(reported.len(), 7);
    assert_eq!(Some(&reported), whole["items"].as_array());
}
