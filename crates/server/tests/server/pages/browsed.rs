//! Tests of the pages in a browser.

use pia_kernel::{Clock as _, QueuedEmail, SystemClock};
use pia_server_testkit::browser::{Browser, DOWN, ENTER, TAB};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::accessible::plant_usage;
use super::visitor::{ADA, start_with_admin};

/// Script that numbers the controls of a page that a person can see, and returns
/// their classes.
const NUMBER_CONTROLS: &str = "
    const controls = [...document.querySelectorAll(
        'a[href], button, input, select, textarea, summary',
    )].filter(it => it.type !== 'hidden' && !it.disabled
        && it.checkVisibility({ visibilityProperty: true }));
    controls.forEach((it, number) => { it.dataset.number = number; });
    return controls.map(it => it.className);";
/// Script that returns the number of the focused control, whether it has an
/// outline, and its text in HTML.
const FOCUSED_CONTROL: &str = "
    const focused = document.activeElement;
    const { outlineStyle, outlineWidth } = getComputedStyle(focused);
    const isOutlined = outlineStyle !== 'none' && parseFloat(outlineWidth) > 0;
    return [focused.dataset.number, isOutlined, focused.outerHTML.slice(0, 200)];";

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
    let first_field = browser.focused_name().await;
    browser.press("a guess".chars().chain([TAB])).await;
    let second_field = browser.focused_name().await;
    browser.press("no licence".chars().chain([TAB, ENTER])).await;

    assert_eq!(first_field, "token");
    assert_eq!(second_field, "license");
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
    let app = TestConfig::on(TestDatabase::sqlite())
        .with("LocalAuth__RequireBusinessDeclaration", "true")
        .start()
        .await;
    let browser = Browser::start("de-AT, de;q=0.9, en;q=0.5").await;
    browser.resize(320, 640).await;

    browser.goto(&address(&app, "/auth/register.html")).await;
    let heading = browser.text_of("h1").await;
    let is_too_wide = browser.is_too_wide().await;
    browser.press([TAB]).await;
    let first_field = browser.focused_name().await;
    // Submits the password alone.
    browser.press([TAB].into_iter().chain(PASSWORD.chars()).chain([ENTER])).await;
    let errors = browser.text_of("[role=alert]").await;
    let focused_alert = browser.focused_name().await;
    browser.press([TAB, ENTER]).await;
    let field_with_error = browser.focused_name().await;
    browser.press("ada@example.org".chars().chain([TAB])).await;
    browser.press(PASSWORD.chars().chain([TAB, TAB])).await;
    browser.press([DOWN, TAB, TAB, ENTER]).await;

    assert_eq!(heading, "Konto erstellen");
    assert!(!is_too_wide);
    assert_eq!(first_field, "email");
    assert!(errors.contains("Ihre E-Mail-"), "{errors}");
    assert!(errors.contains("privat nutzen"), "{errors}");
    assert_eq!(focused_alert, errors);
    assert_eq!(field_with_error, "email");
    let last_heading = browser.text_of("main:not(:has(form)) h1").await;
    assert_eq!(last_heading, "Konto erstellt");
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
async fn errors_of_a_policy_are_displayed_while_it_is_typed() {
    const FIELD: &str = "#contents-document";
    const STATUS: &str = "#contents-document-syntax";
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    let browser = Browser::start("de").await;
    browser.sign_in(&address(&app, "/admin/login"), ADA, PASSWORD).await;
    browser.goto(&address(&app, "/admin/policies/new")).await;
    let field = browser.find(FIELD).await;
    let clear = format!("document.querySelector('{FIELD}').value = ''");
    let border = format!("return getComputedStyle(document.querySelector('{FIELD}')).borderWidth");
    browser.run(&clear, json!([])).await;

    browser.click(&field).await;
    browser.press(r#"{ "enforce": { "a": 1, } }"#.chars()).await;
    let error = "Das ist kein gültiges JSON: Prüfen Sie Zeile 1, Spalte 24.";
    until(async || (browser.text_of(STATUS).await == error).then_some(())).await;
    let is_invalid = browser.property(&field, "ariaInvalid").await;
    let invalid_border = browser.run(&border, json!([])).await;
    browser.run(&clear, json!([])).await;
    browser.press(r#"{ "enforced": {} }"#.chars()).await;
    until(async || {
        let text = browser.text_of(STATUS).await;
        text.contains("Das Dokument hat einen unbekannten Abschnitt.").then_some(())
    })
    .await;
    browser.run(&clear, json!([])).await;
    browser.press("{}".chars()).await;
    until(async || browser.text_of(STATUS).await.is_empty().then_some(())).await;

    assert_eq!(is_invalid, "true");
    assert_eq!(invalid_border, "2px");
    assert_eq!(browser.property(&field, "ariaInvalid").await, "false");
    assert_eq!(browser.run(&border, json!([])).await, "1px");
    browser.assert_no_errors().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_a_form_of_the_console_lead_to_its_fields() {
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    let browser = Browser::start("en").await;
    browser.sign_in(&address(&app, "/admin/login"), ADA, PASSWORD).await;
    browser.goto(&address(&app, "/admin/personas/new")).await;
    browser.type_into("#contents-name", "Grace").await;
    browser.type_into("#contents-systemPrompt", "Be exact.").await;
    browser.type_into("#contents-accentColor", "red").await;

    browser.press([ENTER]).await;
    let alert = browser.text_of("[role=alert]").await;
    let focused_alert = browser.focused_name().await;
    browser.press([TAB, ENTER]).await;
    let field_with_error = browser.focused_name().await;

    assert!(alert.contains("Accent colour: Enter a colour as #RRGGBB."), "{alert}");
    assert_eq!(focused_alert, alert);
    assert_eq!(field_with_error, "accentColor");
    browser.assert_no_errors().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_in_progress_is_refreshed_unless_it_has_the_focus() {
    const STATUS: &str = "return document.querySelector('#queue .badge').textContent";
    const IS_LIVE: &str = "return document.querySelector('#state').hasAttribute('data-live')";
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite()).with_mail()).await;
    let browser = Browser::start("en").await;
    browser.sign_in(&address(&app, "/admin/login"), ADA, PASSWORD).await;
    let email = QueuedEmail::new("invitation").with("link", "https://pia.example/");
    app.queue(email.to_address(SystemClock.now(), "eve@example.org")).await;
    until(async || app.mails().await.iter().all(|it| it.failure.is_some()).then_some(())).await;
    browser.goto(&address(&app, "/admin/mail")).await;
    browser.run("document.querySelector('#queue a').focus()", json!([])).await;

    let is_live_at_first = browser.run(IS_LIVE, json!([])).await;
    app.execute("UPDATE mails SET failed_at = queued_at, sealed = NULL, failure = 'refused'").await;
    until(async || (browser.run(IS_LIVE, json!([])).await == false).then_some(())).await;
    let status_with_focus = browser.run(STATUS, json!([])).await;
    browser.run("document.activeElement.blur()", json!([])).await;
    until(async || (browser.run(STATUS, json!([])).await == "Failed").then_some(())).await;

    assert_eq!(is_live_at_first, true);
    assert_eq!(status_with_focus, "Retrying");
    browser.assert_no_errors().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_the_overview_are_refreshed_unless_their_table_is_open() {
    const CALLS: &str = "
        return document.querySelector('#usage tr:nth-child(2) td.number').textContent.trim()";
    const ACCOUNTS: &str = "return document.querySelector('#numbers dd').textContent.trim()";
    const INTERVALS: &str = "
        return [...document.querySelectorAll('section')].map(it => `${it.id} ${it.dataset.live}`)";
    const REFRESH_SOON: &str =
        "document.querySelectorAll('section').forEach(it => { it.dataset.live = 1; })";
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    let browser = Browser::start("en").await;
    browser.sign_in(&address(&app, "/admin/login"), ADA, PASSWORD).await;
    browser.goto(&address(&app, "/admin")).await;

    let intervals = browser.run(INTERVALS, json!([])).await;
    let calls_at_first = browser.run(CALLS, json!([])).await;
    plant_usage(&app).await;
    browser.run(REFRESH_SOON, json!([])).await;
    until(async || (browser.run(CALLS, json!([])).await == "1,280").then_some(())).await;
    browser.run("document.querySelector('#usage details').open = true", json!([])).await;
    app.execute("UPDATE usage_by_group SET calls = 7").await;
    app.sign_up("bob@example.org").await;
    browser.run(REFRESH_SOON, json!([])).await;
    until(async || (browser.run(ACCOUNTS, json!([])).await == "2").then_some(())).await;
    let calls_with_open_table = browser.run(CALLS, json!([])).await;
    browser.run("document.querySelector('#usage details').open = false", json!([])).await;
    until(async || (browser.run(CALLS, json!([])).await == "7").then_some(())).await;

    assert_eq!(intervals, json!(["attention 30", "usage 30", "numbers 30"]));
    assert_eq!(calls_at_first, "0");
    assert_eq!(calls_with_open_table, "1,280");
    browser.assert_no_errors().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keyboard_reaches_each_control_in_order_with_visible_focus() {
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    let browser = Browser::start("en").await;
    browser.resize(1280, 900).await;
    browser.sign_in(&address(&app, "/admin/login"), ADA, PASSWORD).await;

    for path in
        ["/admin", "/admin/groups/00000000-0000-7000-8000-000000000001", "/account/security"]
    {
        browser.goto(&address(&app, path)).await;
        let controls = browser.run(NUMBER_CONTROLS, json!([])).await;
        let classes = controls.as_array().expect("a list");
        assert_eq!(classes[0], "skip", "{path}");
        assert!(classes.len() > 5, "{path}: {controls}");
        for number in 0..classes.len() {
            browser.press([TAB]).await;
            let focused = browser.run(FOCUSED_CONTROL, json!([])).await;
            assert_eq!(focused[0], number.to_string(), "{path}: {focused}");
            assert_eq!(focused[1], true, "{path}: {focused}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_button_of_a_form_is_disabled_while_the_form_is_sent() {
    const SUBMIT: &str = "
        addEventListener('submit', it => it.preventDefault());
        const button = document.querySelector('#new form button');
        button.form.elements.namedItem('name').value = 'Sales';
        const states = [button.disabled];
        button.click();
        states.push(button.disabled);
        dispatchEvent(new Event('pageshow'));
        states.push(button.disabled);
        return states;";
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    let browser = Browser::start("en").await;
    browser.sign_in(&address(&app, "/admin/login"), ADA, PASSWORD).await;

    browser.goto(&address(&app, "/admin/groups")).await;
    let states = browser.run(SUBMIT, json!([])).await;

    assert_eq!(states, json!([false, true, false]));
}
