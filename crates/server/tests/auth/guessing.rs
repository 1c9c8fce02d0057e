//! Throttling of password guesses.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

on_both_databases!(
    guesses_from_unknown_addresses_do_not_delay_the_owner,
    each_wrong_password_makes_the_next_one_wait_longer,
    of_concurrent_guesses_five_are_checked,
    an_address_without_an_account_is_throttled_alike,
    instances_share_their_counts,
);

const HOME: &str = "192.0.2.1";

struct World {
    app: TestApp,
    clock: Arc<ManualClock>,
}

impl World {
    /// Starts a server where Ada has an account and has signed in from home.
    async fn new(database: TestDatabase) -> Self {
        let world = Self::on(TestConfig::on(database), SystemClock.now()).await;
        let credentials = json!({ "email": "ada@example.org", "password": PASSWORD });
        world.app.anonymous().post("/auth/register", &credentials).await;
        assert_eq!(world.guess(HOME, PASSWORD).await.status, 200);
        world
    }

    async fn on(setting: TestConfig, now: pia_kernel::Timestamp) -> Self {
        let clock = Arc::new(ManualClock::new(now));
        let app = setting
            .at(Arc::<ManualClock>::clone(&clock))
            .with("Server__TrustedProxies", "127.0.0.0/8")
            .start()
            .await;
        Self { app, clock }
    }

    async fn guess(&self, from: &str, password: &str) -> TestResponse {
        self.guess_at("ada@example.org", from, password).await
    }

    async fn guess_at(&self, email: &str, from: &str, password: &str) -> TestResponse {
        let body = json!({ "email": email, "password": password }).to_string();
        let headers = [("content-type", "application/json"), ("x-forwarded-for", from)];
        self.app.anonymous().send("POST", "/auth/login/local", &headers, body.as_bytes()).await
    }
}

fn count_status(responses: &[TestResponse], status: u16) -> usize {
    responses.iter().filter(|it| it.status == status).count()
}

async fn guesses_from_unknown_addresses_do_not_delay_the_owner(database: TestDatabase) {
    let world = World::new(database).await;

    let mut guesses = Vec::new();
    for number in 0..200 {
        let from = format!("198.51.{}.{}", number / 100, number % 100 + 1);
        guesses.push(world.guess(&from, "a wrong password").await);
    }
    let owner = world.guess(HOME, PASSWORD).await;
    let remote_response = world.guess("203.0.113.9", PASSWORD).await;
    world.clock.advance(Duration::from_secs(1));
    let later_response = world.guess("203.0.113.9", PASSWORD).await;
    let from_there_again = world.guess("203.0.113.9", PASSWORD).await;

    assert_eq!(count_status(&guesses, 401), 5);
    assert_eq!(count_status(&guesses, 429), 195);
    assert_eq!(owner.status, 200, "{}", owner.text());
    assert_eq!(remote_response.refusal(), (429, "rate_limited"));
    assert_eq!(remote_response.header("retry-after"), Some("1"));
    assert_eq!(later_response.status, 200);
    assert_eq!(from_there_again.status, 200);
}

async fn each_wrong_password_makes_the_next_one_wait_longer(database: TestDatabase) {
    let world = World::new(database).await;
    let mut waits = Vec::new();

    while waits.len() < 12 {
        let guess = world.guess("198.51.100.7", "a wrong password").await;
        if guess.status == 429 {
            let wait: u64 =
                guess.header("retry-after").and_then(|it| it.parse().ok()).expect("a wait");
            waits.push(wait);
            world.clock.advance(Duration::from_secs(wait));
        } else {
            assert_eq!(guess.refusal(), (401, "invalid_credentials"));
        }
    }

    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
    assert_eq!(world.guess(HOME, PASSWORD).await.status, 200);
}

async fn of_concurrent_guesses_five_are_checked(database: TestDatabase) {
    let world = World::new(database).await;

    let guesses = (1..=64).map(|number| {
        let world = &world;
        async move { world.guess(&format!("198.51.100.{number}"), "a wrong password").await }
    });
    let elsewhere = join_all(guesses).await;
    let at_home = join_all((0..64).map(|_| world.guess(HOME, "a wrong password"))).await;

    assert_eq!(count_status(&elsewhere, 401), 5);
    assert_eq!(count_status(&elsewhere, 429), 59);
    assert_eq!(count_status(&at_home, 401), 5);
    assert_eq!(count_status(&at_home, 429), 59);
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(world.guess(HOME, PASSWORD).await.status, 200);
}

async fn an_address_without_an_account_is_throttled_alike(database: TestDatabase) {
    let world = World::new(database).await;

    let mut statuses = Vec::new();
    for _ in 0..8 {
        let ada = world.guess("198.51.100.7", "a wrong password").await;
        let unknown_response =
            world.guess_at("bob@example.org", "198.51.100.7", "a wrong password").await;
        assert_eq!(ada.status, unknown_response.status);
        assert_eq!(ada.bytes, unknown_response.bytes);
        assert_eq!(ada.header("retry-after"), unknown_response.header("retry-after"));
        statuses.push(ada.status);
    }

    assert_eq!(statuses, [401, 401, 401, 401, 401, 429, 429, 429]);
}

async fn instances_share_their_counts(database: TestDatabase) {
    let first_world = World::new(database).await;
    let second_world =
        World::on(TestConfig::beside(&first_world.app), first_world.clock.now()).await;

    let mut statuses = Vec::new();
    for world in [
        &first_world,
        &second_world,
        &first_world,
        &second_world,
        &first_world,
        &second_world,
        &first_world,
    ] {
        statuses.push(world.guess("198.51.100.7", "a wrong password").await.status);
    }
    let owner = second_world.guess(HOME, PASSWORD).await;

    assert_eq!(statuses, [401, 401, 401, 401, 401, 429, 429]);
    assert_eq!(owner.status, 200, "the owner's addresses are known here too");
}
