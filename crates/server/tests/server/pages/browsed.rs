//! Tests of the pages in a browser.

use pia_server_testkit::browser::{Browser, DOWN, ENTER, TAB};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::signed_in::{ADA, start_with_admin};

fn address(app: &TestApp, path: &str) -> String {
    format!("http://{}{path}", app.addr)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_set_up_page_works_by_keyboard_in_a_narrow_window() {
    let app = TestConfig::on(TestDatabase::sqlite()).licensed(None).start().await;
    let browser = Browser::start("en").await;
    browser.resize(320, 640).await;

    browser.goto(&address(&app, "/admin/setup")).await;
    browser.press([TAB]).await;
    let first = browser.focused_name().await;
    browser.press("a guess".chars().chain([TAB])).await;
    let second = browser.focused_name().await;
    browser.press("no licence".chars().chain([TAB, ENTER])).await;

    assert_eq!(first, "token");
    assert_eq!(second, "license");
    let alert = browser.text_of("[role=alert]").await;
    assert!(alert.contains("The setup token is wrong"), "{alert}");
    assert_eq!(browser.focused_name().await, alert);
    assert_eq!(browser.title().await, "Error: Set up this server");
    assert_eq!(browser.url().await, address(&app, "/admin/setup"));
    assert!(!browser.is_too_wide().await);
    browser.assert_no_errors().await;
}

/// The server relies on the header by which browsers distinguish forms of the
/// same site from those of others.
#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_created_in_german_with_the_keyboard_alone() {
    let rules = ("LocalAuth__RequireBusinessDeclaration", "true");
    let app = TestConfig::on(TestDatabase::sqlite()).with(rules.0, rules.1).start().await;
    let browser = Browser::start("de-AT, de;q=0.9, en;q=0.5").await;
    browser.resize(320, 640).await;

    browser.goto(&address(&app, "/auth/register.html")).await;
    let german = browser.text_of("h1").await;
    let too_wide = browser.is_too_wide().await;
    browser.press([TAB]).await;
    let first = browser.focused_name().await;
    // Submits the password alone.
    browser.press([TAB].into_iter().chain(PASSWORD.chars()).chain([ENTER])).await;
    let errors = browser.text_of("[role=alert]").await;
    let focused = browser.focused_name().await;
    browser.press([TAB, ENTER]).await;
    let followed = browser.focused_name().await;
    browser.press("ada@example.org".chars().chain([TAB])).await;
    browser.press(PASSWORD.chars().chain([TAB, TAB])).await;
    browser.press([DOWN, TAB, TAB, ENTER]).await;

    assert_eq!(german, "Konto erstellen");
    assert!(!too_wide);
    assert_eq!(first, "email");
    assert!(errors.contains("Ihre E-Mail-"), "{errors}");
    assert!(errors.contains("privat nutzen"), "{errors}");
    assert_eq!(focused, errors);
    assert_eq!(followed, "email");
    let heading = browser.text_of("main:not(:has(form)) h1").await;
    assert_eq!(heading, "Konto erstellt");
    browser.assert_no_errors().await;
    let envelope = json!({ "email": "ada@example.org", "password": PASSWORD });
    let signed_in = app.anonymous().post("/auth/login/local", &envelope).await;
    assert_eq!(signed_in.status, 200, "{}", signed_in.text());
}

/// Browsers send the domain of an email field in its ASCII form.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_with_an_international_domain_signs_in_as_typed() {
    let app = TestApp::spawn().await;
    let browser = Browser::start("en").await;

    browser.goto(&address(&app, "/auth/register.html")).await;
    browser.press([TAB].into_iter().chain("karl@bücher.example".chars()).chain([TAB])).await;
    browser.press(PASSWORD.chars().chain([ENTER])).await;
    browser.find("main:not(:has(form)) h1").await;

    let envelope = json!({ "email": "karl@bücher.example", "password": PASSWORD });
    let signed_in = app.anonymous().post("/auth/login/local", &envelope).await;
    assert_eq!(signed_in.status, 200, "{}", signed_in.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn input_survives_a_change_of_language() {
    let app = TestApp::spawn().await;
    let browser = Browser::start("en").await;

    browser.goto(&address(&app, "/auth/register.html")).await;
    browser.press([TAB].into_iter().chain("ada@example.org".chars())).await;
    let switch = browser.find("footer button").await;
    browser.click(&switch).await;
    let email = browser.find("html[lang=de] #email").await;

    assert_eq!(browser.property(&email, "value").await, "ada@example.org");
    assert!(browser.text_of("h1").await.contains("Konto erstellen"));
    browser.assert_no_errors().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_sign_in_is_explained_in_the_selected_language() {
    let app = TestApp::spawn().await;
    let browser = Browser::start("en").await;

    browser.goto(&address(&app, "/auth/error?reason=access_denied")).await;
    let english = browser.text_of("main").await;
    let switch = browser.find("footer a").await;
    browser.click(&switch).await;
    let german = browser.text_of("main").await;

    assert!(english.contains("cancelled"), "{english}");
    assert!(german.contains("abgebrochen"), "{german}");
    browser.assert_no_errors().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_position_of_a_syntax_error_is_displayed_while_json_is_typed() {
    const FIELD: &str = "#contents-document";
    const STATUS: &str = "#contents-document-syntax";
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    let browser = Browser::start("de").await;
    browser.sign_in(&address(&app, "/admin/login"), ADA, PASSWORD).await;
    browser.goto(&address(&app, "/admin/policies/new")).await;
    let field = browser.find(FIELD).await;
    let clear = format!("document.querySelector('{FIELD}').value = ''");
    browser.run(&clear, json!([])).await;

    browser.click(&field).await;
    browser.press(r#"{ "enforce": { "a": 1, } }"#.chars()).await;
    let error = "Das ist kein gültiges JSON: Prüfen Sie Zeile 1, Spalte 24.";
    until(async || (browser.text_of(STATUS).await == error).then_some(())).await;
    let marked = browser.property(&field, "ariaInvalid").await;
    browser.run(&clear, json!([])).await;
    browser.press("{}".chars()).await;
    until(async || browser.text_of(STATUS).await.is_empty().then_some(())).await;

    assert_eq!(marked, "true");
    assert_eq!(browser.property(&field, "ariaInvalid").await, "false");
    browser.assert_no_errors().await;
}
