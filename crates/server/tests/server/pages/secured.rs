//! Tests of securing an account in a browser: second factor and passkey.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::browser::Browser;
use pia_server_testkit::forwarder::Forwarder;
use pia_server_testkit::harness::{PASSWORD, TestConfig};
use pia_server_testkit::polling::until;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::proofs::STALE;
use super::visitor::ADA;

/// Maximum time in which both a second factor and a passkey are set up.
const MAX_DURATION: Duration = Duration::from_mins(1);

/// Returns the code that an authenticator app has at a time, in seconds, for a secret, which a
/// page displays in groups of letters.
pub(super) fn code(displayed_secret: &str, seconds: u64) -> String {
    let secret: String = displayed_secret.split_whitespace().collect();
    let uri = format!("otpauth://totp/Pia:ada?secret={secret}&issuer=Pia");
    let totp = totp_rs::Totp::from_url(&uri).expect("TOTP");
    totp.generate(seconds).to_string()
}

/// Returns the seconds of the system's time.
fn now() -> u64 {
    u64::try_from(SystemClock.now().micros() / 1_000_000).expect("a time")
}

/// Sets up an authenticator app from the page of the account.
pub(super) async fn set_up_app(browser: &Browser) {
    browser.click_on("main a[href$='account/security/authenticator']").await;
    browser.type_into("#confirm-proof", PASSWORD).await;
    browser.click_on("#confirm button").await;
    let secret = browser.text_of(".secret code").await;
    browser.find("#code-code[inputmode=numeric][autocomplete=one-time-code]").await;
    browser.type_into("#code-code", &code(&secret, now())).await;
    browser.click_on("#code button").await;
    let notice = browser.text_of("[role=status]").await;
    assert!(notice.contains("Two-factor authentication is on"), "{notice}");
}

/// Creates a passkey from the page of the account.
async fn create_passkey(browser: &Browser) {
    browser.click_on(".beside a[href$='account/passkeys']").await;
    browser.click_on("a.button[href$='account/passkeys/new']").await;
    browser.type_into("#new-proof", PASSWORD).await;
    browser.click_on("#new button").await;
    browser.type_into("form:not([hidden]) #create-name", "Work laptop").await;
    browser.click_on("#create button").await;
    browser.find("main table a[href*='account/passkeys/']").await;
    let page = browser.text_of("main").await;
    assert!(page.contains("Your passkey is added") && page.contains("Work laptop"), "{page}");
}

/// Waits until a page is open.
async fn wait_for_url(browser: &Browser, url: &str) {
    until(async || (browser.url().await == url).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authenticator_app_and_a_passkey_are_set_up_within_a_minute_and_sign_in() {
    let forwarder = Forwarder::new().await;
    let origin = forwarder.origin();
    let app =
        TestConfig::on(TestDatabase::sqlite()).with("Server__PublicUrl", &origin).start().await;
    forwarder.forward_to(app.addr);
    app.sign_up(ADA).await;
    let browser = Browser::start("en").await;
    browser.resize(1280, 900).await;
    let login = format!("{origin}/account/login");
    browser.goto(&login).await;
    browser.add_authenticator().await;
    browser.sign_in(&login, ADA, PASSWORD).await;

    let start = Instant::now();
    browser.click_on(".beside a[href$='account/security']").await;
    set_up_app(&browser).await;
    let codes = browser.text_of("#codes").await;
    browser.find("#codes a.button[href$='account/security']").await;
    create_passkey(&browser).await;
    let duration = start.elapsed();

    // With autofill the authenticator offers the passkey by itself.
    browser.click_on(".beside button").await;
    wait_for_url(&browser, &format!("{origin}/account")).await;
    // Without it, the person uses the button.
    let hidden = json!({ "cmd": "Page.addScriptToEvaluateOnNewDocument", "params": {
        "source": "PublicKeyCredential.isConditionalMediationAvailable = async () => false",
    } });
    browser.command("POST", "goog/cdp/execute", &hidden).await;
    browser.click_on(".beside button").await;
    browser.click_on("#passkey form:not([hidden]) button").await;
    wait_for_url(&browser, &format!("{origin}/account")).await;

    assert!(duration < MAX_DURATION, "{duration:?}");
    assert!(codes.contains("I have saved the codes"), "{codes}");
    assert!(!codes.contains("first steps"), "not for users: {codes}");
    browser.assert_no_errors().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_confirms_an_action() {
    let forwarder = Forwarder::new().await;
    let origin = forwarder.origin();
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(TestDatabase::sqlite())
        .with("Server__PublicUrl", &origin)
        .at(Arc::<ManualClock>::clone(&clock))
        .start()
        .await;
    forwarder.forward_to(app.addr);
    app.sign_up(ADA).await;
    let browser = Browser::start("en").await;
    browser.resize(1280, 900).await;
    let login = format!("{origin}/account/login");
    browser.goto(&login).await;
    browser.add_authenticator().await;
    browser.sign_in(&login, ADA, PASSWORD).await;
    create_passkey(&browser).await;
    clock.advance(STALE);

    browser.click_on("main table a[href*='account/passkeys/']").await;
    browser.click_on("#remove button").await;
    browser.find("#owner-proof").await;
    browser.click_on("#passkey form:not([hidden]) button").await;
    browser.find("main p.empty").await;

    let page = browser.text_of("main").await;
    assert!(page.contains("The passkey is removed"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_that_must_wait_is_explained_in_the_language_of_the_page() {
    let forwarder = Forwarder::new().await;
    let origin = forwarder.origin();
    let app = TestConfig::on(TestDatabase::sqlite())
        .with("Server__PublicUrl", &origin)
        .with("RateLimits__LocalAuth", 1)
        // The limit is of a minute, which does not end.
        .at(Arc::new(ManualClock::new(SystemClock.now())))
        .start()
        .await;
    forwarder.forward_to(app.addr);
    app.anonymous().post("/auth/webauthn/login/begin", &json!({})).await;
    let browser = Browser::start("de").await;

    browser.goto(&format!("{origin}/account/login")).await;
    browser.click_on("#passkey form:not([hidden]) button").await;
    let text = until(async || {
        let text = browser.text_of("#passkey [role=status]").await;
        (!text.is_empty()).then_some(text)
    })
    .await;

    assert_eq!(
        text,
        "Zu viele Versuche. Warten Sie einen Moment und versuchen Sie es dann erneut."
    );
}
