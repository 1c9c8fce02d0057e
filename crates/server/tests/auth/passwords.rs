//! Resetting and changing passwords.

mod changing;

use std::sync::Arc;
use std::time::{Duration, Instant};

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::client::{TestResponse, keys};
use pia_server_testkit::emails::{emails_to, link_to, names_to, open, target, token};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_storage::schema::{accounts, mailed_tokens};
use pia_storage::{DbError, on_conn};
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{another_session, field_errors, refresh, refresh_token, sign_in};

const ADA: &str = "ada@example.org";
const NEW: &str = "a perfectly fine passphrase";

on_both_databases!(
    a_forgotten_password_is_reset_by_email,
    of_concurrent_uses_of_a_token_one_resets_the_password,
    every_address_gets_the_same_response,
    a_token_is_valid_on_every_instance,
    no_token_is_stored_in_plain_text,
);

async fn with_mail(database: TestDatabase) -> TestApp {
    TestConfig::on(database).with_mail().start().await
}

/// Starts a server where Ada has requested a reset. Returns it with her token.
async fn with_reset_token(database: TestDatabase) -> (TestApp, String) {
    let app = with_mail(database).await;
    app.sign_up(ADA).await;
    let token = request_token(&app).await;
    (app, token)
}

/// Requests a reset for Ada and returns the token in her email.
async fn request_token(app: &TestApp) -> String {
    let response = forgot(app, ADA).await;
    assert_eq!(response.status, 200, "{}", response.text());
    token(&link_to(app, ADA).await).to_owned()
}

async fn forgot(app: &TestApp, email: &str) -> TestResponse {
    app.anonymous().post("/auth/forgot-password", &json!({ "email": email })).await
}

async fn reset(app: &TestApp, email: &str, token: &str, password: &str) -> TestResponse {
    let body = json!({ "token": token, "email": email, "newPassword": password });
    app.anonymous().post("/auth/reset-password", &body).await
}

/// Removes all passwords, as if every account came from a provider.
async fn remove_passwords(app: &TestApp) {
    let update = diesel::update(accounts::table).set(accounts::password_hash.eq(None::<String>));
    let db = open(app);
    let result: Result<usize, DbError> = on_conn!(db.writer(), |conn| update.execute(conn).await?);
    assert!(result.expect("accounts") > 0);
}

async fn a_forgotten_password_is_reset_by_email(database: TestDatabase) {
    let app = with_mail(database).await;
    let ada = app.sign_up(ADA).await;
    let other_session = another_session(&app.anonymous(), ADA).await;
    assert_eq!(other_session.get("/auth/me").await.status, 200);

    let requested = forgot(&app, " Ada@Example.org").await;
    let link = link_to(&app, ADA).await;
    let response = reset(&app, "ADA@example.org ", token(&link), NEW).await;
    let second_response = reset(&app, ADA, token(&link), "yet another passphrase").await;

    assert_eq!(requested.status, 200);
    assert_eq!(keys(&requested.body), ["message", "success"]);
    assert!(target(&app, &link).starts_with("/auth/reset-password.html?email=ada%40example%2Eorg"));
    assert_eq!(response.status, 200);
    assert_eq!(response.body, json!({ "success": true }));
    assert_eq!(second_response.refusal(), (400, "invalid_reset_token"));
    for session in [&ada, &other_session] {
        assert_eq!(session.get("/auth/me").await.refusal(), (401, "unauthorized"));
        let response = refresh(&app.anonymous(), refresh_token(session)).await;
        assert_eq!(response.refusal(), (401, "invalid_refresh_token"));
    }

    let old_response = sign_in(&app.anonymous(), ADA, PASSWORD).await;
    assert_eq!(old_response.refusal(), (401, "invalid_credentials"));
    let accepted_response = sign_in(&app.anonymous(), ADA, NEW).await;
    let me = app.anonymous().with_tokens(&accepted_response.body).get("/auth/me").await;
    assert_eq!(me.body["emailVerified"], true, "the link was opened");
    assert_eq!(names_to(&app, ADA).await, ["password-reset", "password-changed"]);
}

async fn of_concurrent_uses_of_a_token_one_resets_the_password(database: TestDatabase) {
    let (app, token) = with_reset_token(database).await;
    let passwords: Vec<_> = (0..24).map(|it| format!("a perfectly fine passphrase {it}")).collect();

    let responses = join_all(passwords.iter().map(|it| reset(&app, ADA, &token, it))).await;

    let chosen: Vec<_> = responses.iter().zip(&passwords).filter(|it| it.0.status == 200).collect();
    let refused_count = responses.iter().filter(|it| it.error() == "invalid_reset_token").count();
    assert_eq!(chosen.len(), 1);
    assert_eq!(refused_count, 23);
    assert_eq!(sign_in(&app.anonymous(), ADA, chosen[0].1).await.status, 200);
}

async fn every_address_gets_the_same_response(database: TestDatabase) {
    let app = with_mail(database).await;
    app.sign_up(ADA).await;

    let known_response = forgot(&app, ADA).await;
    let unknown_response = forgot(&app, "bob@example.org").await;
    let impossible = forgot(&app, "no\u{0} address").await;
    let long = forgot(&app, &format!("{}@example.org", "x".repeat(100_000))).await;
    remove_passwords(&app).await;
    let without_password = forgot(&app, ADA).await;

    assert_eq!(known_response.status, 200, "{}", known_response.text());
    for other in [unknown_response, impossible, long, without_password] {
        assert_eq!(other.status, 200);
        assert_eq!(other.text(), known_response.text());
    }
    assert_eq!(names_to(&app, ADA).await, ["password-reset"]);
    assert!(emails_to(&app, "bob@example.org").await.is_empty());
}

async fn a_token_is_valid_on_every_instance(database: TestDatabase) {
    let (app, token) = with_reset_token(database).await;
    let other_server = TestConfig::beside(&app).with_mail().start().await;

    let response = reset(&other_server, ADA, &token, NEW).await;
    let second_response = reset(&app, ADA, &token, "yet another passphrase").await;

    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(second_response.refusal(), (400, "invalid_reset_token"));
    assert_eq!(sign_in(&app.anonymous(), ADA, NEW).await.status, 200);
}

async fn no_token_is_stored_in_plain_text(database: TestDatabase) {
    let (app, token) = with_reset_token(database).await;
    let hashes = mailed_tokens::table.select(mailed_tokens::hash);
    let db = open(&app);

    let result: Result<Vec<Vec<u8>>, DbError> =
        on_conn!(db.reader(), |conn| hashes.load(conn).await?);
    let mut dump = result.expect("rows").concat();
    assert_eq!(dump.len(), 32);
    // For SQLite also all pages and the log, including deleted data.
    for path in app.database_files() {
        dump.extend(std::fs::read(path).expect("a file"));
    }

    assert!(!dump.windows(token.len()).any(|it| it == token.as_bytes()));
}

#[tokio::test(flavor = "multi_thread")]
async fn links_ignore_forwarded_hosts() {
    let app = with_mail(TestDatabase::sqlite()).await;
    app.sign_up(ADA).await;
    let body = json!({ "email": ADA }).to_string();
    let headers = [
        ("x-forwarded-host", "evil.example"),
        ("forwarded", "host=evil.example"),
        ("x-forwarded-proto", "gopher"),
    ];

    app.anonymous().send("POST", "/auth/forgot-password", &headers, body.as_bytes()).await;

    let link = link_to(&app, ADA).await;
    assert!(link.starts_with(app.config.latest().server.public_url.as_str()), "{link}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_tokens_and_addresses_are_refused_alike() {
    let (app, token) = with_reset_token(TestDatabase::sqlite()).await;
    app.sign_up("eve@example.org").await;
    let refused_response = reset(&app, ADA, "nonsense", NEW).await;
    let long_text = "A".repeat(5000);

    for (email, token) in [
        ("eve@example.org", &*token),
        ("nobody@example.org", &*token),
        ("", &*token),
        ("no address", &*token),
        ("ada@example.org\u{0}", &*token),
        (ADA, ""),
        (ADA, "\u{0}ÄÖÜ"),
        (ADA, &*"A".repeat(43)),
        (ADA, &*token.to_lowercase()),
        (ADA, &*format!("{token} ")),
        (ADA, &*long_text),
        (&*long_text, &*token),
    ] {
        let response = reset(&app, email, token, NEW).await;

        assert_eq!(response.refusal(), (400, "invalid_reset_token"), "{email:.40} {token:.50}");
        assert_eq!(response.bytes, refused_response.bytes, "{email:.40} {token:.50}");
    }
    assert_eq!(reset(&app, ADA, &token, NEW).await.status, 200);
    assert_eq!(reset(&app, ADA, &token, NEW).await.bytes, refused_response.bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_expires_after_an_hour() {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(TestDatabase::sqlite())
        .with_mail()
        .at(Arc::<ManualClock>::clone(&clock))
        .start()
        .await;
    app.sign_up(ADA).await;
    let first_token = request_token(&app).await;

    clock.advance(Duration::from_hours(1));
    let late_response = reset(&app, ADA, &first_token, NEW).await;
    let second_token = request_token(&app).await;
    clock.advance(Duration::from_secs(3599));
    let in_time = reset(&app, ADA, &second_token, NEW).await;

    assert_eq!(late_response.refusal(), (400, "invalid_reset_token"));
    assert_eq!(in_time.status, 200, "{}", in_time.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_weak_password_is_reported_and_leaves_the_token_valid() {
    let (app, token) = with_reset_token(TestDatabase::sqlite()).await;

    for (password, code) in [
        ("", "required"),
        ("short", "too_short"),
        ("password123", "common"),
        (ADA, "personal"),
        (&*"x".repeat(129), "too_long"),
    ] {
        let response = reset(&app, ADA, &token, password).await;

        assert_eq!(response.refusal(), (400, "validation_failed"), "{code}");
        assert_eq!(field_errors(&response), [("newPassword", code)]);
    }
    assert_eq!(reset(&app, ADA, &token, NEW).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn at_most_three_emails_an_hour_are_sent_and_each_is_valid() {
    let (app, first) = with_reset_token(TestDatabase::sqlite()).await;
    for _ in 0..4 {
        assert_eq!(forgot(&app, ADA).await.status, 200);
    }

    assert_eq!(names_to(&app, ADA).await, ["password-reset"; 3]);
    let last_link = link_to(&app, ADA).await;
    assert_eq!(reset(&app, ADA, &first, NEW).await.status, 200);
    let response = reset(&app, ADA, token(&last_link), NEW).await;
    assert_eq!(
        response.refusal(),
        (400, "invalid_reset_token"),
        "using one token invalidates the others"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_fields_and_other_types_are_reported_by_field() {
    let (app, token) = with_reset_token(TestDatabase::sqlite()).await;
    let valid_body = json!({ "token": token, "email": ADA, "newPassword": NEW });

    for field in ["token", "email", "newPassword"] {
        for (value, code) in [
            (Value::Null, "required"),
            (json!(5), "invalid"),
            (json!(["x"]), "invalid"),
            (json!({}), "invalid"),
            (json!(true), "invalid"),
        ] {
            let mut body = valid_body.clone();
            body[field] = value;
            let response = app.anonymous().post("/auth/reset-password", &body).await;

            assert_eq!(response.refusal(), (400, "validation_failed"), "{field} {code}");
            assert_eq!(field_errors(&response), [(field, code)]);
        }
    }
    let nothing = app.anonymous().post("/auth/reset-password", &json!({})).await;
    let required = [("token", "required"), ("email", "required"), ("newPassword", "required")];
    assert_eq!(field_errors(&nothing), required);
    assert_eq!(app.anonymous().post("/auth/reset-password", &valid_body).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_of_tokens_are_rate_limited_by_address() {
    let app = TestConfig::on(TestDatabase::sqlite())
        .with_mail()
        .with("RateLimits__Auth", 3)
        .start()
        .await;

    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(reset(&app, ADA, &"A".repeat(43), NEW).await.status);
    }

    assert_eq!(statuses, [400, 400, 400, 429]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_leaves_the_second_factor_on() {
    let (app, token) = with_reset_token(TestDatabase::sqlite()).await;
    let ada = another_session(&app.anonymous(), ADA).await;
    let setup = ada.post("/auth/mfa/totp/begin", &json!({ "password": PASSWORD })).await;
    let uri = setup.body["otpauthUri"].as_str().expect("a URI");
    let totp = totp_rs::Totp::from_url(uri).expect("TOTP");
    let now = u64::try_from(SystemClock.now().micros() / 1_000_000).expect("a time");
    let code = json!({ "code": totp.generate(now).to_string() });
    assert_eq!(ada.post("/auth/mfa/totp/verify", &code).await.status, 200);

    assert_eq!(reset(&app, ADA, &token, NEW).await.status, 200);

    let envelope = sign_in(&app.anonymous(), ADA, NEW).await;
    assert_eq!(envelope.refusal(), (401, "mfa_required"));
}

/// Each address is requested once, since emails to an address are limited.
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_address_takes_as_long_as_a_known_one() {
    const ROUNDS: usize = 41;
    let app = with_mail(TestDatabase::sqlite()).await;
    for round in 0..ROUNDS {
        let credentials =
            json!({ "email": format!("{round}@known.example"), "password": PASSWORD });
        assert_eq!(app.anonymous().post("/auth/register", &credentials).await.status, 200);
    }

    let time = async |email: String| {
        let started = Instant::now();
        assert_eq!(forgot(&app, &email).await.status, 200);
        started.elapsed()
    };

    let mut known_times = Vec::new();
    let mut unknown_times = Vec::new();
    for round in 0..ROUNDS {
        known_times.push(time(format!("{round}@known.example")).await);
        unknown_times.push(time(format!("{round}@other.example")).await);
    }

    let known_median = median(known_times);
    let unknown_median = median(unknown_times);
    assert!(
        known_median < unknown_median * 2 && unknown_median < known_median * 2,
        "{known_median:?} and {unknown_median:?}"
    );
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
