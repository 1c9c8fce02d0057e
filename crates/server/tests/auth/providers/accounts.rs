//! Tests of the account that a provider's assertion opens, and of new ones.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Clock, SystemClock};
use pia_policy::{Edition, Terms};
use pia_server_testkit::harness::{PASSWORD, TestApp};
use pia_server_testkit::on_both_databases;
use pia_storage::schema::accounts;
use pia_storage::{Database, DbError, DbInstant, on_conn};
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{
    VERIFIER, code_reported, error_reported, knowing, location_pairs, redeem, signed_in, through,
    with_fake,
};
use crate::sign_in;

on_both_databases!(
    a_provider_knows_somebody_by_its_own_name_for_them_alone,
    an_address_that_has_an_account_is_opened_by_no_provider,
    an_account_is_made_only_for_who_may_have_one,
    a_licence_that_ended_lets_those_in_who_have_an_account,
    a_deactivated_account_is_reported_as_such,
);

async fn deactivate_everyone(app: &TestApp) {
    let startup = app.config.latest().database.startup.clone();
    let db = Database::open(&startup.target, startup.options).expect("a database");
    let now = accounts::deactivated_at.eq(DbInstant(SystemClock.now()));
    let update = diesel::update(accounts::table).set(now);
    let done: Result<usize, DbError> = on_conn!(db.writer(), |conn| update.execute(conn).await?);
    assert_eq!(done.expect("a row"), 1);
}

async fn user(app: &TestApp, client: &pia_server_testkit::client::Client) -> Value {
    let me = client.get("/auth/me").await;
    assert_eq!(me.status, 200, "{} {}", app.addr, me.text());
    me.body
}

async fn a_provider_knows_somebody_by_its_own_name_for_them_alone(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let first = signed_in(&app, &fake).await;

    fake.be("ada-1", "moved@example.org");
    fake.session_ref("email_verified", json!(false));
    fake.session_ref("name", json!("Countess"));
    let moved = signed_in(&app, &fake).await;
    fake.be("eve-1", "ADA@example.org");
    fake.session_ref("email_verified", json!(true));
    let squatter = through(&app, &fake).await;
    fake.be("ADA-1", "other@example.org");
    let other = signed_in(&app, &fake).await;

    assert_eq!(moved.user, first.user);
    let account = user(&app, &moved).await;
    assert_eq!(account["email"], "Ada@example.org");
    assert_eq!(account["displayName"], "Ada Lovelace");
    assert_eq!(error_reported(&squatter), "email_exists");
    assert_ne!(other.user, first.user);
}

async fn an_address_that_has_an_account_is_opened_by_no_provider(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    app.sign_up("ada@EXAMPLE.org").await;

    let arrived = through(&app, &fake).await;

    assert_eq!(error_reported(&arrived), "email_exists");
    fake.be("bob", "bob@example.org");
    signed_in(&app, &fake).await;
    let taken = json!({ "email": "BOB@example.org", "password": PASSWORD });
    let registered = app.stranger().post("/auth/register", &taken).await;
    assert_eq!(registered.refusal(), (409, "email_exists"));
    for password in ["", PASSWORD] {
        let guessed = sign_in(&app.stranger(), "bob@example.org", password).await;
        assert_eq!(guessed.refusal(), (401, "invalid_credentials"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_taken_only_from_a_provider_that_vouches_for_it() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    let trusting = knowing(TestDatabase::sqlite(), &fake.issuer)
        .with("OAuth__oidc__TrustEmail", true)
        .start()
        .await;
    for (email, verified, lax, strict) in [
        (json!("a@example.org"), json!(true), None, None),
        (
            json!("b@example.org"),
            json!(false),
            Some("email_not_verified"),
            Some("email_not_verified"),
        ),
        (json!("c@example.org"), Value::Null, None, Some("email_not_verified")),
        (Value::Null, json!(true), Some("email_missing"), Some("email_missing")),
        (json!("no address"), json!(true), Some("email_missing"), Some("email_missing")),
        (json!(""), json!(true), Some("email_missing"), Some("email_missing")),
        (json!("a@b\r\nBcc: c@d"), json!(true), Some("email_missing"), Some("email_missing")),
    ] {
        fake.session_ref("sub", json!(format!("somebody with {email}")));
        fake.session_ref("email", email.clone());
        fake.session_ref("email_verified", verified);
        for (app, refusal) in [(&trusting, lax), (&app, strict)] {
            let arrived = through(app, &fake).await;
            match refusal {
                Some(code) => assert_eq!(error_reported(&arrived), code, "{email}"),
                None => assert_eq!(code_reported(&arrived).len(), 43, "{email}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_token_leaves_out_the_provider_is_called_for() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    let reported = |subject: &str| json!({ "sub": subject, "email": "ada@example.org", "email_verified": true, "name": "Ada" });
    fake.session_ref("email", Value::Null);
    fake.script().user_info = Some(reported("somebody-else"));

    let foreign = through(&app, &fake).await;
    fake.script().user_info = Some(reported("ada-1"));
    let ada = signed_in(&app, &fake).await;

    assert_eq!(error_reported(&foreign), "email_missing");
    assert_eq!(user(&app, &ada).await["displayName"], "Ada");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_stored_as_far_as_it_can_be_displayed() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    for (message, stored) in [
        (json!(" Ada\u{0}\n Lovelace "), json!("Ada Lovelace")),
        (json!("ü".repeat(300)), json!("ü".repeat(200))),
        (json!("\u{7f}"), Value::Null),
        (Value::Null, Value::Null),
    ] {
        let email = format!("{}@example.org", uuid::Uuid::now_v7().simple());
        fake.be(&email, &email);
        fake.session_ref("name", message.clone());

        let client = signed_in(&app, &fake).await;

        assert_eq!(user(&app, &client).await["displayName"], stored, "{message}");
    }
}

async fn an_account_is_made_only_for_who_may_have_one(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let ada = signed_in(&app, &fake).await;
    for rules in [
        json!({ "Registration": "closed" }),
        json!({ "Registration": "invitation" }),
        json!({ "AllowedDomains": "other.example" }),
    ] {
        app.reload(&json!({ "LocalAuth": rules }));
        fake.be("bob", "bob@example.org");
        let newcomer = through(&app, &fake).await;
        fake.be("eve", "ada@example.org");
        let squatter = through(&app, &fake).await;
        fake.be("ada-1", "ada@example.org");
        let known = signed_in(&app, &fake).await;

        assert_eq!(error_reported(&newcomer), "registration_closed", "{rules}");
        assert_eq!(error_reported(&squatter), "email_exists", "{rules}");
        assert_eq!(known.user, ada.user, "{rules}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn seats_bind_those_who_come_by_a_provider() {
    let fake = super::Fake::start().await;
    let terms = Terms { max_users: Some(1), ..pia_server_testkit::harness::terms() };
    let app = knowing(TestDatabase::sqlite(), &fake.issuer).licensed(Some(terms)).start().await;
    signed_in(&app, &fake).await;

    fake.be("bob", "bob@example.org");
    let second = through(&app, &fake).await;

    assert_eq!(error_reported(&second), "user_limit_reached");
}

async fn a_licence_that_ended_lets_those_in_who_have_an_account(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let ada = signed_in(&app, &fake).await;
    let terms = Terms::new("A test", Edition::Enterprise, SystemClock.now());
    let ended = Terms { expires_at: Some(SystemClock.now()), ..terms };
    let other = super::provided(super::Setting::beside(&app), &fake.issuer)
        .licensed(Some(ended))
        .start()
        .await;

    let known = signed_in(&other, &fake).await;
    fake.be("bob", "bob@example.org");
    let newcomer = through(&other, &fake).await;

    assert_eq!(known.user, ada.user);
    assert_eq!(error_reported(&newcomer), "license_expired");
}

async fn a_deactivated_account_is_reported_as_such(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let code = code_reported(&through(&app, &fake).await);
    deactivate_everyone(&app).await;

    let arrived = through(&app, &fake).await;
    let redeemed = redeem(&app.stranger(), &code, VERIFIER).await;

    assert_eq!(error_reported(&arrived), "account_deactivated");
    assert_eq!(redeemed.refusal(), (400, "invalid_grant"));
    assert!(location_pairs(&arrived).iter().all(|(name, _)| name != "code"));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_owes_a_declaration_is_reported_with_their_tokens() {
    let fake = super::Fake::start().await;
    let app = knowing(TestDatabase::sqlite(), &fake.issuer)
        .with("LocalAuth__RequireBusinessDeclaration", true)
        .start()
        .await;

    let code = code_reported(&through(&app, &fake).await);
    let envelope = redeem(&app.stranger(), &code, VERIFIER).await;

    assert_eq!(envelope.body["user"]["requiresBusinessProfile"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_first_sign_ins_of_one_person_make_one_account() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;

    let all = futures_util::future::join_all((0..8).map(|_| signed_in(&app, &fake))).await;

    assert!(all.iter().all(|it| it.user.is_some() && it.user == all[0].user));
}
