//! Tests of existing and of new accounts at a provider.

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
    VERIFIER, location_pairs, redeem, redirect_code, redirect_error, sign_in_at_provider,
    signed_in, with_fake, with_provider,
};
use crate::sign_in;

on_both_databases!(
    an_account_is_identified_by_its_subject_only,
    a_provider_cannot_take_over_an_existing_address,
    new_accounts_obey_the_registration_rules,
    an_expired_licence_admits_existing_accounts_only,
    a_deactivated_account_is_reported,
);

async fn deactivate_everyone(app: &TestApp) {
    let startup = app.config.latest().database.startup.clone();
    let db = Database::open(&startup.target, startup.options).expect("a database");
    let now = accounts::deactivated_at.eq(DbInstant(SystemClock.now()));
    let update = diesel::update(accounts::table).set(now);
    let result: Result<usize, DbError> = on_conn!(db.writer(), |conn| update.execute(conn).await?);
    assert_eq!(result.expect("a row"), 1);
}

async fn user(app: &TestApp, client: &pia_server_testkit::client::Client) -> Value {
    let me = client.get("/auth/me").await;
    assert_eq!(me.status, 200, "{} {}", app.addr, me.text());
    me.body
}

async fn an_account_is_identified_by_its_subject_only(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let first = signed_in(&app, &fake).await;

    fake.set_user("ada-1", "moved@example.org");
    fake.set_claim("email_verified", json!(false));
    fake.set_claim("name", json!("Countess"));
    let sign_in_after_move = signed_in(&app, &fake).await;
    fake.set_user("eve-1", "ADA@example.org");
    fake.set_claim("email_verified", json!(true));
    let squatter = sign_in_at_provider(&app, &fake).await;
    fake.set_user("ADA-1", "other@example.org");
    let other_client = signed_in(&app, &fake).await;

    assert_eq!(sign_in_after_move.user, first.user);
    let account = user(&app, &sign_in_after_move).await;
    assert_eq!(account["email"], "Ada@example.org");
    assert_eq!(account["displayName"], "Ada Lovelace");
    assert_eq!(redirect_error(&squatter), "email_exists");
    assert_ne!(other_client.user, first.user);
}

async fn a_provider_cannot_take_over_an_existing_address(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    app.sign_up("ada@EXAMPLE.org").await;

    let arrived = sign_in_at_provider(&app, &fake).await;

    assert_eq!(redirect_error(&arrived), "email_exists");
    fake.set_user("bob", "bob@example.org");
    signed_in(&app, &fake).await;
    let taken_body = json!({ "email": "BOB@example.org", "password": PASSWORD });
    let registration_response = app.anonymous().post("/auth/register", &taken_body).await;
    assert_eq!(registration_response.refusal(), (409, "email_exists"));
    for password in ["", PASSWORD] {
        let guessed = sign_in(&app.anonymous(), "bob@example.org", password).await;
        assert_eq!(guessed.refusal(), (401, "invalid_credentials"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_must_be_verified_by_its_provider() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    let trusting = with_provider(TestDatabase::sqlite(), &fake.issuer)
        .with("OAuth__oidc__TrustEmail", true)
        .start()
        .await;
    for (email, verified, trusting_error, default_error) in [
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
        fake.set_claim("sub", json!(format!("somebody with {email}")));
        fake.set_claim("email", email.clone());
        fake.set_claim("email_verified", verified);
        for (app, expected) in [(&trusting, trusting_error), (&app, default_error)] {
            let arrived = sign_in_at_provider(app, &fake).await;
            match expected {
                Some(code) => assert_eq!(redirect_error(&arrived), code, "{email}"),
                None => assert_eq!(redirect_code(&arrived).len(), 43, "{email}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_claims_are_fetched_from_the_user_info_endpoint() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    let user_info = |subject: &str| {
        json!({
            "sub": subject, "email": "ada@example.org", "email_verified": true, "name": "Ada",
        })
    };
    fake.set_claim("email", Value::Null);
    fake.script().user_info = Some(user_info("somebody-else"));

    let foreign_response = sign_in_at_provider(&app, &fake).await;
    fake.script().user_info = Some(user_info("ada-1"));
    let ada = signed_in(&app, &fake).await;

    assert_eq!(redirect_error(&foreign_response), "email_missing");
    assert_eq!(user(&app, &ada).await["displayName"], "Ada");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_display_name_is_sanitised_and_truncated() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;
    for (name, expected) in [
        (json!(" Ada\u{0}\n Lovelace "), json!("Ada Lovelace")),
        (json!("ü".repeat(300)), json!("ü".repeat(200))),
        (json!("\u{7f}"), Value::Null),
        (Value::Null, Value::Null),
    ] {
        let email = format!("{}@example.org", uuid::Uuid::now_v7().simple());
        fake.set_user(&email, &email);
        fake.set_claim("name", name.clone());

        let client = signed_in(&app, &fake).await;

        assert_eq!(user(&app, &client).await["displayName"], expected, "{name}");
    }
}

async fn new_accounts_obey_the_registration_rules(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let ada = signed_in(&app, &fake).await;
    for rules in [
        json!({ "Registration": "closed" }),
        json!({ "Registration": "invitation" }),
        json!({ "AllowedDomains": "other.example" }),
    ] {
        app.reload(&json!({ "LocalAuth": rules }));
        fake.set_user("bob", "bob@example.org");
        let newcomer = sign_in_at_provider(&app, &fake).await;
        fake.set_user("eve", "ada@example.org");
        let squatter = sign_in_at_provider(&app, &fake).await;
        fake.set_user("ada-1", "ada@example.org");
        let known_client = signed_in(&app, &fake).await;

        assert_eq!(redirect_error(&newcomer), "registration_closed", "{rules}");
        assert_eq!(redirect_error(&squatter), "email_exists", "{rules}");
        assert_eq!(known_client.user, ada.user, "{rules}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_seat_limit_applies_to_provider_accounts() {
    let fake = super::Fake::start().await;
    let terms = Terms { max_users: Some(1), ..pia_server_testkit::harness::terms() };
    let app =
        with_provider(TestDatabase::sqlite(), &fake.issuer).licensed(Some(terms)).start().await;
    signed_in(&app, &fake).await;

    fake.set_user("bob", "bob@example.org");
    let second_response = sign_in_at_provider(&app, &fake).await;

    assert_eq!(redirect_error(&second_response), "user_limit_reached");
}

async fn an_expired_licence_admits_existing_accounts_only(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let ada = signed_in(&app, &fake).await;
    let terms = Terms::new("A test", Edition::Enterprise, SystemClock.now());
    let ended = Terms { expires_at: Some(SystemClock.now()), ..terms };
    let other_server = super::configure_provider(super::TestConfig::beside(&app), &fake.issuer)
        .licensed(Some(ended))
        .start()
        .await;

    let known_client = signed_in(&other_server, &fake).await;
    fake.set_user("bob", "bob@example.org");
    let newcomer = sign_in_at_provider(&other_server, &fake).await;

    assert_eq!(known_client.user, ada.user);
    assert_eq!(redirect_error(&newcomer), "license_expired");
}

async fn a_deactivated_account_is_reported(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let code = redirect_code(&sign_in_at_provider(&app, &fake).await);
    deactivate_everyone(&app).await;

    let arrived = sign_in_at_provider(&app, &fake).await;
    let redemption_response = redeem(&app.anonymous(), &code, VERIFIER).await;

    assert_eq!(redirect_error(&arrived), "account_deactivated");
    assert_eq!(redemption_response.refusal(), (400, "invalid_grant"));
    assert!(location_pairs(&arrived).iter().all(|(name, _)| name != "code"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_declaration_is_reported_with_the_tokens() {
    let fake = super::Fake::start().await;
    let app = with_provider(TestDatabase::sqlite(), &fake.issuer)
        .with("LocalAuth__RequireBusinessDeclaration", true)
        .start()
        .await;

    let code = redirect_code(&sign_in_at_provider(&app, &fake).await);
    let envelope = redeem(&app.anonymous(), &code, VERIFIER).await;

    assert_eq!(envelope.body["user"]["requiresBusinessProfile"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_first_sign_ins_create_one_account() {
    let (fake, app) = with_fake(TestDatabase::sqlite()).await;

    let clients = futures_util::future::join_all((0..8).map(|_| signed_in(&app, &fake))).await;

    assert!(clients.iter().all(|it| it.user.is_some() && it.user == clients[0].user));
}
