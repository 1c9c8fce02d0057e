//! Registration of accounts.

use futures_util::future::join_all;
use pia_policy::Terms;
use pia_server_testkit::client::keys;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig, terms};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{field_errors, sign_in};

on_both_databases!(
    an_account_is_created_and_usable,
    characters_are_counted_as_clients_count_them,
    an_address_has_one_account_however_it_is_written,
    of_concurrent_registrations_of_an_address_one_succeeds,
    the_licensed_seats_are_never_exceeded,
);

fn registration(email: &str) -> Value {
    json!({ "email": email, "password": PASSWORD })
}

async fn an_account_is_created_and_usable(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = json!({
        "email": " Ada@Example.org ", "password": PASSWORD, "displayName": " Ada ",
        "customerType": 1, "companyName": "Ada & Co", "unknown": [1, 2],
    });

    let registration_response = app.anonymous().post("/auth/register", &ada).await;
    let envelope = sign_in(&app.anonymous(), "ada@example.ORG", PASSWORD).await;
    let me = app.anonymous().with_tokens(&envelope.body).get("/auth/me").await;

    assert_eq!(registration_response.status, 200, "{}", registration_response.text());
    assert_eq!(
        keys(&registration_response.body),
        ["message", "requiresEmailVerification", "success"]
    );
    assert_eq!(registration_response.body["success"], true);
    assert_eq!(registration_response.body["requiresEmailVerification"], false);

    let created = me.body["createdAt"].as_str().expect("a time");
    assert!(created.ends_with('Z'), "{created}");
    assert_eq!(
        me.body,
        json!({
            "id": envelope.body["user"]["id"], "email": "Ada@Example.org", "displayName": "Ada",
            "provider": "local", "customerType": 1, "companyName": "Ada & Co",
            "requiresBusinessProfile": false, "emailVerified": false, "role": "user",
            "createdAt": created,
        })
    );
}

/// .NET and JavaScript count UTF-16 code units: an emoji is two.
async fn characters_are_counted_as_clients_count_them(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    // Consecutive characters would be refused as easy to guess.
    let faces: Vec<char> = ('😀'..='🙏').collect();
    let password: String = (0..64).map(|it| faces[it * 37 % faces.len()]).collect();
    let name = "🦊".repeat(100);
    let company = "🌵".repeat(100);
    let fits = json!({
        "email": "ada@example.org", "password": password, "displayName": name,
        "customerType": 1, "companyName": company,
    });
    let too_long = json!({
        "email": "eve@example.org", "password": format!("{password}x"),
        "displayName": format!("{name}x"), "customerType": 1, "companyName": format!("{company}x"),
    });
    let short_body = json!({ "email": "bob@example.org", "password": "🦊🌵🚂" });

    let registration_response = app.anonymous().post("/auth/register", &fits).await;
    let refused = app.anonymous().post("/auth/register", &too_long).await;
    let weak = app.anonymous().post("/auth/register", &short_body).await;
    let envelope = sign_in(&app.anonymous(), "ada@example.org", &password).await;

    assert_eq!(registration_response.status, 200, "{}", registration_response.text());
    assert_eq!(envelope.body["user"]["displayName"], name, "{}", envelope.text());
    let long = ["password", "displayName", "companyName"].map(|it| (it, "too_long"));
    assert_eq!(field_errors(&refused), long);
    assert_eq!(field_errors(&weak), [("password", "too_short")]);

    let ada = app.anonymous().with_tokens(&envelope.body);
    for path in ["/auth/api-keys", "/auth/app-passwords"] {
        let body = |name: String| json!({ "name": name, "password": password });
        let accepted_response = ada.post(path, &body("🔑".repeat(32))).await;
        let refused = ada.post(path, &body(format!("{}x", "🔑".repeat(32)))).await;
        assert_eq!(accepted_response.status, 200, "{path}: {}", accepted_response.text());
        assert_eq!(field_errors(&refused), [("name", "too_long")], "{path}");
    }
}

async fn an_address_has_one_account_however_it_is_written(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    app.sign_up("grüße@example.org").await;

    for again in ["grüße@example.org", "GRÜßE@Example.ORG", "  Grüße@example.org "] {
        let response = app.anonymous().post("/auth/register", &registration(again)).await;
        assert_eq!(response.refusal(), (409, "email_exists"), "{again}");
    }
    let signed_in = sign_in(&app.anonymous(), "grüße@example.org", PASSWORD).await;
    assert_eq!(signed_in.status, 200);
}

async fn of_concurrent_registrations_of_an_address_one_succeeds(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;

    let stranger = app.anonymous();
    let ada = registration("ada@example.org");
    let responses = join_all((0..20).map(|_| stranger.post("/auth/register", &ada))).await;

    let registered = responses.iter().filter(|it| it.status == 200).count();
    let refused_count = responses.iter().filter(|it| it.error() == "email_exists").count();
    assert_eq!(registered, 1);
    assert_eq!(refused_count, 19);
}

async fn the_licensed_seats_are_never_exceeded(database: TestDatabase) {
    let three = Terms { max_users: Some(3), ..terms() };
    let app = TestConfig::on(database).licensed(Some(three)).start().await;

    let stranger = app.anonymous();
    let bodies: Vec<_> = (0..20).map(|it| registration(&format!("p{it}@example.org"))).collect();
    let responses = join_all(bodies.iter().map(|it| stranger.post("/auth/register", it))).await;

    let registered = responses.iter().filter(|it| it.status == 200).count();
    let refused: Vec<_> = responses.iter().filter(|it| it.status != 200).collect();
    assert_eq!(registered, 3);
    assert_eq!(refused.len(), 17);
    for response in refused {
        assert_eq!(response.refusal(), (403, "user_limit_reached"));
        assert_eq!(response.body["limit"], 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_errors_are_reported_at_once() {
    let app = TestApp::spawn().await;

    for (body, expected) in [
        (json!({}), vec![("email", "required"), ("password", "required")]),
        (
            json!({ "email": "", "password": "" }),
            vec![("email", "required"), ("password", "required")],
        ),
        (
            json!({ "email": "no address", "password": "short" }),
            vec![("email", "invalid"), ("password", "too_short")],
        ),
        (
            json!({ "email": "a@example.org", "password": "x".repeat(129) }),
            vec![("password", "too_long")],
        ),
        (
            json!({ "email": "a@example.org", "password": "password123" }),
            vec![("password", "common")],
        ),
        (
            json!({ "email": "ada.lovelace@example.org", "password": "Ada.Lovelace1" }),
            vec![("password", "personal")],
        ),
        (
            json!({ "email": "a@example.org", "password": PASSWORD, "displayName": "x".repeat(300) }),
            vec![("displayName", "too_long")],
        ),
        (
            json!({ "email": "a@example.org", "password": PASSWORD, "customerType": 3 }),
            vec![("customerType", "invalid")],
        ),
        (
            json!({ "email": "a@example.org", "password": PASSWORD, "customerType": -1 }),
            vec![("customerType", "invalid")],
        ),
    ] {
        let response = app.anonymous().post("/auth/register", &body).await;

        assert_eq!(response.refusal(), (400, "validation_failed"), "{body}");
        assert_eq!(field_errors(&response), expected, "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_used_exactly_as_typed() {
    let app = TestApp::spawn().await;
    let password = "  Žluťoučký kůň 🐎 \"<>&\"  ";
    let ada = json!({ "email": "ada@example.org", "password": password });

    let registration_response = app.anonymous().post("/auth/register", &ada).await;
    let correct_response = sign_in(&app.anonymous(), "ada@example.org", password).await;
    let trimmed = sign_in(&app.anonymous(), "ada@example.org", password.trim()).await;

    assert_eq!(registration_response.status, 200);
    assert_eq!(correct_response.status, 200);
    assert_eq!(trimmed.refusal(), (401, "invalid_credentials"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_can_restrict_registration() {
    for policy in ["closed", "invitation"] {
        let app = TestConfig::on(TestDatabase::sqlite())
            .with("LocalAuth__Registration", policy)
            .start()
            .await;

        let response =
            app.anonymous().post("/auth/register", &registration("ada@example.org")).await;

        assert_eq!(response.refusal(), (403, "registration_closed"), "{policy}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_registration_takes_effect_at_once() {
    let app = TestApp::spawn().await;
    app.sign_up("ada@example.org").await;

    app.reload(&json!({ "LocalAuth": { "Registration": "closed" } }));
    let late_response =
        app.anonymous().post("/auth/register", &registration("bob@example.org")).await;
    let ada = sign_in(&app.anonymous(), "ada@example.org", PASSWORD).await;

    assert_eq!(late_response.refusal(), (403, "registration_closed"));
    assert_eq!(ada.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_of_other_domains_are_refused() {
    let app = TestConfig::on(TestDatabase::sqlite())
        .with("LocalAuth__AllowedDomains", "example.org, example.com")
        .start()
        .await;

    for (email, status) in [
        ("a@example.org", 200),
        ("b@EXAMPLE.com", 200),
        ("c@example.net", 403),
        ("d@sub.example.org", 403),
        ("e@notexample.org", 403),
        ("example.org@example.net", 403),
    ] {
        let response = app.anonymous().post("/auth/register", &registration(email)).await;
        assert_eq!(response.status, status, "{email}: {}", response.text());
        assert!(status == 200 || response.error() == "registration_closed", "{email}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_can_require_longer_passwords() {
    let app = TestConfig::on(TestDatabase::sqlite())
        .with("LocalAuth__MinimumPasswordLength", 40)
        .start()
        .await;

    let response = app.anonymous().post("/auth/register", &registration("ada@example.org")).await;

    assert_eq!(field_errors(&response), [("password", "too_short")]);
    assert!(response.text().contains("40"), "{}", response.text());
}
