//! Callbacks from a provider: in the browser that started, once, in time.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, SystemClock};
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;

use super::browser::Browser;
use super::fake::{Fake, callback_path};
use super::{
    configure_provider, desktop_login, location, login, parameter, redirect_code, redirect_error,
    with_fake, with_provider,
};

on_both_databases!(
    only_the_browser_that_started_a_sign_in_completes_it,
    a_sign_in_completes_once,
    a_sign_in_continues_on_another_instance,
    a_sign_in_expires_after_ten_minutes,
    errors_of_the_provider_are_passed_on_with_the_state,
);

/// Asserts a redirect to the page for an unknown state.
fn assert_refused(response: &TestResponse) {
    let page = location(response);
    assert_eq!(page.path(), "/auth/error");
    assert_eq!(parameter(&page, "reason").as_deref(), Some("invalid_state"));
}

/// Starts a sign-in. Returns the browser and the path of its callback.
async fn start(app: &TestApp, fake: &Fake) -> (Browser, String) {
    let mut browser = Browser::of(app);
    let redirect = browser.get(&desktop_login()).await;
    let callback = fake.admit(&location(&redirect));
    (browser, callback)
}

async fn only_the_browser_that_started_a_sign_in_completes_it(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let (mut ada, adas_callback) = start(&app, &fake).await;
    let (mut eve, eves_callback) = start(&app, &fake).await;
    let calls = fake.called("/token");

    assert_refused(&Browser::of(&app).get(&adas_callback).await);
    assert_refused(&eve.get(&adas_callback).await);
    assert_refused(&ada.get(&eves_callback).await);
    let planted_text = "x".repeat(43);
    assert_refused(
        &Browser::of(&app)
            .with("__Host-pia_sign_in", Some(&planted_text))
            .get(&adas_callback)
            .await,
    );
    let as_json = app.anonymous().get(&adas_callback).await;

    assert_eq!(as_json.refusal(), (400, "invalid_state"));
    assert_eq!(fake.called("/token"), calls);
    // The failed attempts have not consumed the sign-ins.
    assert_eq!(redirect_code(&ada.get(&adas_callback).await).len(), 43);
    assert_eq!(redirect_code(&eve.get(&eves_callback).await).len(), 43);
}

async fn a_sign_in_completes_once(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let (mut browser, callback) = start(&app, &fake).await;

    let looked = browser.send("HEAD", &callback).await;
    let first_response = browser.get(&callback).await;
    let second_response = browser.get(&callback).await;

    assert_refused(&looked);
    assert_eq!(redirect_code(&first_response).len(), 43);
    assert_refused(&second_response);
}

async fn a_sign_in_continues_on_another_instance(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let beside = configure_provider(TestConfig::beside(&app), &fake.issuer).start().await;
    let (browser, callback) = start(&app, &fake).await;

    let mut there =
        Browser::of(&beside).with("__Host-pia_sign_in", browser.cookie("__Host-pia_sign_in"));
    let arrived = there.get(&callback).await;

    assert_eq!(redirect_code(&arrived).len(), 43);
}

async fn a_sign_in_expires_after_ten_minutes(database: TestDatabase) {
    let fake = Fake::start().await;
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = with_provider(database, &fake.issuer).at(Arc::clone(&clock) as _).start().await;
    fake.set_claim("exp", (super::fake::now() + 3600).into());
    let (mut early, early_callback) = start(&app, &fake).await;

    clock.advance(Duration::from_secs(599));
    let in_time = early.get(&early_callback).await;
    let (mut late, callback) = start(&app, &fake).await;
    clock.advance(Duration::from_mins(10));
    let too_late = late.get(&callback).await;

    assert_eq!(redirect_code(&in_time).len(), 43);
    assert_refused(&too_late);
}

async fn errors_of_the_provider_are_passed_on_with_the_state(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    for (parameters, code) in [
        (vec![("error", "access_denied")], "access_denied"),
        (vec![("error", "access_denied"), ("code", "a")], "access_denied"),
        (vec![("error", "server_error"), ("error_description", "<script>")], "provider_error"),
        (vec![("error", "")], "provider_error"),
        (vec![("code", "")], "provider_error"),
        (vec![], "provider_error"),
        (vec![("code", &*"c".repeat(4097))], "provider_error"),
        (vec![("code", "a"), ("iss", "https://evil.example")], "provider_error"),
    ] {
        let mut browser = Browser::of(&app);
        let redirect = browser.get(&desktop_login()).await;
        let state = parameter(&location(&redirect), "state").expect("a state");
        let parameters: Vec<_> =
            parameters.into_iter().chain([("state", state.as_str())]).collect();

        let arrived = browser.get(&callback_path(&parameters)).await;

        assert_eq!(redirect_error(&arrived), code, "{parameters:?}");
    }
    assert_eq!(fake.called("/token"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modified_state_is_refused() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    let mut browser = Browser::of(&app);
    let redirect = browser.get(&desktop_login()).await;
    let state = parameter(&location(&redirect), "state").expect("a state");
    let swapped: String = state.chars().rev().collect();

    for wrong in
        [&swapped, "", "x", state.split_at(1).1, &format!("{state}x"), "ä\0", &"s".repeat(9000)]
    {
        assert_refused(&browser.get(&callback_path(&[("code", "a"), ("state", wrong)])).await);
    }
    assert_refused(&browser.get("/auth/callback").await);
    assert_refused(&browser.get("/auth/callback?code=a").await);

    let twice = callback_path(&[("state", &state), ("state", &state), ("code", "a")]);
    let as_json = Browser::without_pages(&app).get(&twice).await;
    assert_eq!(as_json.refusal(), (400, "validation_failed"));

    let page = location(&browser.get(&twice).await);
    assert_eq!(page.as_str(), "https://pia.example/auth/error?reason=validation_failed");

    assert_eq!(fake.called("/token"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_target_a_failure_is_a_page_for_browsers_and_json_for_others() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    fake.set_claim("email_verified", false.into());
    let mut browser = Browser::of(&app);
    let start = login(&[("provider", "oidc"), ("state", "unheard")]);
    let start_redirect = browser.get(&start).await;
    let page = browser.get(&fake.admit(&location(&start_redirect))).await;
    let start_redirect = browser.get(&start).await;
    let cookie =
        format!("__Host-pia_sign_in={}", browser.cookie("__Host-pia_sign_in").expect("a cookie"));
    let headers = [("accept", "application/json"), ("cookie", cookie.as_str())];
    let callback = fake.admit(&location(&start_redirect));

    let json = app.anonymous().send("GET", &callback, &headers, b"").await;

    assert_eq!(parameter(&location(&page), "reason").as_deref(), Some("email_not_verified"));
    assert_eq!(json.refusal(), (403, "email_not_verified"));
}
