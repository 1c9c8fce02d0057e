//! Tests of rate limits: which requests share one (those of an address, an account or a
//! session), and its refusals.
//!
//! A limit is a bucket that is full at first: `RateLimits__Auth` with 3 allows three requests at
//! once, and one more every 20 seconds.

use std::sync::Arc;
use std::time::Duration;

use pia_demo_upstream::Demo;
use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

on_both_databases!(
    registrations_are_limited_by_address,
    password_attempts_are_limited_by_address,
    sessions_behind_one_address_are_limited_separately,
);

/// Configures a server that takes the address of a client from `X-Forwarded-For`, since it
/// trusts the test as its proxy.
fn behind_a_proxy(database: TestDatabase) -> TestConfig {
    TestConfig::on(database).with("Server__TrustedProxies", "127.0.0.0/8")
}

/// Sends a `POST` that a proxy would forward for this address.
async fn post_from(
    address: &str,
    caller: &Client,
    path: &str,
    body: serde_json::Value,
) -> TestResponse {
    let headers = [("content-type", "application/json"), ("x-forwarded-for", address)];
    caller.send("POST", path, &headers, body.to_string().as_bytes()).await
}

/// Asserts that a limit of this many requests a minute refuses the request, and asks the client
/// to wait no longer than until the next one is allowed.
#[track_caller]
fn assert_rate_limited(response: &TestResponse, limit: u64) {
    assert_eq!(response.refusal(), (429, "rate_limited"), "{}", response.text());
    let max_wait = 60 / limit;
    let wait = response.header("retry-after").and_then(|it| it.parse::<u64>().ok());
    assert!(wait.is_some_and(|it| (1..=max_wait).contains(&it)), "{wait:?}");
}

/// Registers an account from this address.
async fn register(app: &TestApp, address: &str) -> TestResponse {
    let email = format!("{}@example.org", uuid::Uuid::now_v7());
    let person = json!({ "email": email, "password": PASSWORD });
    post_from(address, &app.anonymous(), "/auth/register", person).await
}

/// Registers an account from each of these addresses in turn, and returns the status codes.
async fn registration_statuses(app: &TestApp, addresses: &[&str]) -> Vec<u16> {
    let mut statuses = Vec::new();
    for address in addresses {
        statuses.push(register(app, address).await.status);
    }
    statuses
}

async fn registrations_are_limited_by_address(database: TestDatabase) {
    let app = behind_a_proxy(database).with("RateLimits__Auth", 3).start().await;

    for _ in 0..3 {
        assert_eq!(register(&app, "192.0.2.1").await.status, 200);
    }

    assert_rate_limited(&register(&app, "192.0.2.1").await, 3);
    assert_eq!(register(&app, "192.0.2.2").await.status, 200);
    assert_eq!(register(&app, "2001:db8::1").await.status, 200);
}

async fn password_attempts_are_limited_by_address(database: TestDatabase) {
    let app = behind_a_proxy(database).with("RateLimits__LocalAuth", 2).start().await;
    let guess = async |address: &str, email: &str| {
        let credentials = json!({ "email": email, "password": "a wrong password" });
        post_from(address, &app.anonymous(), "/auth/login/local", credentials).await
    };

    assert_eq!(guess("192.0.2.1", "a@example.org").await.status, 401);
    assert_eq!(guess("192.0.2.1", "b@example.org").await.status, 401);

    assert_rate_limited(&guess("192.0.2.1", "c@example.org").await, 2);
    let malformed = post_from("192.0.2.1", &app.anonymous(), "/auth/login/local", json!([])).await;
    assert_rate_limited(&malformed, 2);
    assert_eq!(guess("192.0.2.2", "a@example.org").await.status, 401);
}

async fn sessions_behind_one_address_are_limited_separately(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(database)
        .at(Arc::<ManualClock>::clone(&clock))
        .without("RateLimits__Auth")
        .start()
        .await;
    let people = [app.signed_in().await, app.signed_in().await, app.signed_in().await];
    app.reload(&json!({ "RateLimits": { "Auth": 2 } }));
    // The requests above counted too: all buckets are full again after a minute.
    clock.advance(Duration::from_mins(1));

    let refresh = async |token: Option<&str>| {
        app.anonymous().post("/auth/refresh", &json!({ "refreshToken": token })).await
    };

    // Unknown tokens are counted by their address.
    let unknown_token = Some("nobody's token");
    for _ in 0..2 {
        assert_eq!(refresh(unknown_token).await.status, 401);
    }
    assert_rate_limited(&refresh(unknown_token).await, 2);

    // Those of a session are counted by the session, whatever the request does with them.
    for person in &people {
        let first_response = refresh(person.refresh.as_deref()).await;
        assert_eq!(first_response.status, 200);
        let second_response = refresh(first_response.body["refreshToken"].as_str()).await;
        assert_eq!(second_response.status, 200);
        let third_response = refresh(second_response.body["refreshToken"].as_str()).await;
        assert_rate_limited(&third_response, 2);
    }

    let body = json!({ "refreshToken": people[0].refresh });
    assert_rate_limited(&app.anonymous().post("/auth/logout", &body).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn forwarded_addresses_are_trusted_from_proxies_only() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("RateLimits__Auth", 2).start().await;

    let addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
    let statuses = registration_statuses(&app, &addresses).await;

    assert_eq!(statuses, [200, 200, 429]);
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_a_client_prepends_are_not_trusted() {
    let app = behind_a_proxy(TestDatabase::sqlite()).with("RateLimits__Auth", 2).start().await;

    let addresses = [
        "10.1.1.1, 192.0.2.1",
        "10.2.2.2, 192.0.2.1",
        "10.3.3.3, 192.0.2.1",
        "10.3.3.3, 192.0.2.2",
    ];
    let statuses = registration_statuses(&app, &addresses).await;

    assert_eq!(statuses, [200, 200, 429, 200]);
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_of_one_ipv6_network_share_a_limit() {
    let app = behind_a_proxy(TestDatabase::sqlite()).with("RateLimits__Auth", 2).start().await;

    let addresses =
        ["2001:db8:1:2::1", "2001:db8:1:2:ffff::2", "2001:db8:1:2::3", "2001:db8:1:3::1"];
    let statuses = registration_statuses(&app, &addresses).await;

    assert_eq!(statuses, [200, 200, 429, 200]);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_with_a_valid_token_are_limited_by_user() {
    let app = behind_a_proxy(TestDatabase::sqlite()).with("RateLimits__Global", 3).start().await;
    let ada = app.signed_in().await;
    let bob = app.signed_in().await;
    let request = async |caller: &Client, address: &str| {
        caller.send("GET", "/api/capabilities", &[("x-forwarded-for", address)], b"").await
    };

    for address in ["192.0.2.1", "192.0.2.2", "192.0.2.3"] {
        assert_eq!(request(&ada, address).await.status, 200);
    }

    assert_rate_limited(&request(&ada, "192.0.2.4").await, 3);
    assert_eq!(request(&bob, "192.0.2.1").await.status, 200);
    assert_eq!(request(&app.anonymous(), "192.0.2.1").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_with_an_invalid_token_are_limited_by_address() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("RateLimits__Global", 2).start().await;
    let intruder = Client { access: Some("e30.e30.e30".to_owned()), ..app.anonymous() };

    let statuses = [
        intruder.get("/api/ai/status").await.status,
        intruder.get("/api/ai/status").await.status,
        intruder.get("/api/ai/status").await.status,
    ];

    assert_eq!(statuses, [401, 401, 429]);
}

#[tokio::test(flavor = "multi_thread")]
async fn ai_calls_are_limited_by_user_and_separately() {
    let demo = Demo::start(0).expect("an upstream");
    let app = TestConfig::on(TestDatabase::sqlite())
        .with_upstream(&demo.endpoint())
        .with("RateLimits__Ai", 2)
        .start()
        .await;
    let ada = app.signed_in().await;
    let bob = app.signed_in().await;
    let optimize =
        async |caller: &Client| caller.post("/api/ai/optimize", &json!({ "text": "Hi" })).await;

    assert_eq!(optimize(&ada).await.status, 200);
    // Refused requests count too.
    assert_eq!(ada.post("/api/ai/chat", &json!([])).await.status, 400);

    assert_rate_limited(&optimize(&ada).await, 2);
    assert_rate_limited(&ada.post("/api/ai/chat/completions", &json!({})).await, 2);
    assert_eq!(optimize(&bob).await.status, 200);
    assert_eq!(ada.get("/api/ai/status").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_are_never_rate_limited() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("RateLimits__Global", 2).start().await;
    let stranger = app.anonymous();
    for _ in 0..2 {
        assert_eq!(stranger.get("/api/capabilities").await.status, 200);
    }
    assert_rate_limited(&stranger.get("/api/capabilities").await, 2);

    let health_statuses = [
        stranger.get("/health").await.status,
        stranger.get("/health").await.status,
        stranger.get("/health").await.status,
    ];

    assert_eq!(health_statuses, [200, 200, 429], "a separate bucket of the same size");

    for _ in 0..20 {
        assert_eq!(stranger.get("/ready").await.status, 200);
        assert_eq!(stranger.get("/metrics").await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn raised_limits_take_effect_at_once() {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(TestDatabase::sqlite())
        .at(Arc::<ManualClock>::clone(&clock))
        .without("RateLimits__Global")
        .without("RateLimits__Auth")
        .start()
        .await;
    let stranger = app.anonymous();

    app.reload(&json!({ "RateLimits": { "Global": 1, "Auth": 1 } }));
    assert_eq!(stranger.get("/api/capabilities").await.status, 200);
    assert_rate_limited(&stranger.get("/api/capabilities").await, 1);
    assert_eq!(register(&app, "192.0.2.1").await.status, 200);
    assert_rate_limited(&register(&app, "192.0.2.1").await, 1);

    app.reload(&json!({ "RateLimits": { "Global": 100, "Auth": 100 } }));
    // A bucket's debt remains; it is refilled at the new rate.
    clock.advance(Duration::from_secs(1));

    assert_eq!(stranger.get("/api/capabilities").await.status, 200);
    assert_eq!(register(&app, "192.0.2.1").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_has_no_separate_limit_of_password_attempts() {
    let app = behind_a_proxy(TestDatabase::sqlite()).with("RateLimits__LocalAuth", 2).start().await;
    let ada = app.signed_in().await;
    let guess = async |caller: &Client| {
        let credentials = json!({ "email": "bob@example.org", "password": "a wrong password" });
        post_from("192.0.2.7", caller, "/auth/login/local", credentials).await
    };

    for _ in 0..2 {
        assert_eq!(guess(&app.anonymous()).await.status, 401);
    }

    assert_rate_limited(&guess(&ada).await, 2);
}
