//! Internationalised domains, which browsers send in ASCII and programs as typed.

use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::relay::FakeRelay;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::sign_in;

const TYPED: &str = "karl@bücher.example";
const ASCII: &str = "karl@xn--bcher-kva.example";

on_both_databases!(
    a_program_signs_in_to_an_account_that_a_browser_registered,
    a_browser_accepts_an_invitation_to_the_address_as_typed,
    accounts_of_older_versions_are_folded_at_startup,
    emails_go_to_the_ascii_form_of_a_domain,
);

/// Signs in with one spelling of an address and returns the stored one.
async fn signed_in_address(app: &TestApp, email: &str) -> String {
    let envelope = sign_in(&app.anonymous(), email, PASSWORD).await;
    assert_eq!(envelope.status, 200, "{email}: {}", envelope.text());
    envelope.body["user"]["email"].as_str().expect("an address").to_owned()
}

async fn a_program_signs_in_to_an_account_that_a_browser_registered(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;

    app.sign_up(ASCII).await;

    for email in [TYPED, ASCII, "Karl@BÜCHER.example"] {
        assert_eq!(signed_in_address(&app, email).await, TYPED);
    }
    let credentials = json!({ "email": TYPED, "password": PASSWORD });
    let second_response = app.anonymous().post("/auth/register", &credentials).await;
    assert_eq!(second_response.refusal(), (409, "email_exists"));
    let granted = app.admin(&format!("grant {TYPED} --role org-manager")).await;
    assert!(granted.is_ok(), "{granted:?}");
}

async fn a_browser_accepts_an_invitation_to_the_address_as_typed(database: TestDatabase) {
    let app = TestConfig::on(database).with("LocalAuth__Registration", "invitation").start().await;
    let output = app.admin(&format!("invite {TYPED}")).await.expect("an invitation");
    let (_, token) = output.trim_end().rsplit_once("invitation=").expect("a link");

    let body = json!({ "email": ASCII, "password": PASSWORD, "invitationToken": token });
    let registration_response = app.anonymous().post("/auth/register", &body).await;

    assert_eq!(registration_response.status, 200, "{}", registration_response.text());
}

async fn accounts_of_older_versions_are_folded_at_startup(database: TestDatabase) {
    let first_server = TestConfig::on(database).start().await;
    first_server.sign_up("karl@example.org").await;
    let update = format!("UPDATE accounts SET email = '{TYPED}', email_folded = '{TYPED}'");
    first_server.execute(&update).await;

    let (second, third) = tokio::join!(
        TestConfig::beside(&first_server).start(),
        TestConfig::beside(&first_server).start()
    );

    for app in [&second, &third] {
        assert_eq!(signed_in_address(app, ASCII).await, TYPED);
    }
    let folded = format!("accounts WHERE email_folded = '{ASCII}'");
    assert_eq!(first_server.count(&folded).await, 1);
}

async fn emails_go_to_the_ascii_form_of_a_domain(database: TestDatabase) {
    let relay = FakeRelay::start().await;
    let app = TestConfig::on(database).with_relay(&relay).start().await;
    app.sign_up(TYPED).await;

    let body = json!({ "email": TYPED });
    let requested = app.anonymous().post("/auth/forgot-password", &body).await;

    let mail = relay.next_mail().await;
    assert_eq!(requested.status, 200);
    assert_eq!(mail.to, [ASCII]);
    assert_eq!(mail.greeting, "[127.0.0.1]", "the host of Server:PublicUrl");
}
