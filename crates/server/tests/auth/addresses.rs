//! Addresses whose domains browsers send in ASCII and programs as typed.

use pia_server_testkit::harness::{PASSWORD, Setting, TestApp};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::relay::FakeRelay;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::sign_in;

const TYPED: &str = "karl@bücher.example";
const SENT: &str = "karl@xn--bcher-kva.example";

on_both_databases!(
    an_account_made_by_a_browser_is_signed_in_to_by_a_program,
    an_invitation_as_typed_is_taken_by_a_browser,
    accounts_of_versions_before_are_folded_when_servers_start,
    letters_go_to_the_ascii_form_of_a_domain,
);

/// The account's address, as each spelling signs in to it.
async fn signed_in(app: &TestApp, email: &str) -> String {
    let envelope = sign_in(&app.stranger(), email, PASSWORD).await;
    assert_eq!(envelope.status, 200, "{email}: {}", envelope.text());
    envelope.body["user"]["email"].as_str().expect("an address").to_owned()
}

async fn an_account_made_by_a_browser_is_signed_in_to_by_a_program(database: TestDatabase) {
    let app = Setting::on(database).start().await;

    app.sign_up(SENT).await;

    for email in [TYPED, SENT, "Karl@BÜCHER.example"] {
        assert_eq!(signed_in(&app, email).await, TYPED);
    }
    let again = json!({ "email": TYPED, "password": PASSWORD });
    let again = app.stranger().post("/auth/register", &again).await;
    assert_eq!(again.refusal(), (409, "email_exists"));
    let granted = app.admin(&format!("grant {TYPED} --role org-manager")).await;
    assert!(granted.is_ok(), "{granted:?}");
}

async fn an_invitation_as_typed_is_taken_by_a_browser(database: TestDatabase) {
    let app = Setting::on(database).with("LocalAuth__Registration", "invitation").start().await;
    let message = app.admin(&format!("invite {TYPED}")).await.expect("an invitation");
    let (_, token) = message.trim_end().rsplit_once("invitation=").expect("a link");

    let person = json!({ "email": SENT, "password": PASSWORD, "invitationToken": token });
    let made = app.stranger().post("/auth/register", &person).await;

    assert_eq!(made.status, 200, "{}", made.text());
}

async fn accounts_of_versions_before_are_folded_when_servers_start(database: TestDatabase) {
    let first = Setting::on(database).start().await;
    first.sign_up("karl@example.org").await;
    let older = format!("UPDATE accounts SET email = '{TYPED}', email_folded = '{TYPED}'");
    first.execute(&older).await;

    let (second, third) =
        tokio::join!(Setting::beside(&first).start(), Setting::beside(&first).start());

    for app in [&second, &third] {
        assert_eq!(signed_in(app, SENT).await, TYPED);
    }
    let folded = format!("accounts WHERE email_folded = '{SENT}'");
    assert_eq!(first.count(&folded).await, 1);
}

async fn letters_go_to_the_ascii_form_of_a_domain(database: TestDatabase) {
    let relay = FakeRelay::start().await;
    let app = Setting::on(database).with_relay(&relay).start().await;
    app.sign_up(TYPED).await;

    let requested = json!({ "email": TYPED });
    let requested = app.stranger().post("/auth/forgot-password", &requested).await;

    let mail = relay.next_mail().await;
    assert_eq!((requested.status, &*mail.to), (200, &[SENT.to_owned()][..]));
    assert_eq!(mail.greeting, "[127.0.0.1]", "the host of Server:PublicUrl");
}
