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
    let response = open(app, target(app, &link)).await;
    response.header("location").unwrap_or_else(|| target(app, &link)).to_owned()
}

async fn an_address_is_confirmed_by_the_button_and_not_by_opening_the_link(database: TestDatabase) {
    let app = TestConfig::on(database)
        .with_mail()
        .with("LocalAuth__RequireEmailVerification", true)
        .start()
        .await;
    let ada = [("email", ADA), ("password", PASSWORD)];

    let registration = submit(&app, "/auth/register.html?lang=de", &ada).await;
    let path = page_of_link(&app).await;
    let page = open(&app, &path).await;
    let page_again = open(&app, &path).await;
    let early_sign_in = sign_in(&app, PASSWORD).await;
    let query = path.split_once('?').expect("a query").1;
    let pairs: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let fields: Vec<_> =
        pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let confirmation = submit(&app, "/auth/verify-email.html", &fields).await;
    let second_confirmation = submit(&app, "/auth/verify-email.html", &fields).await;
    let late_sign_in = sign_in(&app, PASSWORD).await;

    assert_eq!(registration.status, 303);
    assert_eq!(registration.header("location"), Some("register.html?lang=de&done=mailed"));
    assert_eq!(page.status, 200);
    assert_eq!(page_again.status, 200);
    assert_eq!(early_sign_in.status, 403);
    assert!(is_page(&page) && page.text().contains(">Confirm address</button>"));
    assert_eq!(confirmation.status, 303);
    assert_eq!(second_confirmation.status, 400);
    let second_text = second_confirmation.text();
    assert!(second_text.contains("resend-verification.html"), "{second_text}");
    assert_eq!(late_sign_in.status, 200);
    let email = emails_to(&app, ADA).await.remove(0);
    assert_eq!(email.language, Some(Language::De), "the page's language precedes the browser's");
}

async fn a_forgotten_password_is_replaced_on_the_pages(database: TestDatabase) {
    let app = TestConfig::on(database).with_mail().start().await;
    let ada = app.sign_up(ADA).await;
    let response = submit(&app, "/auth/forgot-password.html", &[("email", ADA)]).await;
    let unknown_email = [("email", "nobody@example.org")];
    let unknown_response = submit(&app, "/auth/forgot-password.html", &unknown_email).await;
    let path = page_of_link(&app).await;
    let reset_token = token(&path).to_owned();
    let reset = async |password: &str| {
        let fields = [("email", ADA), ("token", reset_token.as_str()), ("password", password)];
        submit(&app, "/auth/reset-password.html", &fields).await
    };

    let page = open(&app, &path).await;
    let weak_reset = reset("12345678").await;
    let good_reset = reset(NEW).await;
    let second_reset = reset("another fine passphrase").await;

    assert_eq!(response.status, unknown_response.status);
    assert_eq!(response.text(), unknown_response.text());
    assert!(is_page(&page) && page.text().contains(&format!("value=\"{ADA}\"")));
    assert_eq!(weak_reset.status, 400);
    assert!(weak_reset.text().contains("easy to guess"), "{}", weak_reset.text());
    assert_eq!(good_reset.status, 303);
    assert_eq!(good_reset.header("location"), Some("reset-password.html?done=changed"));
    assert_eq!(second_reset.status, 400);
    assert!(second_reset.text().contains("no longer valid"), "{}", second_reset.text());
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
