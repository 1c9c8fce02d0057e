//! Tests of the routes with which administrators see and change what secures a user's
//! account.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::console::{Console, administrator};
use pia_server_testkit::emails::names_to;
use pia_server_testkit::harness::{PASSWORD, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::factors::{Ada, EMAIL};
use super::sign_in;

on_both_databases!(
    the_sessions_of_a_user_are_listed_by_pages,
    all_sessions_of_a_user_are_ended,
    the_wait_after_wrong_passwords_is_lifted,
    a_lost_factor_is_reset_with_a_proof,
);

const BOB: &str = "bob@example.org";

/// Sends an act on the account of a user, which may have a body.
async fn act(console: &Console, user: &Client, action: &str, body: Value) -> TestResponse {
    let path = format!("/api/admin/users/{}/{action}", user.user_id());
    console.write("POST", &path, body).await
}

async fn the_sessions_of_a_user_are_listed_by_pages(database: TestDatabase) {
    let (app, ada, console) = administrator(TestConfig::on(database)).await;
    let bob = app.sign_up(BOB).await;
    let again = sign_in(&app.anonymous(), BOB, PASSWORD).await;
    let path = |user: &Client| format!("/api/admin/users/{}/sessions", user.user_id());

    let of_bob = console.get(&path(&bob)).await;
    let first = console.get(&format!("{}?limit=1", path(&bob))).await;
    let of_ada = console.get(&path(&ada)).await;

    assert_eq!(again.status, 200, "{}", again.text());
    assert_eq!(of_bob.status, 200, "{}", of_bob.text());
    let listed = of_bob.body["items"].as_array().expect("a list");
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|it| it["current"] == false && it["method"] == "password"));
    assert_eq!(first.body["items"], json!([listed[0]]));
    assert!(first.body["nextCursor"].is_string(), "{}", first.text());
    let current = of_ada.body["items"].as_array().into_iter().flatten();
    let current: Vec<_> = current.filter(|it| it["current"] == true).collect();
    assert_eq!(current.len(), 1, "{}", of_ada.text());
    assert_eq!(current[0]["console"], true);
}

async fn all_sessions_of_a_user_are_ended(database: TestDatabase) {
    let (app, ada, console) = administrator(TestConfig::on(database)).await;
    let bob = app.sign_up(BOB).await;

    let ended = act(&console, &bob, "end-sessions", Value::Null).await;

    assert_eq!(ended.status, 200, "{}", ended.text());
    assert_eq!(bob.get("/auth/me").await.refusal(), (401, "unauthorized"));
    assert_eq!(ada.get("/auth/me").await.status, 200);
    assert_eq!(app.count("audit_entries WHERE action = 'account.sessions_ended'").await, 1);
}

async fn the_wait_after_wrong_passwords_is_lifted(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let config = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock));
    let (app, _, console) = administrator(config).await;
    let bob = app.sign_up(BOB).await;
    for _ in 0..5 {
        sign_in(&app.anonymous(), BOB, "a wrong password").await;
    }

    let delayed = sign_in(&app.anonymous(), BOB, PASSWORD).await;
    let lifted = act(&console, &bob, "lift-wait", Value::Null).await;
    let signed_in = sign_in(&app.anonymous(), BOB, PASSWORD).await;

    assert_eq!(delayed.refusal(), (429, "rate_limited"));
    assert_eq!(lifted.status, 200, "{}", lifted.text());
    assert_eq!(signed_in.status, 200, "{}", signed_in.text());
    assert_eq!(app.count("audit_entries WHERE action = 'sign_in.wait_lifted'").await, 1);
}

async fn a_lost_factor_is_reset_with_a_proof(database: TestDatabase) {
    let config = TestConfig::on(database).with_mail().with("Admin:RequireSecondFactor", false);
    let ada = Ada::set_up(config).await;
    ada.app.sign_up(BOB).await;
    let console = Console::open(&ada.app, BOB).await;
    ada.clock.advance(Duration::from_mins(11));
    let reset = async |body: Value| act(&console, &ada.client, "reset-factor", body).await;

    let unproven_response = reset(Value::Null).await;
    let wrong_response = reset(json!({ "password": "a wrong password" })).await;
    let previous_response = sign_in(&ada.app.anonymous(), EMAIL, PASSWORD).await;
    let done_response = reset(json!({ "password": PASSWORD })).await;
    let later_response = sign_in(&ada.app.anonymous(), EMAIL, PASSWORD).await;
    let second_response = reset(json!({ "password": PASSWORD })).await;

    assert_eq!(unproven_response.refusal(), (403, "fresh_sign_in_required"));
    assert_eq!(wrong_response.refusal(), (403, "invalid_proof"));
    assert_eq!(previous_response.refusal(), (401, "mfa_required"));
    assert_eq!(done_response.status, 200, "{}", done_response.text());
    assert_eq!(later_response.status, 200, "{}", later_response.text());
    assert_eq!(second_response.refusal(), (409, "mfa_not_enabled"));
    assert_eq!(ada.app.count("audit_entries WHERE action = 'factor.reset'").await, 1);
    let emails = names_to(&ada.app, EMAIL).await;
    assert_eq!(emails.iter().filter(|it| *it == "factor-disabled").count(), 1, "{emails:?}");
}
