//! Making an account with an invitation.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{Clock as _, SystemClock};
use pia_policy::Terms;
use pia_server_testkit::client::Answer;
use pia_server_testkit::harness::{PASSWORD, Setting, TestApp, terms};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::sign_in;

on_both_databases!(
    where_only_the_invited_may_register_an_invitation_lets_one_in,
    of_many_who_show_one_invitation_at_once_one_comes_in,
    whoever_is_invited_as_administrator_is_one_within_the_licence,
    no_refusal_reports_what_is_wrong_with_an_invitation,
);

fn by_invitation(database: TestDatabase) -> Setting {
    Setting::on(database).with("LocalAuth__Registration", "invitation")
}

/// The token of a new invitation.
async fn invite(app: &TestApp, line: &str) -> Value {
    let reported = app.admin(&format!("invite{line}")).await.expect("an invitation");
    let token = reported.trim_end().rsplit_once("invitation=").expect("a link").1;
    json!(token)
}

async fn register(app: &TestApp, email: &str, token: &Value) -> Answer {
    let person = json!({ "email": email, "password": PASSWORD, "invitationToken": token });
    app.stranger().post("/auth/register", &person).await
}

async fn where_only_the_invited_may_register_an_invitation_lets_one_in(database: TestDatabase) {
    let app = by_invitation(database).with("LocalAuth__AllowedDomains", "b.example").start().await;
    let token = invite(&app, " ada@example.org").await;

    let uninvited = register(&app, "ada@example.org", &Value::Null).await;
    let other = register(&app, "eve@example.org", &token).await;
    let made = register(&app, " Ada@Example.org ", &token).await;
    let again = register(&app, "bob@example.org", &token).await;

    assert_eq!(uninvited.refusal(), (403, "registration_closed"));
    assert_eq!(other.refusal(), (403, "registration_closed"));
    assert_eq!(made.status, 200, "{}", made.text());
    assert_eq!(again.refusal(), (403, "registration_closed"));
    let envelope = sign_in(&app.stranger(), "ada@example.org", PASSWORD).await;
    assert_eq!(envelope.status, 200, "{}", envelope.text());
}

async fn of_many_who_show_one_invitation_at_once_one_comes_in(database: TestDatabase) {
    let app = by_invitation(database).start().await;
    let token = invite(&app, "").await;

    let emails: Vec<String> = (0..16).map(|n| format!("{n}@example.org")).collect();
    let answers = join_all(emails.iter().map(|it| register(&app, it, &token))).await;

    let made = answers.iter().filter(|it| it.status == 200).count();
    let late = answers.iter().filter(|it| it.error() == "registration_closed").count();
    assert_eq!((made, late), (1, 15));
}

async fn whoever_is_invited_as_administrator_is_one_within_the_licence(database: TestDatabase) {
    let one = Terms { max_admins: Some(1), ..terms() };
    let app = by_invitation(database).licensed(Some(one)).start().await;
    let first = invite(&app, " --role admin").await;
    let second = invite(&app, " --role admin").await;

    let made = register(&app, "a@example.org", &first).await;
    let full = register(&app, "b@example.org", &second).await;

    assert_eq!((made.status, full.refusal()), (200, (403, "registration_closed")));
    assert_eq!(app.admin("list").await.expect("a list"), "a@example.org\n");
}

async fn no_refusal_reports_what_is_wrong_with_an_invitation(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = by_invitation(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let known = invite(&app, "").await;
    assert_eq!(register(&app, "ada@example.org", &known).await.status, 200);
    let ended = invite(&app, " --days 1").await;
    clock.advance(Duration::from_hours(25));
    let revoked = invite(&app, "").await;
    let listed = app.admin("invitations").await.expect("a list");
    let id = listed.split(' ').next().unwrap_or_default();
    app.admin(&format!("revoke {id}")).await.expect("a revocation");
    let others = invite(&app, " bob@example.org").await;

    let uninvited = register(&app, "eve@example.org", &Value::Null).await;
    assert_eq!(uninvited.refusal(), (403, "registration_closed"));
    let long = json!("x".repeat(5000));
    for token in [known, ended, revoked, others, json!("unknown"), json!(""), json!("\u{0}"), long]
    {
        for email in ["eve@example.org", "ada@example.org"] {
            let answer = register(&app, email, &token).await;
            assert_eq!(answer.status, 403, "{token} {email}: {}", answer.text());
            assert_eq!(answer.bytes, uninvited.bytes, "{token} {email}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_server_stays_closed_and_an_open_one_takes_the_role() {
    let app = TestApp::spawn().await;
    let (first, second) = (invite(&app, " --role admin").await, invite(&app, "").await);

    let without = register(&app, "a@example.org", &Value::Null).await;
    let with = register(&app, "b@example.org", &first).await;
    let spent = register(&app, "c@example.org", &first).await;
    app.reload(&json!({ "LocalAuth": { "Registration": "closed" } }));
    let closed = register(&app, "d@example.org", &second).await;

    assert_eq!((without.status, with.status), (200, 200));
    assert_eq!(spent.refusal(), (403, "registration_closed"), "what is shown must be good");
    assert_eq!(closed.refusal(), (403, "registration_closed"));
    assert_eq!(app.admin("list").await.expect("a list"), "b@example.org\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_text_is_no_invitation() {
    let app = TestApp::spawn().await;

    for token in [json!(5), json!(["a"]), json!({}), json!(true)] {
        let answer = register(&app, "ada@example.org", &token).await;

        assert_eq!(answer.refusal(), (400, "validation_failed"), "{token}");
        assert_eq!(answer.body["errors"][0]["field"], "invitationToken", "{}", answer.text());
    }
}
