//! Verification of addresses.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{Clock as _, SystemClock};
use pia_policy::Terms;
use pia_server_testkit::client::{TestResponse, keys};
use pia_server_testkit::emails::{emails_to, link_to, names_to, redeem, target, token};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig, terms};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::sign_in;

const ADA: &str = "ada@example.org";
const REQUIRED: &str = "LocalAuth__RequireEmailVerification";

on_both_databases!(
    a_new_account_signs_in_once_the_link_was_opened,
    a_taken_address_gets_the_same_response_and_its_owner_an_email,
    of_concurrent_uses_of_a_link_one_verifies,
    an_older_account_verifies_and_continues_with_its_token,
    resending_returns_the_same_response_for_every_address,
    the_owner_of_an_address_replaces_an_earlier_unverified_registration,
    an_unverified_account_frees_its_seat_after_a_week,
);

async fn start_with_verification(database: TestDatabase) -> TestApp {
    TestConfig::on(database).with_mail().with(REQUIRED, true).start().await
}

/// Starts a server where Ada has registered. Returns it with the path of her link.
async fn start_with_registered_ada(database: TestDatabase) -> (TestApp, String) {
    let app = start_with_verification(database).await;
    assert_eq!(register(&app, ADA).await.status, 200);
    let link = link_to(&app, ADA).await;
    let path = target(&app, &link).to_owned();
    (app, path)
}

async fn register(app: &TestApp, email: &str) -> TestResponse {
    let credentials = json!({ "email": email, "password": PASSWORD });
    app.anonymous().post("/auth/register", &credentials).await
}

async fn resend(app: &TestApp, body: &Value) -> TestResponse {
    app.anonymous().post("/auth/resend-verification", body).await
}

async fn an_unverified_account_frees_its_seat_after_a_week(database: TestDatabase) {
    let one_seat = Terms { max_users: Some(1), ..terms() };
    let app = TestConfig::on(database)
        .licensed(Some(one_seat))
        .with_mail()
        .with(REQUIRED, true)
        .start()
        .await;
    assert_eq!(register(&app, ADA).await.status, 200);

    let full_response = register(&app, "bob@example.org").await;
    let in_eight_days = SystemClock.now() + Duration::from_hours(8 * 24);

    // An instance deletes unverified accounts when it starts.
    let clock_in_eight_days = Arc::new(ManualClock::new(in_eight_days));
    let _beside =
        TestConfig::beside(&app).with(REQUIRED, true).at(clock_in_eight_days).start().await;

    assert_eq!(full_response.refusal(), (403, "user_limit_reached"));
    until(async || (register(&app, "bob@example.org").await.status == 200).then_some(())).await;
    let early_response = sign_in(&app.anonymous(), ADA, PASSWORD).await;
    assert_eq!(early_response.refusal(), (401, "invalid_credentials"));
}

async fn a_new_account_signs_in_once_the_link_was_opened(database: TestDatabase) {
    let app = start_with_verification(database).await;

    let registration_response = register(&app, " Ada@Example.org ").await;
    let early_response = sign_in(&app.anonymous(), ADA, PASSWORD).await;
    let wrong_response = sign_in(&app.anonymous(), ADA, "a wrong password").await;
    let link = link_to(&app, "Ada@Example.org").await;
    let verification_response = redeem(&app.anonymous(), target(&app, &link)).await;
    let second_response = redeem(&app.anonymous(), target(&app, &link)).await;
    let envelope = sign_in(&app.anonymous(), ADA, PASSWORD).await;

    assert_eq!(registration_response.status, 200, "{}", registration_response.text());
    assert_eq!(
        keys(&registration_response.body),
        ["message", "requiresEmailVerification", "success"]
    );
    assert_eq!(registration_response.body["requiresEmailVerification"], true);
    assert_eq!(early_response.refusal(), (403, "email_not_verified"));
    assert_eq!(wrong_response.refusal(), (401, "invalid_credentials"));
    assert_eq!(names_to(&app, "Ada@Example.org").await, ["verify-address", "verify-address"]);
    assert_eq!(verification_response.status, 200);
    assert_eq!(verification_response.body, json!({ "success": true }));
    assert_eq!(second_response.refusal(), (400, "invalid_verification_token"));

    let me = app.anonymous().with_tokens(&envelope.body).get("/auth/me").await;
    assert_eq!(me.body["emailVerified"], true);
}

async fn a_taken_address_gets_the_same_response_and_its_owner_an_email(database: TestDatabase) {
    let app = start_with_verification(database).await;

    let fresh_response = register(&app, ADA).await;
    let taken = register(&app, " ADA@example.org").await;
    let bob = json!({ "email": "bob@example.org", "password": "another fine passphrase" });
    let before = app.anonymous().post("/auth/register", &bob).await;
    let link = link_to(&app, "bob@example.org").await;
    redeem(&app.anonymous(), target(&app, &link)).await;
    let late_response = register(&app, "bob@example.org").await;
    let bobs = sign_in(&app.anonymous(), "bob@example.org", "another fine passphrase").await;

    for other in [&taken, &before, &late_response] {
        assert_eq!(other.status, fresh_response.status);
        assert_eq!(other.text(), fresh_response.text());
    }
    assert_eq!(bobs.status, 200, "the password is unchanged");
    // Ada's address is unverified, so its owner may not have an account yet.
    assert_eq!(names_to(&app, ADA).await, ["verify-address", "password-reset"]);
    assert_eq!(names_to(&app, "bob@example.org").await, ["verify-address", "address-taken"]);
}

async fn of_concurrent_uses_of_a_link_one_verifies(database: TestDatabase) {
    let (app, path) = start_with_registered_ada(database).await;
    let stranger = app.anonymous();

    let responses = join_all((0..32).map(|_| redeem(&stranger, &path))).await;

    let verified_count = responses.iter().filter(|it| it.status == 200).count();
    let refused_count =
        responses.iter().filter(|it| it.error() == "invalid_verification_token").count();
    assert_eq!(verified_count, 1);
    assert_eq!(refused_count, 31);
}

async fn an_older_account_verifies_and_continues_with_its_token(database: TestDatabase) {
    let app = TestConfig::on(database).with_mail().start().await;
    let ada = app.sign_up(ADA).await;
    assert_eq!(ada.get("/api/ai/templates").await.status, 200);
    app.reload(&json!({ "LocalAuth": { "RequireEmailVerification": true } }));

    let response = ada.get("/api/ai/templates").await;
    let me = ada.get("/auth/me").await;
    resend(&app, &json!({ "email": ADA })).await;
    let link = link_to(&app, ADA).await;
    let verification_response = redeem(&app.anonymous(), target(&app, &link)).await;

    assert_eq!(response.refusal(), (403, "email_not_verified"));
    assert_eq!(me.status, 200);
    assert_eq!(me.body["emailVerified"], false);
    assert_eq!(verification_response.status, 200, "{}", verification_response.text());
    assert_eq!(ada.get("/api/ai/templates").await.status, 200);
}

async fn resending_returns_the_same_response_for_every_address(database: TestDatabase) {
    let (app, path) = start_with_registered_ada(database).await;
    register(&app, "bob@example.org").await;
    redeem(&app.anonymous(), &path).await;

    let waiting_response = resend(&app, &json!({ "email": "bob@example.org" })).await;
    let verified = resend(&app, &json!({ "email": ADA })).await;
    let unknown_response = resend(&app, &json!({ "email": "eve@example.org" })).await;
    let impossible = resend(&app, &json!({ "email": "no\u{0} address" })).await;

    assert_eq!(waiting_response.status, 200, "{}", waiting_response.text());
    assert_eq!(keys(&waiting_response.body), ["message", "success"]);
    for other in [verified, unknown_response, impossible] {
        assert_eq!(other.status, 200);
        assert_eq!(other.text(), waiting_response.text());
    }
    assert_eq!(names_to(&app, "bob@example.org").await, ["verify-address"; 2]);
    assert_eq!(names_to(&app, ADA).await, ["verify-address"]);
}

async fn the_owner_of_an_address_replaces_an_earlier_unverified_registration(
    database: TestDatabase,
) {
    let app = start_with_verification(database).await;
    register(&app, ADA).await;
    let password = "a password of the owner";

    let credentials = json!({ "email": ADA, "password": password });
    let response = app.anonymous().post("/auth/register", &credentials).await;
    let link = link_to(&app, ADA).await;
    let body = json!({ "token": token(&link), "email": ADA, "newPassword": password });
    let reset_response = app.anonymous().post("/auth/reset-password", &body).await;

    assert_eq!(response.status, 200);
    assert_eq!(reset_response.status, 200, "{}", reset_response.text());
    assert_eq!(sign_in(&app.anonymous(), ADA, password).await.status, 200);
    assert_eq!(sign_in(&app.anonymous(), ADA, PASSWORD).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_of_an_address_is_notified_three_times_an_hour() {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(TestDatabase::sqlite())
        .with_mail()
        .with(REQUIRED, true)
        .at(Arc::<ManualClock>::clone(&clock))
        .start()
        .await;
    register(&app, ADA).await;
    let path = link_to(&app, ADA).await;
    assert_eq!(redeem(&app.anonymous(), target(&app, &path)).await.status, 200);

    for _ in 0..2 {
        clock.advance(Duration::from_hours(1));
        for _ in 0..4 {
            assert_eq!(register(&app, ADA).await.status, 200);
        }
    }

    let names = names_to(&app, ADA).await;
    assert_eq!(names[..1], ["verify-address"]);
    assert_eq!(names[1..], ["address-taken"; 6]);
}

#[tokio::test(flavor = "multi_thread")]
async fn browsers_are_redirected_to_a_page_and_only_json_clients_redeem() {
    let (app, path) = start_with_registered_ada(TestDatabase::sqlite()).await;
    let page = path.replace("/auth/verify-email?", "/auth/verify-email.html?");
    let accept = |it: &'static str| [("accept", it)];
    let stranger = app.anonymous();

    for kinds in [
        "text/html",
        "text/html,application/xhtml+xml,*/*;q=0.8",
        "TEXT/HTML;q=0.9",
        "application/json, text/html",
        "*/*",
        "",
        "application/*",
        "application/json;q=0",
    ] {
        let redirect = stranger.send("GET", &path, &accept(kinds), b"").await;

        assert_eq!(redirect.status, 302, "{kinds}");
        assert_eq!(redirect.header("location"), Some(&*page), "{kinds}");
    }
    let bare = stranger.get(&path).await;
    let head = stranger.send("HEAD", &path, &accept("application/json"), b"").await;
    let json_only = accept("application/json, text/html;q=0");
    let redemption_response = stranger.send("GET", &path, &json_only, b"").await;

    assert_eq!(bare.status, 302);
    assert_eq!(bare.header("location"), Some(&*page));
    assert_eq!(head.status, 302);
    assert_eq!(head.header("location"), Some(&*page));
    assert_eq!(redemption_response.status, 200, "{}", redemption_response.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_under_the_base_path() {
    let setting =
        TestConfig::on(TestDatabase::sqlite()).with_mail().with("Server__BasePath", "/pia");
    let app = setting.with(REQUIRED, true).start().await;
    register(&app, ADA).await;
    let link = link_to(&app, ADA).await;

    let path = format!("/pia{}", target(&app, &link));
    let redirect = app.anonymous().send("GET", &path, &[("accept", "text/html")], b"").await;

    let location = redirect.header("location").unwrap_or_default();
    assert!(location.starts_with("/pia/auth/verify-email.html?userId="), "{location}");
    assert!(app.config.latest().server.public_url.as_str().ends_with("/pia"));
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_links_are_refused_alike() {
    let (app, path) = start_with_registered_ada(TestDatabase::sqlite()).await;
    register(&app, "bob@example.org").await;
    let bobs = link_to(&app, "bob@example.org").await;
    let (start, own) = path.rsplit_once("token=").expect("a token");
    let user = start.split(['=', '&']).nth(1).expect("an id");
    let route = "/auth/verify-email";
    let nonsense = format!("{route}?userId={user}&token=nonsense");
    let refused_response = redeem(&app.anonymous(), &nonsense).await;

    for query in [
        format!("userId={user}&token="),
        format!("userId={user}&token={}", token(&bobs)),
        format!("userId={user}&token={}", "A".repeat(43)),
        format!("userId={user}&token={}", "A".repeat(5000)),
        format!("userId={user}&token={own}%00"),
        format!("userId={}&token={own}", uuid::Uuid::now_v7()),
        format!("userId=5&token={own}"),
        format!("userId=&token={own}"),
        format!("userId=%00%ff&token={own}"),
    ] {
        let response = redeem(&app.anonymous(), &format!("{route}?{query}")).await;

        assert_eq!(response.refusal(), (400, "invalid_verification_token"), "{query:.80}");
        assert_eq!(response.bytes, refused_response.bytes, "{query:.80}");
    }
    assert_eq!(redeem(&app.anonymous(), &path).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_parameters_of_a_link_are_reported_by_name() {
    let app = TestApp::spawn().await;

    for (query, fields) in [
        ("", vec!["userId", "token"]),
        ("?", vec!["userId", "token"]),
        ("?userId=5", vec!["token"]),
        ("?token=x", vec!["userId"]),
        ("?userid=5&Token=x", vec!["userId", "token"]),
        ("?token=x&token=y&userId=5", vec![""]),
    ] {
        let path = format!("/auth/verify-email{query}");
        let response = redeem(&app.anonymous(), &path).await;

        assert_eq!(response.refusal(), (400, "validation_failed"), "{query}");
        let errors = response.body["errors"].as_array().expect("errors");
        let reported: Vec<_> =
            errors.iter().map(|it| it["field"].as_str().expect("text")).collect();
        assert_eq!(reported, fields, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_expires_after_a_day() {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(TestDatabase::sqlite())
        .with_mail()
        .with(REQUIRED, true)
        .at(Arc::<ManualClock>::clone(&clock))
        .start()
        .await;
    register(&app, ADA).await;
    register(&app, "bob@example.org").await;
    let first_link = link_to(&app, ADA).await;
    let second_link = link_to(&app, "bob@example.org").await;

    clock.advance(Duration::from_secs(24 * 3600 - 1));
    let in_time = redeem(&app.anonymous(), target(&app, &first_link)).await;
    clock.advance(Duration::from_secs(1));
    let late_response = redeem(&app.anonymous(), target(&app, &second_link)).await;

    assert_eq!(in_time.status, 200);
    assert_eq!(late_response.refusal(), (400, "invalid_verification_token"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_gets_three_more_emails_an_hour() {
    let (app, _) = start_with_registered_ada(TestDatabase::sqlite()).await;

    for _ in 0..3 {
        assert_eq!(resend(&app, &json!({ "email": ADA })).await.status, 200);
        let early_response = sign_in(&app.anonymous(), ADA, PASSWORD).await;
        assert_eq!(early_response.refusal(), (403, "email_not_verified"));
    }

    assert_eq!(names_to(&app, ADA).await, ["verify-address"; 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hosted_routes_require_verification_too() {
    let app = start_with_verification(TestDatabase::sqlite()).await;
    let credentials = json!({ "email": ADA, "password": PASSWORD });

    let registration_response = app.anonymous().post("/api/auth/register", &credentials).await;
    let early_response = app.anonymous().post("/api/auth/login", &credentials).await;

    assert_eq!(registration_response.body["requiresEmailVerification"], true);
    assert_eq!(early_response.refusal(), (403, "email_not_verified"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_requirement_no_email_is_sent() {
    let app = TestConfig::on(TestDatabase::sqlite()).with_mail().start().await;
    app.sign_up(ADA).await;

    assert_eq!(register(&app, ADA).await.refusal(), (409, "email_exists"));
    assert!(emails_to(&app, ADA).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_mail_relay_that_is_reported_first() {
    let app = TestApp::spawn().await;
    app.sign_up(ADA).await;

    for path in ["/auth/forgot-password", "/auth/resend-verification"] {
        for body in ["", "{", "[]", "{}", r#"{"email":5}"#, r#"{"email":"ada@example.org"}"#] {
            let response = app.anonymous().send("POST", path, &[], body.as_bytes()).await;

            assert_eq!(response.refusal(), (400, "smtp_not_configured"), "{path} {body}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_fields_and_other_types_are_reported_by_field() {
    let app = start_with_verification(TestDatabase::sqlite()).await;

    for path in ["/auth/forgot-password", "/auth/resend-verification"] {
        for (body, code) in [
            (json!({}), "required"),
            (json!({ "email": null }), "required"),
            (json!({ "email": "" }), "required"),
            (json!({ "email": "  " }), "required"),
            (json!({ "Email": ADA }), "required"),
            (json!({ "email": 5 }), "invalid"),
            (json!({ "email": [ADA] }), "invalid"),
            (json!({ "email": { "a": ADA } }), "invalid"),
        ] {
            let response = app.anonymous().post(path, &body).await;

            assert_eq!(response.refusal(), (400, "validation_failed"), "{path} {body}");
            let error = &response.body["errors"][0];
            assert_eq!(error["field"], "email");
            assert_eq!(error["code"], json!(code));
        }
    }
}
