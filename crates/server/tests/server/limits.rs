//! Tests of rate limits: the keys they are counted by, and their refusals.

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

/// Trusts the test's address as a proxy.
fn behind_a_proxy(database: TestDatabase) -> TestConfig {
    TestConfig::on(database).with("Server__TrustedProxies", "127.0.0.0/8")
}

async fn post_from(
    address: &str,
    caller: &Client,
    path: &str,
    body: serde_json::Value,
) -> TestResponse {
    let headers = [("content-type", "application/json"), ("x-forwarded-for", address)];
    caller.send("POST", path, &headers, body.to_string().as_bytes()).await
}

fn assert_rate_limited(answer: &TestResponse, max_wait: u64) {
    assert_eq!(answer.refusal(), (429, "rate_limited"), "{}", answer.text());
    let wait = answer.header("retry-after").and_then(|it| it.parse::<u64>().ok());
    assert!(wait.is_some_and(|it| (1..=max_wait).contains(&it)), "{wait:?}");
}

async fn register(app: &TestApp, address: &str) -> TestResponse {
    let email = format!("{}@example.org", uuid::Uuid::now_v7());
    let person = json!({ "email": email, "password": PASSWORD });
    post_from(address, &app.anonymous(), "/auth/register", person).await
}

async fn registrations_are_limited_by_address(database: TestDatabase) {
    let app = behind_a_proxy(database).with("RateLimits__Auth", 3).start().await;

    for _ in 0..3 {
        assert_eq!(register(&app, "192.0.2.1").await.status, 200);
    }

    assert_rate_limited(&register(&app, "192.0.2.1").await, 20);
    assert_eq!(register(&app, "192.0.2.2").await.status, 200);
    assert_eq!(register(&app, "2001:db8::1").await.status, 200);
}

async fn password_attempts_are_limited_by_address(database: TestDatabase) {
    let app = behind_a_proxy(database).with("RateLimits__LocalAuth", 2).start().await;
    let guess = async |address: &str, email: &str| {
        let credentials = json!({ "email": email, "password": "a wrong password" });
        post_from(address, &app.anonymous(), "/auth/login/local", credentials).await
    };

    let tries =
        [guess("192.0.2.1", "a@example.org").await, guess("192.0.2.1", "b@example.org").await];
    let third_response = guess("192.0.2.1", "c@example.org").await;
    let malformed = post_from("192.0.2.1", &app.anonymous(), "/auth/login/local", json!([])).await;

    assert_eq!(tries.map(|it| it.status), [401, 401]);
    assert_rate_limited(&third_response, 30);
    assert_rate_limited(&malformed, 30);
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
    clock.advance(Duration::from_mins(1));
    let refresh = async |token: Option<&str>| {
        app.anonymous().post("/auth/refresh", &json!({ "refreshToken": token })).await
    };
    let unknown_token = "nobody's token";

    for _ in 0..2 {
        assert_eq!(refresh(Some(unknown_token)).await.status, 401);
    }
    assert_rate_limited(&refresh(Some(unknown_token)).await, 30);
    for person in &people {
        let refresh_response = refresh(person.refresh.as_deref()).await;
        let second = refresh(refresh_response.body["refreshToken"].as_str()).await;
        assert_eq!(refresh_response.status, 200);
        assert_eq!(second.status, 200);
        assert_rate_limited(&refresh(second.body["refreshToken"].as_str()).await, 30);
    }

    let body = json!({ "refreshToken": people.first().and_then(|it| it.refresh.clone()) });
    assert_rate_limited(&app.anonymous().post("/auth/logout", &body).await, 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn forwarded_addresses_are_trusted_from_proxies_only() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("RateLimits__Auth", 2).start().await;

    let statuses = [
        register(&app, "192.0.2.1").await.status,
        register(&app, "192.0.2.2").await.status,
        register(&app, "192.0.2.3").await.status,
    ];

    assert_eq!(statuses, [200, 200, 429]);
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_a_client_prepends_are_not_trusted() {
    let app = behind_a_proxy(TestDatabase::sqlite()).with("RateLimits__Auth", 2).start().await;

    let statuses = [
        register(&app, "10.1.1.1, 192.0.2.1").await.status,
        register(&app, "10.2.2.2, 192.0.2.1").await.status,
        register(&app, "10.3.3.3, 192.0.2.1").await.status,
        register(&app, "10.3.3.3, 192.0.2.2").await.status,
    ];

    assert_eq!(statuses, [200, 200, 429, 200]);
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_of_one_ipv6_network_share_a_limit() {
    let app = behind_a_proxy(TestDatabase::sqlite()).with("RateLimits__Auth", 2).start().await;

    let statuses = [
        register(&app, "2001:db8:1:2::1").await.status,
        register(&app, "2001:db8:1:2:ffff::2").await.status,
        register(&app, "2001:db8:1:2::3").await.status,
        register(&app, "2001:db8:1:3::1").await.status,
    ];

    assert_eq!(statuses, [200, 200, 429, 200]);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_with_a_valid_token_are_limited_by_user() {
    let app = behind_a_proxy(TestDatabase::sqlite()).with("RateLimits__Global", 3).start().await;
    let ada = app.signed_in().await;
    let bob = app.signed_in().await;
    let request = async |who: &Client, address: &str| {
        who.send("GET", "/api/capabilities", &[("x-forwarded-for", address)], b"").await
    };

    for address in ["192.0.2.1", "192.0.2.2", "192.0.2.3"] {
        assert_eq!(request(&ada, address).await.status, 200);
    }

    assert_rate_limited(&request(&ada, "192.0.2.4").await, 20);
    assert_eq!(request(&bob, "192.0.2.1").await.status, 200);
    assert_eq!(request(&app.anonymous(), "192.0.2.1").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_with_an_invalid_token_are_limited_by_address() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("RateLimits__Global", 2).start().await;
    let guesser = Client { access: Some("e30.e30.e30".to_owned()), ..app.anonymous() };

    let statuses = [
        guesser.get("/api/ai/status").await.status,
        guesser.get("/api/ai/status").await.status,
        guesser.get("/api/ai/status").await.status,
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
        async |who: &Client| who.post("/api/ai/optimize", &json!({ "text": "Hi" })).await;

    assert_eq!(optimize(&ada).await.status, 200);
    assert_eq!(ada.post("/api/ai/chat", &json!([])).await.status, 400);

    assert_rate_limited(&optimize(&ada).await, 30);
    assert_rate_limited(&ada.post("/api/ai/chat/completions", &json!({})).await, 30);
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
    assert_rate_limited(&stranger.get("/api/capabilities").await, 30);

    let health = [
        stranger.get("/health").await.status,
        stranger.get("/health").await.status,
        stranger.get("/health").await.status,
    ];

    assert_eq!(health, [200, 200, 429], "a separate bucket of the same size");
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
    app.reload(&json!({ "RateLimits": { "Global": 1, "Auth": 1 } }));
    let stranger = app.anonymous();
    assert_eq!(stranger.get("/api/capabilities").await.status, 200);
    assert_rate_limited(&stranger.get("/api/capabilities").await, 60);
    assert_eq!(register(&app, "192.0.2.1").await.status, 200);
    assert_rate_limited(&register(&app, "192.0.2.1").await, 60);

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

    assert_rate_limited(&guess(&ada).await, 60);
}
