//! Two servers on one database.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::{log_out, refresh, refresh_token, sign_in};

/// Starts two instances on one PostgreSQL database, with one clock.
async fn two(configure: impl Fn(TestConfig) -> TestConfig) -> (TestApp, TestApp, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let at = |setting: TestConfig| configure(setting.at(Arc::<ManualClock>::clone(&clock)));
    let first_server = at(TestConfig::on(TestDatabase::postgres().await)).start().await;
    let second_server = at(TestConfig::beside(&first_server)).start().await;
    (first_server, second_server, clock)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_one_instance_is_valid_on_the_other() {
    let (first, second, _clock) = two(|it| it).await;
    let ada = first.signed_in().await;

    let remote_client = second.anonymous().with_tokens(&json!({ "accessToken": ada.access }));
    let me = remote_client.get("/auth/me").await;
    let refresh_response = refresh(&second.anonymous(), refresh_token(&ada)).await;
    let second_response = refresh(&first.anonymous(), refresh_token(&ada)).await;

    assert_eq!(me.status, 200);
    assert_eq!(me.body["id"].as_str(), ada.user.as_deref());
    assert_eq!(refresh_response.status, 200);
    assert_eq!(second_response.status, 200);
    assert_eq!(refresh_response.body["refreshToken"], second_response.body["refreshToken"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ended_on_one_is_over_on_the_other_within_five_seconds() {
    let (first, second, clock) = two(|it| it).await;
    let ada = first.signed_in().await;
    let remote_client = second.anonymous().with_tokens(&json!({ "accessToken": ada.access }));
    assert_eq!(remote_client.get("/auth/me").await.status, 200);

    log_out(&first.anonymous(), refresh_token(&ada)).await;
    let own_response = ada.get("/auth/me").await;
    clock.advance(Duration::from_millis(5001));
    let over = remote_client.get("/auth/me").await;

    assert_eq!(
        own_response.refusal(),
        (401, "unauthorized"),
        "at once on the instance where it ended"
    );
    assert_eq!(over.refusal(), (401, "unauthorized"));
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_on_all_instances_are_counted_together() {
    let (first, second, clock) = two(|it| it.with("RateLimits__LocalAuth", 3)).await;
    let guess = async |app: &TestApp| sign_in(&app.anonymous(), "a@example.org", PASSWORD).await;

    let allowed =
        [guess(&first).await.status, guess(&second).await.status, guess(&first).await.status];
    let refused = [guess(&first).await.status, guess(&second).await.status];
    clock.advance(Duration::from_secs(21));
    let later = [guess(&second).await.status, guess(&first).await.status];

    assert_eq!(allowed, [401, 401, 401]);
    assert_eq!(refused, [429, 429]);
    assert_eq!(later, [401, 429]);
}

#[tokio::test(flavor = "multi_thread")]
async fn registrations_on_all_instances_are_counted_together() {
    let (first, second, _clock) = two(|it| it.with("RateLimits__Auth", 2)).await;
    let register = async |app: &TestApp, email: &str| {
        let credentials = json!({ "email": email, "password": PASSWORD });
        app.anonymous().post("/auth/register", &credentials).await.status
    };

    let statuses = [
        register(&first, "a@example.org").await,
        register(&second, "b@example.org").await,
        register(&first, "c@example.org").await,
        register(&second, "d@example.org").await,
    ];

    assert_eq!(statuses, [200, 200, 429, 429]);
}
