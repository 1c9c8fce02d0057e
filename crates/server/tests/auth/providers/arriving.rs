//! Coming back from a provider: to the browser that began, once, in time.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, SystemClock};
use pia_server_testkit::client::Answer;
use pia_server_testkit::harness::{Setting, TestApp};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;

use super::browser::Browser;
use super::fake::{Fake, back};
use super::{
    code_reported, desktop_login, error_reported, knowing, location, login, parameter, provided,
    with_fake,
};

on_both_databases!(
    only_the_browser_that_began_comes_back,
    a_sign_in_is_finished_once,
    a_sign_in_goes_on_at_another_instance,
    a_sign_in_waits_ten_minutes,
    what_a_provider_refuses_is_reported_with_the_state,
);

/// Asserts the page that says that no sign-in of this browser is under way.
fn refused(answer: &Answer) {
    let page = location(answer);
    assert_eq!(page.path(), "/auth/error");
    assert_eq!(parameter(&page, "reason").as_deref(), Some("invalid_state"));
}

async fn left(app: &TestApp, fake: &Fake) -> (Browser, String) {
    let mut browser = Browser::of(app);
    let left = browser.get(&desktop_login()).await;
    let back = fake.admit(&location(&left));
    (browser, back)
}

async fn only_the_browser_that_began_comes_back(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let (mut ada, to_ada) = left(&app, &fake).await;
    let (mut eve, to_eve) = left(&app, &fake).await;
    let calls = fake.called("/token");

    refused(&Browser::of(&app).get(&to_ada).await);
    refused(&eve.get(&to_ada).await);
    refused(&ada.get(&to_eve).await);
    let planted = "x".repeat(43);
    refused(&Browser::of(&app).with("__Host-pia_sign_in", Some(&planted)).get(&to_ada).await);
    let requested_json = app.stranger().get(&to_ada).await;

    assert_eq!(requested_json.refusal(), (400, "invalid_state"));
    assert_eq!(fake.called("/token"), calls);
    // Nobody could take it away from them.
    assert_eq!(code_reported(&ada.get(&to_ada).await).len(), 43);
    assert_eq!(code_reported(&eve.get(&to_eve).await).len(), 43);
}

async fn a_sign_in_is_finished_once(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let (mut browser, back) = left(&app, &fake).await;

    let looked = browser.send("HEAD", &back).await;
    let first = browser.get(&back).await;
    let second = browser.get(&back).await;

    refused(&looked);
    assert_eq!(code_reported(&first).len(), 43);
    refused(&second);
}

async fn a_sign_in_goes_on_at_another_instance(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let beside = provided(Setting::beside(&app), &fake.issuer).start().await;
    let (browser, back) = left(&app, &fake).await;

    let mut there =
        Browser::of(&beside).with("__Host-pia_sign_in", browser.cookie("__Host-pia_sign_in"));
    let arrived = there.get(&back).await;

    assert_eq!(code_reported(&arrived).len(), 43);
}

async fn a_sign_in_waits_ten_minutes(database: TestDatabase) {
    let fake = Fake::start().await;
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = knowing(database, &fake.issuer).at(Arc::clone(&clock) as _).start().await;
    fake.session_ref("exp", (super::fake::now() + 3600).into());
    let (mut early, soon) = left(&app, &fake).await;

    clock.advance(Duration::from_secs(599));
    let in_time = early.get(&soon).await;
    let (mut late, back) = left(&app, &fake).await;
    clock.advance(Duration::from_mins(10));
    let too_late = late.get(&back).await;

    assert_eq!(code_reported(&in_time).len(), 43);
    refused(&too_late);
}

async fn what_a_provider_refuses_is_reported_with_the_state(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    for (input, code) in [
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
        let sent = browser.get(&desktop_login()).await;
        let state = parameter(&location(&sent), "state").expect("a state");
        let input: Vec<_> = input.into_iter().chain([("state", state.as_str())]).collect();

        let arrived = browser.get(&back(&input)).await;

        assert_eq!(error_reported(&arrived), code, "{input:?}");
    }
    assert_eq!(fake.called("/token"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_was_tampered_with_is_nobodys() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    let mut browser = Browser::of(&app);
    let sent = browser.get(&desktop_login()).await;
    let state = parameter(&location(&sent), "state").expect("a state");
    let swapped: String = state.chars().rev().collect();

    for wrong in
        [&swapped, "", "x", state.split_at(1).1, &format!("{state}x"), "ä\0", &"s".repeat(9000)]
    {
        refused(&browser.get(&back(&[("code", "a"), ("state", wrong)])).await);
    }
    refused(&browser.get("/auth/callback").await);
    refused(&browser.get("/auth/callback?code=a").await);
    let twice = back(&[("state", &state), ("state", &state), ("code", "a")]);
    let reported = Browser::without_pages(&app).get(&twice).await;
    assert_eq!(reported.refusal(), (400, "validation_failed"));
    let page = location(&browser.get(&twice).await);
    assert_eq!(page.as_str(), "https://pia.example/auth/error?reason=validation_failed");

    assert_eq!(fake.called("/token"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_target_a_failure_is_a_page_for_browsers_and_json_for_others() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    fake.session_ref("email_verified", false.into());
    let mut browser = Browser::of(&app);
    let start = login(&[("provider", "oidc"), ("state", "unheard")]);
    let sent = browser.get(&start).await;
    let page = browser.get(&fake.admit(&location(&sent))).await;
    let sent = browser.get(&start).await;
    let cookie =
        format!("__Host-pia_sign_in={}", browser.cookie("__Host-pia_sign_in").expect("a cookie"));
    let headers = [("accept", "application/json"), ("cookie", cookie.as_str())];
    let way = fake.admit(&location(&sent));

    let json = app.stranger().send("GET", &way, &headers, b"").await;

    assert_eq!(parameter(&location(&page), "reason").as_deref(), Some("email_not_verified"));
    assert_eq!(json.refusal(), (403, "email_not_verified"));
}
