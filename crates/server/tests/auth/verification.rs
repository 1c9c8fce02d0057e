//! Showing that an address is one's own.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{Clock as _, SystemClock};
use pia_policy::Terms;
use pia_server_testkit::client::{Answer, keys};
use pia_server_testkit::harness::{PASSWORD, Setting, TestApp, terms};
use pia_server_testkit::letters::{letters_to, link_to, names_to, redeem, target, token};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::patience::until;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::sign_in;

const ADA: &str = "ada@example.org";
const REQUIRED: &str = "LocalAuth__RequireEmailVerification";

on_both_databases!(
    a_newcomer_comes_in_once_the_link_was_opened,
    a_taken_address_is_answered_alike_and_reported_to_its_owner,
    of_many_who_open_one_link_at_once_one_verifies,
    an_account_made_before_verifies_too_and_goes_on_with_its_token,
    whoever_requests_another_letter_gets_the_same_answer,
    whoever_registers_an_address_first_is_out_once_its_owner_comes,
    an_account_that_nobody_verifies_gives_its_seat_back_after_a_week,
);

async fn required(database: TestDatabase) -> TestApp {
    Setting::on(database).with_mail().with(REQUIRED, true).start().await
}

/// A server where Ada has just registered, and the way her link leads.
async fn registered(database: TestDatabase) -> (TestApp, String) {
    let app = required(database).await;
    assert_eq!(register(&app, ADA).await.status, 200);
    let link = link_to(&app, ADA).await;
    let path = target(&app, &link).to_owned();
    (app, path)
}

async fn register(app: &TestApp, email: &str) -> Answer {
    let person = json!({ "email": email, "password": PASSWORD });
    app.stranger().post("/auth/register", &person).await
}

async fn resend(app: &TestApp, body: &Value) -> Answer {
    app.stranger().post("/auth/resend-verification", body).await
}

async fn an_account_that_nobody_verifies_gives_its_seat_back_after_a_week(database: TestDatabase) {
    let one = Terms { max_users: Some(1), ..terms() };
    let setting = Setting::on(database).licensed(Some(one)).with_mail();
    let app = setting.with(REQUIRED, true).start().await;
    assert_eq!(register(&app, ADA).await.status, 200);
    let full = register(&app, "bob@example.org").await;
    let in_eight_days = SystemClock.now() + Duration::from_hours(8 * 24);

    // An instance clears away when it starts.
    let late = Arc::new(ManualClock::new(in_eight_days));
    let _beside = Setting::beside(&app).with(REQUIRED, true).at(late).start().await;

    assert_eq!(full.refusal(), (403, "user_limit_reached"));
    until(async || (register(&app, "bob@example.org").await.status == 200).then_some(())).await;
    let early = sign_in(&app.stranger(), ADA, PASSWORD).await;
    assert_eq!(early.refusal(), (401, "invalid_credentials"));
}

async fn a_newcomer_comes_in_once_the_link_was_opened(database: TestDatabase) {
    let app = required(database).await;

    let made = register(&app, " Ada@Example.org ").await;
    let early = sign_in(&app.stranger(), ADA, PASSWORD).await;
    let wrong = sign_in(&app.stranger(), ADA, "a wrong password").await;
    let link = link_to(&app, "Ada@Example.org").await;
    let verified = redeem(&app.stranger(), target(&app, &link)).await;
    let again = redeem(&app.stranger(), target(&app, &link)).await;
    let envelope = sign_in(&app.stranger(), ADA, PASSWORD).await;

    assert_eq!(made.status, 200, "{}", made.text());
    assert_eq!(keys(&made.body), ["message", "requiresEmailVerification", "success"]);
    assert_eq!(made.body["requiresEmailVerification"], true);
    assert_eq!(early.refusal(), (403, "email_not_verified"));
    assert_eq!(wrong.refusal(), (401, "invalid_credentials"));
    assert_eq!(names_to(&app, "Ada@Example.org").await, ["verify-address", "verify-address"]);
    assert_eq!((verified.status, &verified.body), (200, &json!({ "success": true })));
    assert_eq!(again.refusal(), (400, "invalid_verification_token"));
    let me = app.stranger().with_tokens(&envelope.body).get("/auth/me").await;
    assert_eq!(me.body["emailVerified"], true);
}

async fn a_taken_address_is_answered_alike_and_reported_to_its_owner(database: TestDatabase) {
    let app = required(database).await;

    let fresh = register(&app, ADA).await;
    let taken = register(&app, " ADA@example.org").await;
    let bob = json!({ "email": "bob@example.org", "password": "another fine passphrase" });
    let before = app.stranger().post("/auth/register", &bob).await;
    let link = link_to(&app, "bob@example.org").await;
    redeem(&app.stranger(), target(&app, &link)).await;
    let late = register(&app, "bob@example.org").await;
    let bobs = sign_in(&app.stranger(), "bob@example.org", "another fine passphrase").await;

    for other in [&taken, &before, &late] {
        assert_eq!((other.status, other.text()), (fresh.status, fresh.text()));
    }
    assert_eq!(bobs.status, 200, "the password stays as it was");
    // Nobody has shown that Ada's is theirs: whoever reads it may be new.
    assert_eq!(names_to(&app, ADA).await, ["verify-address", "password-reset"]);
    assert_eq!(names_to(&app, "bob@example.org").await, ["verify-address", "address-taken"]);
}

async fn of_many_who_open_one_link_at_once_one_verifies(database: TestDatabase) {
    let (app, path) = registered(database).await;
    let stranger = app.stranger();

    let answers = join_all((0..32).map(|_| redeem(&stranger, &path))).await;

    let verified = answers.iter().filter(|it| it.status == 200).count();
    let refused = answers.iter().filter(|it| it.error() == "invalid_verification_token").count();
    assert_eq!((verified, refused), (1, 31));
}

async fn an_account_made_before_verifies_too_and_goes_on_with_its_token(database: TestDatabase) {
    let app = Setting::on(database).with_mail().start().await;
    let ada = app.sign_up(ADA).await;
    assert_eq!(ada.get("/api/ai/templates").await.status, 200);
    app.reload(&json!({ "LocalAuth": { "RequireEmailVerification": true } }));

    let held = ada.get("/api/ai/templates").await;
    let me = ada.get("/auth/me").await;
    resend(&app, &json!({ "email": ADA })).await;
    let link = link_to(&app, ADA).await;
    let verified = redeem(&app.stranger(), target(&app, &link)).await;

    assert_eq!(held.refusal(), (403, "email_not_verified"));
    assert_eq!((me.status, &me.body["emailVerified"]), (200, &json!(false)));
    assert_eq!(verified.status, 200, "{}", verified.text());
    assert_eq!(ada.get("/api/ai/templates").await.status, 200);
}

async fn whoever_requests_another_letter_gets_the_same_answer(database: TestDatabase) {
    let (app, path) = registered(database).await;
    register(&app, "bob@example.org").await;
    redeem(&app.stranger(), &path).await;

    let waiting = resend(&app, &json!({ "email": "bob@example.org" })).await;
    let verified = resend(&app, &json!({ "email": ADA })).await;
    let unknown = resend(&app, &json!({ "email": "eve@example.org" })).await;
    let impossible = resend(&app, &json!({ "email": "no\u{0} address" })).await;

    assert_eq!(waiting.status, 200, "{}", waiting.text());
    assert_eq!(keys(&waiting.body), ["message", "success"]);
    for other in [verified, unknown, impossible] {
        assert_eq!((other.status, other.text()), (200, waiting.text()));
    }
    assert_eq!(names_to(&app, "bob@example.org").await, ["verify-address"; 2]);
    assert_eq!(names_to(&app, ADA).await, ["verify-address"]);
}

async fn whoever_registers_an_address_first_is_out_once_its_owner_comes(database: TestDatabase) {
    let app = required(database).await;
    register(&app, ADA).await;
    let theirs = "a password of the owner";

    let person = json!({ "email": ADA, "password": theirs });
    let answer = app.stranger().post("/auth/register", &person).await;
    let link = link_to(&app, ADA).await;
    let body = json!({ "token": token(&link), "email": ADA, "newPassword": theirs });
    let chosen = app.stranger().post("/auth/reset-password", &body).await;

    assert_eq!((answer.status, chosen.status), (200, 200), "{}", chosen.text());
    assert_eq!(sign_in(&app.stranger(), ADA, theirs).await.status, 200);
    assert_eq!(sign_in(&app.stranger(), ADA, PASSWORD).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_of_an_address_is_reported_three_times_an_hour() {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let setting = Setting::on(TestDatabase::sqlite()).with_mail().with(REQUIRED, true);
    let app = setting.at(Arc::<ManualClock>::clone(&clock)).start().await;
    register(&app, ADA).await;
    let path = link_to(&app, ADA).await;
    assert_eq!(redeem(&app.stranger(), target(&app, &path)).await.status, 200);

    for _ in 0..2 {
        clock.advance(Duration::from_hours(1));
        for _ in 0..4 {
            assert_eq!(register(&app, ADA).await.status, 200);
        }
    }

    let reported = names_to(&app, ADA).await;
    assert_eq!(reported[..1], ["verify-address"]);
    assert_eq!(reported[1..], ["address-taken"; 6]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_is_displayed_a_page_and_nothing_that_only_looks_redeems() {
    let (app, path) = registered(TestDatabase::sqlite()).await;
    let page = path.replace("/auth/verify-email?", "/auth/verify-email.html?");
    let accept = |it: &'static str| [("accept", it)];
    let stranger = app.stranger();

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
        let presented = stranger.send("GET", &path, &accept(kinds), b"").await;

        assert_eq!(
            (presented.status, presented.header("location")),
            (302, Some(&*page)),
            "{kinds}"
        );
    }
    let bare = stranger.get(&path).await;
    let looked = stranger.send("HEAD", &path, &accept("application/json"), b"").await;
    let unwilling = accept("application/json, text/html;q=0");
    let redeemed = stranger.send("GET", &path, &unwilling, b"").await;

    assert_eq!((bare.status, bare.header("location")), (302, Some(&*page)));
    assert_eq!((looked.status, looked.header("location")), (302, Some(&*page)));
    assert_eq!(redeemed.status, 200, "{}", redeemed.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_under_the_path_that_the_server_lives_under() {
    let setting = Setting::on(TestDatabase::sqlite()).with_mail().with("Server__BasePath", "/pia");
    let app = setting.with(REQUIRED, true).start().await;
    register(&app, ADA).await;
    let link = link_to(&app, ADA).await;

    let path = format!("/pia{}", target(&app, &link));
    let presented = app.stranger().send("GET", &path, &[("accept", "text/html")], b"").await;

    let place = presented.header("location").unwrap_or_default();
    assert!(place.starts_with("/pia/auth/verify-email.html?userId="), "{place}");
    assert!(app.config.latest().server.public_url.as_str().ends_with("/pia"));
}

#[tokio::test(flavor = "multi_thread")]
async fn links_that_are_not_good_are_refused_alike() {
    let (app, path) = registered(TestDatabase::sqlite()).await;
    register(&app, "bob@example.org").await;
    let bobs = link_to(&app, "bob@example.org").await;
    let (start, own) = path.rsplit_once("token=").expect("a token");
    let user = start.split(['=', '&']).nth(1).expect("an id");
    let place = "/auth/verify-email";
    let nonsense = format!("{place}?userId={user}&token=nonsense");
    let refused = redeem(&app.stranger(), &nonsense).await;

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
        let answer = redeem(&app.stranger(), &format!("{place}?{query}")).await;

        assert_eq!(answer.refusal(), (400, "invalid_verification_token"), "{query:.80}");
        assert_eq!(answer.bytes, refused.bytes, "{query:.80}");
    }
    assert_eq!(redeem(&app.stranger(), &path).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_link_lacks_is_reported_by_its_name() {
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
        let answer = redeem(&app.stranger(), &path).await;

        assert_eq!(answer.refusal(), (400, "validation_failed"), "{query}");
        let errors = answer.body["errors"].as_array().expect("faults");
        let reported: Vec<_> =
            errors.iter().map(|it| it["field"].as_str().expect("text")).collect();
        assert_eq!(reported, fields, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_is_good_for_a_day() {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let setting = Setting::on(TestDatabase::sqlite()).with_mail().with(REQUIRED, true);
    let app = setting.at(Arc::<ManualClock>::clone(&clock)).start().await;
    register(&app, ADA).await;
    register(&app, "bob@example.org").await;
    let (first, second) = (link_to(&app, ADA).await, link_to(&app, "bob@example.org").await);

    clock.advance(Duration::from_secs(24 * 3600 - 1));
    let in_time = redeem(&app.stranger(), target(&app, &first)).await;
    clock.advance(Duration::from_secs(1));
    let late = redeem(&app.stranger(), target(&app, &second)).await;

    assert_eq!(in_time.status, 200);
    assert_eq!(late.refusal(), (400, "invalid_verification_token"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_gets_three_more_letters_an_hour() {
    let (app, _) = registered(TestDatabase::sqlite()).await;

    for _ in 0..3 {
        assert_eq!(resend(&app, &json!({ "email": ADA })).await.status, 200);
        let early = sign_in(&app.stranger(), ADA, PASSWORD).await;
        assert_eq!(early.refusal(), (403, "email_not_verified"));
    }

    assert_eq!(names_to(&app, ADA).await, ["verify-address"; 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_hosts_it_under_another_name_is_answered_alike() {
    let app = required(TestDatabase::sqlite()).await;
    let person = json!({ "email": ADA, "password": PASSWORD });

    let made = app.stranger().post("/api/auth/register", &person).await;
    let early = app.stranger().post("/api/auth/login", &person).await;

    assert_eq!(made.body["requiresEmailVerification"], true);
    assert_eq!(early.refusal(), (403, "email_not_verified"));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_is_required_nobody_is_written_to() {
    let app = Setting::on(TestDatabase::sqlite()).with_mail().start().await;
    app.sign_up(ADA).await;

    assert_eq!(register(&app, ADA).await.refusal(), (409, "email_exists"));
    assert!(letters_to(&app, ADA).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_mail_that_is_stated_before_anything_else() {
    let app = TestApp::spawn().await;
    app.sign_up(ADA).await;

    for path in ["/auth/forgot-password", "/auth/resend-verification"] {
        for body in ["", "{", "[]", "{}", r#"{"email":5}"#, r#"{"email":"ada@example.org"}"#] {
            let answer = app.stranger().send("POST", path, &[], body.as_bytes()).await;

            assert_eq!(answer.refusal(), (400, "smtp_not_configured"), "{path} {body}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_text_is_reported_by_its_field() {
    let app = required(TestDatabase::sqlite()).await;

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
            let answer = app.stranger().post(path, &body).await;

            assert_eq!(answer.refusal(), (400, "validation_failed"), "{path} {body}");
            let error = &answer.body["errors"][0];
            assert_eq!((&error["field"], &error["code"]), (&json!("email"), &json!(code)));
        }
    }
}
