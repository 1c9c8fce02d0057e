//! Sign-ins with a password.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::client::keys;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::{another_session, field_errors, refresh_token, sign_in};

on_both_databases!(
    the_response_has_all_fields_that_clients_need,
    an_unknown_address_and_a_wrong_password_are_refused_alike,
    the_eleventh_session_ends_the_first,
);

async fn the_response_has_all_fields_that_clients_need(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    app.sign_up("Ada@example.org").await;

    let envelope = sign_in(&app.anonymous(), " ada@EXAMPLE.org ", PASSWORD).await;

    assert_eq!(envelope.status, 200);
    let body = &envelope.body;
    assert_eq!(keys(body), ["accessToken", "expiresIn", "refreshToken", "user"]);
    assert_eq!(body["expiresIn"], 900);
    assert_eq!(keys(&body["user"]), ["email", "id", "provider", "requiresBusinessProfile"]);

    let id = body["user"]["id"].as_str().expect("an id");
    let id_is_plain = uuid::Uuid::parse_str(id).is_ok_and(|it| it.hyphenated().to_string() == id);
    assert!(id_is_plain, "{id}");
    assert_eq!(body["user"]["email"], "Ada@example.org");
    assert_eq!(body["user"]["provider"], "local");
    assert_eq!(body["user"]["requiresBusinessProfile"], false);
}

async fn an_unknown_address_and_a_wrong_password_are_refused_alike(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    app.sign_up("ada@example.org").await;

    let wrong_response = sign_in(&app.anonymous(), "ada@example.org", "a wrong password").await;
    let unknown_response = sign_in(&app.anonymous(), "bob@example.org", "a wrong password").await;
    let nonsense = sign_in(&app.anonymous(), "no address", "a wrong password").await;
    let empty = sign_in(&app.anonymous(), "ada@example.org", "").await;

    assert_eq!(wrong_response.refusal(), (401, "invalid_credentials"));
    for other in [unknown_response, nonsense, empty] {
        assert_eq!(other.status, wrong_response.status);
        assert_eq!(other.bytes, wrong_response.bytes);
    }
}

async fn the_eleventh_session_ends_the_first(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let first_client = app.sign_up("ada@example.org").await;
    let second_client = another_session(&app.anonymous(), "ada@example.org").await;
    for _ in 3..=10 {
        another_session(&app.anonymous(), "ada@example.org").await;
    }
    assert_eq!(first_client.get("/auth/me").await.status, 200);

    let eleventh = another_session(&app.anonymous(), "ada@example.org").await;

    assert_eq!(first_client.get("/auth/me").await.refusal(), (401, "unauthorized"));
    let response = super::refresh(&app.anonymous(), refresh_token(&first_client)).await;
    assert_eq!(response.refusal(), (401, "invalid_refresh_token"));
    assert_eq!(second_client.get("/auth/me").await.status, 200);
    assert_eq!(eleventh.get("/auth/me").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_fields_are_reported() {
    let app = TestApp::spawn().await;

    for (body, missing) in [
        (json!({}), vec!["email", "password"]),
        (json!({ "email": null, "password": null }), vec!["email", "password"]),
        (json!({ "email": "a@example.org" }), vec!["password"]),
        (json!({ "email": "a@example.org", "password": null }), vec!["password"]),
        (json!({ "password": PASSWORD }), vec!["email"]),
        (json!({ "email": null, "password": PASSWORD }), vec!["email"]),
    ] {
        let expected: Vec<_> = missing.into_iter().map(|it| (it, "required")).collect();

        let response = app.anonymous().post("/auth/login/local", &body).await;

        assert_eq!(response.refusal(), (400, "validation_failed"), "{body}");
        assert_eq!(field_errors(&response), expected, "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_address_takes_as_long_as_a_wrong_password() {
    let setting = TestConfig::on(TestDatabase::sqlite())
        .with("PasswordHashing__MemoryKib", 19_456)
        .with("PasswordHashing__Iterations", 2);
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = setting.at(Arc::<ManualClock>::clone(&clock)).start().await;
    app.sign_up("ada@example.org").await;
    let stranger = app.anonymous();
    let time = async |email: &str| {
        let started = Instant::now();
        let response = sign_in(&stranger, email, "a wrong password").await;
        assert_eq!(response.status, 401);
        started.elapsed()
    };

    let mut known_times = Vec::new();
    let mut unknown_times = Vec::new();
    for round in 0..11 {
        // The maximum delay after wrong passwords.
        clock.advance(Duration::from_mins(15));
        known_times.push(time("ada@example.org").await);
        unknown_times.push(time(&format!("bob{round}@example.org")).await);
    }

    // Other tests run beside this one: the shortest times are of the sign-in alone.
    let known_time = known_times.into_iter().min().expect("a round");
    let unknown_time = unknown_times.into_iter().min().expect("a round");
    assert!(known_time < unknown_time * 2, "{known_time:?} and {unknown_time:?}");
    assert!(unknown_time < known_time * 2, "{known_time:?} and {unknown_time:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_ins_beyond_the_queue_are_refused_as_overload() {
    let setting = TestConfig::on(TestDatabase::sqlite())
        .with("PasswordHashing__MemoryKib", 19_456)
        .with("PasswordHashing__Iterations", 2)
        .with("PasswordHashing__Threads", 1)
        .with("PasswordHashing__QueueLength", 3);
    let app = setting.start().await;
    app.sign_up("ada@example.org").await;
    let strangers: Vec<_> = (0..12).map(|_| app.anonymous()).collect();

    let sign_ins = strangers.iter().map(|it| sign_in(it, "ada@example.org", PASSWORD));
    let mut responses = join_all(sign_ins).await;
    responses.sort_by_key(|it| it.status);

    let refused_response = responses.pop().unwrap();
    assert_eq!(refused_response.refusal(), (503, "overloaded"));
    assert!(refused_response.header("retry-after").is_some());
    let served_count = responses.iter().filter(|it| it.status == 200).count();
    // A busy machine may fill the queue before its first entry is taken.
    assert!(served_count >= 3, "{served_count}");
    assert_eq!(sign_in(&app.anonymous(), "ada@example.org", PASSWORD).await.status, 200);
}
