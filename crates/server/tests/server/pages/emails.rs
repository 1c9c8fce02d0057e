//! Tests of the pages that links in emails lead to.

use pia_kernel::Language;
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::emails::{emails_to, link_to, target, token};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::{is_page, open, submit};

const ADA: &str = "ada@example.org";
const NEW: &str = "a perfectly fine passphrase";

on_both_databases!(
    an_address_is_confirmed_by_the_button_and_not_by_opening_the_link,
    a_forgotten_password_is_replaced_on_the_pages,
);

async fn sign_in(app: &TestApp, password: &str) -> TestResponse {
    let credentials = json!({ "email": ADA, "password": password });
    app.anonymous().post("/auth/login/local", &credentials).await
}

/// Opens the link of the last email to Ada.
async fn page_of_link(app: &TestApp) -> String {
    let link = link_to(app, ADA).await;
    let first = open(app, target(app, &link)).await;
    first.header("location").unwrap_or_else(|| target(app, &link)).to_owned()
}

async fn an_address_is_confirmed_by_the_button_and_not_by_opening_the_link(database: TestDatabase) {
    let app = TestConfig::on(database)
        .with_mail()
        .with("LocalAuth__RequireEmailVerification", true)
        .start()
        .await;
    let ada = [("email", ADA), ("password", PASSWORD)];

    let registered = submit(&app, "/auth/register.html?lang=de", &ada).await;
    let page = page_of_link(&app).await;
    let opened = open(&app, &page).await;
    let second_response = open(&app, &page).await;
    let before = sign_in(&app, PASSWORD).await;
    let query = page.split_once('?').expect("a query").1;
    let fields: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let pressed = submit(&app, "/auth/verify-email.html", &fields).await;
    let twice = submit(&app, "/auth/verify-email.html", &fields).await;
    let after = sign_in(&app, PASSWORD).await;

    let location = "register.html?lang=de&done=mailed";
    assert_eq!(registered.status, 303);
    assert_eq!(registered.header("location"), Some(location));
    assert_eq!(opened.status, 200);
    assert_eq!(second_response.status, 200);
    assert_eq!(before.status, 403);
    assert!(is_page(&opened) && opened.text().contains(">Confirm address</button>"));
    assert_eq!(pressed.status, 303);
    assert_eq!(twice.status, 400);
    assert_eq!(after.status, 200);
    assert!(twice.text().contains("resend-verification.html"), "{}", twice.text());
    let first = emails_to(&app, ADA).await.remove(0);
    assert_eq!(first.language, Some(Language::De), "the page's language precedes the browser's");
}

async fn a_forgotten_password_is_replaced_on_the_pages(database: TestDatabase) {
    let app = TestConfig::on(database).with_mail().start().await;
    let ada = app.sign_up(ADA).await;
    let response = submit(&app, "/auth/forgot-password.html", &[("email", ADA)]).await;
    let unknown_email = [("email", "nobody@example.org")];
    let unknown = submit(&app, "/auth/forgot-password.html", &unknown_email).await;
    let page = page_of_link(&app).await;
    let reset_token = token(&page).to_owned();
    let reset = async |password: &str| {
        let fields = [("email", ADA), ("token", reset_token.as_str()), ("password", password)];
        submit(&app, "/auth/reset-password.html", &fields).await
    };

    let opened = open(&app, &page).await;
    let weak = reset("12345678").await;
    let done = reset(NEW).await;
    let spent = reset("another fine passphrase").await;

    assert_eq!(response.status, unknown.status);
    assert_eq!(response.text(), unknown.text());
    assert!(is_page(&opened) && opened.text().contains(&format!("value=\"{ADA}\"")));
    assert!(weak.status == 400 && weak.text().contains("easy to guess"), "{}", weak.text());
    assert_eq!(done.status, 303);
    assert_eq!(done.header("location"), Some("reset-password.html?done=changed"));
    assert!(spent.status == 400 && spent.text().contains("no longer valid"));
    assert_eq!(sign_in(&app, PASSWORD).await.status, 401);
    assert_eq!(sign_in(&app, NEW).await.status, 200);
    assert_eq!(ada.get("/auth/me").await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_verification_link_is_requested_on_the_page() {
    let app = TestConfig::on(TestDatabase::sqlite())
        .with_mail()
        .with("LocalAuth__RequireEmailVerification", true)
        .start()
        .await;
    submit(&app, "/auth/register.html", &[("email", ADA), ("password", PASSWORD)]).await;

    let response = submit(&app, "/auth/resend-verification.html", &[("email", ADA)]).await;

    assert_eq!(response.status, 303);
    assert_eq!(emails_to(&app, ADA).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_mail_the_page_refuses_to_send_links() {
    let app = TestApp::spawn().await;

    let response = submit(&app, "/auth/forgot-password.html", &[("email", ADA)]).await;

    assert!(
        response.status == 400 && response.text().contains("does not send emails"),
        "{}",
        response.text()
    );
}
