//! Registration with invitations.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{Clock as _, SystemClock};
use pia_policy::Terms;
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig, terms};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::sign_in;

on_both_databases!(
    invitation_only_registration_accepts_an_invitation_once,
    of_concurrent_uses_of_an_invitation_one_succeeds,
    an_invitation_as_administrator_obeys_the_licence,
    invalid_invitations_are_refused_alike,
);

fn by_invitation(database: TestDatabase) -> TestConfig {
    TestConfig::on(database).with("LocalAuth__Registration", "invitation")
}

/// Creates an invitation and returns its token.
async fn invite(app: &TestApp, line: &str) -> Value {
    let output = app.admin(&format!("invite{line}")).await.expect("an invitation");
    let token = output.trim_end().rsplit_once("invitation=").expect("a link").1;
    json!(token)
}

async fn register(app: &TestApp, email: &str, token: &Value) -> TestResponse {
    let body = json!({ "email": email, "password": PASSWORD, "invitationToken": token });
    app.anonymous().post("/auth/register", &body).await
}

async fn invitation_only_registration_accepts_an_invitation_once(database: TestDatabase) {
    let app = by_invitation(database).with("LocalAuth__AllowedDomains", "b.example").start().await;
    let token = invite(&app, " ada@example.org").await;

    let uninvited = register(&app, "ada@example.org", &Value::Null).await;
    let second = register(&app, "eve@example.org", &token).await;
    let registration_response = register(&app, " Ada@Example.org ", &token).await;
    let second_response = register(&app, "bob@example.org", &token).await;

    assert_eq!(uninvited.refusal(), (403, "registration_closed"));
    assert_eq!(second.refusal(), (403, "registration_closed"));
    assert_eq!(registration_response.status, 200, "{}", registration_response.text());
    assert_eq!(second_response.refusal(), (403, "registration_closed"));
    let envelope = sign_in(&app.anonymous(), "ada@example.org", PASSWORD).await;
    assert_eq!(envelope.status, 200, "{}", envelope.text());
}

async fn of_concurrent_uses_of_an_invitation_one_succeeds(database: TestDatabase) {
    let app = by_invitation(database).start().await;
    let token = invite(&app, "").await;

    let emails: Vec<String> = (0..16).map(|n| format!("{n}@example.org")).collect();
    let responses = join_all(emails.iter().map(|it| register(&app, it, &token))).await;

    let registered = responses.iter().filter(|it| it.status == 200).count();
    let late_count = responses.iter().filter(|it| it.error() == "registration_closed").count();
    assert_eq!(registered, 1);
    assert_eq!(late_count, 15);
}

async fn an_invitation_as_administrator_obeys_the_licence(database: TestDatabase) {
    let one_seat = Terms { max_admins: Some(1), ..terms() };
    let app = by_invitation(database).licensed(Some(one_seat)).start().await;
    let first = invite(&app, " --role admin").await;
    let second = invite(&app, " --role admin").await;

    let registration_response = register(&app, "a@example.org", &first).await;
    let full_response = register(&app, "b@example.org", &second).await;

    assert_eq!(registration_response.status, 200);
    assert_eq!(full_response.refusal(), (403, "registration_closed"));
    assert_eq!(app.admin("list").await.expect("a list"), "a@example.org\n");
}

async fn invalid_invitations_are_refused_alike(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = by_invitation(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let known_link = invite(&app, "").await;
    assert_eq!(register(&app, "ada@example.org", &known_link).await.status, 200);

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
    for token in
        [known_link, ended, revoked, others, json!("unknown"), json!(""), json!("\u{0}"), long]
    {
        for email in ["eve@example.org", "ada@example.org"] {
            let response = register(&app, email, &token).await;
            assert_eq!(response.status, 403, "{token} {email}: {}", response.text());
            assert_eq!(response.bytes, uninvited.bytes, "{token} {email}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_server_ignores_invitations_and_an_open_one_applies_their_role() {
    let app = TestApp::spawn().await;
    let first = invite(&app, " --role admin").await;
    let second = invite(&app, "").await;

    let without = register(&app, "a@example.org", &Value::Null).await;
    let with = register(&app, "b@example.org", &first).await;
    let reused = register(&app, "c@example.org", &first).await;
    app.reload(&json!({ "LocalAuth": { "Registration": "closed" } }));
    let closed_response = register(&app, "d@example.org", &second).await;

    assert_eq!(without.status, 200);
    assert_eq!(with.status, 200);
    assert_eq!(
        reused.refusal(),
        (403, "registration_closed"),
        "a presented invitation must be valid"
    );
    assert_eq!(closed_response.refusal(), (403, "registration_closed"));
    assert_eq!(app.admin("list").await.expect("a list"), "b@example.org\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_of_another_type_is_rejected() {
    let app = TestApp::spawn().await;

    for token in [json!(5), json!(["a"]), json!({}), json!(true)] {
        let response = register(&app, "ada@example.org", &token).await;

        assert_eq!(response.refusal(), (400, "validation_failed"), "{token}");
        assert_eq!(response.body["errors"][0]["field"], "invitationToken", "{}", response.text());
    }
}
