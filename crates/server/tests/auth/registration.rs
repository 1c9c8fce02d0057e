//! Making an account.

use futures_util::future::join_all;
use pia_policy::Terms;
use pia_server_testkit::client::keys;
use pia_server_testkit::harness::{PASSWORD, Setting, TestApp, terms};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{faults, sign_in};

on_both_databases!(
    an_account_is_made_and_can_be_used,
    characters_are_counted_as_clients_count_them,
    an_address_has_one_account_however_it_is_written,
    of_many_who_ask_for_one_address_at_once_one_gets_it,
    the_licences_seats_are_never_passed,
);

fn person(email: &str) -> Value {
    json!({ "email": email, "password": PASSWORD })
}

async fn an_account_is_made_and_can_be_used(database: TestDatabase) {
    let app = Setting::on(database).start().await;
    let ada = json!({
        "email": " Ada@Example.org ", "password": PASSWORD, "displayName": " Ada ",
        "customerType": 1, "companyName": "Ada & Co", "unknown": [1, 2],
    });

    let made = app.stranger().post("/auth/register", &ada).await;
    let envelope = sign_in(&app.stranger(), "ada@example.ORG", PASSWORD).await;
    let me = app.stranger().with_tokens(&envelope.body).get("/auth/me").await;

    assert_eq!(made.status, 200, "{}", made.text());
    assert_eq!(keys(&made.body), ["message", "requiresEmailVerification", "success"]);
    assert_eq!(
        (&made.body["success"], &made.body["requiresEmailVerification"]),
        (&json!(true), &json!(false))
    );
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

/// Characters are counted as .NET and JavaScript do: an emoji is two.
async fn characters_are_counted_as_clients_count_them(database: TestDatabase) {
    let app = Setting::on(database).start().await;
    // No row of neighbours, which would be among the first that are guessed.
    let faces: Vec<char> = ('😀'..='🙏').collect();
    let password: String = (0..64).map(|it| faces[it * 37 % faces.len()]).collect();
    let (name, company) = ("🦊".repeat(100), "🌵".repeat(100));
    let fits = json!({
        "email": "ada@example.org", "password": password, "displayName": name,
        "customerType": 1, "companyName": company,
    });
    let too_long = json!({
        "email": "eve@example.org", "password": format!("{password}x"),
        "displayName": format!("{name}x"), "customerType": 1, "companyName": format!("{company}x"),
    });
    let short = json!({ "email": "bob@example.org", "password": "🦊🌵🚂" });

    let made = app.stranger().post("/auth/register", &fits).await;
    let refused = app.stranger().post("/auth/register", &too_long).await;
    let weak = app.stranger().post("/auth/register", &short).await;
    let envelope = sign_in(&app.stranger(), "ada@example.org", &password).await;

    assert_eq!(made.status, 200, "{}", made.text());
    assert_eq!(envelope.body["user"]["displayName"], name, "{}", envelope.text());
    let long = ["password", "displayName", "companyName"].map(|it| (it, "too_long"));
    assert_eq!(faults(&refused), long);
    assert_eq!(faults(&weak), [("password", "too_short")]);
    let ada = app.stranger().with_tokens(&envelope.body);
    for path in ["/auth/api-keys", "/auth/app-passwords"] {
        let requested = |name: String| json!({ "name": name, "password": password });
        let input = ada.post(path, &requested("🔑".repeat(32))).await;
        let refused = ada.post(path, &requested(format!("{}x", "🔑".repeat(32)))).await;
        assert_eq!(input.status, 200, "{path}: {}", input.text());
        assert_eq!(faults(&refused), [("name", "too_long")], "{path}");
    }
}

async fn an_address_has_one_account_however_it_is_written(database: TestDatabase) {
    let app = Setting::on(database).start().await;
    app.sign_up("grüße@example.org").await;

    for again in ["grüße@example.org", "GRÜßE@Example.ORG", "  Grüße@example.org "] {
        let answer = app.stranger().post("/auth/register", &person(again)).await;
        assert_eq!(answer.refusal(), (409, "email_exists"), "{again}");
    }
    let old_password = sign_in(&app.stranger(), "grüße@example.org", PASSWORD).await;
    assert_eq!(old_password.status, 200);
}

async fn of_many_who_ask_for_one_address_at_once_one_gets_it(database: TestDatabase) {
    let app = Setting::on(database).start().await;

    let (stranger, ada) = (app.stranger(), person("ada@example.org"));
    let answers = join_all((0..20).map(|_| stranger.post("/auth/register", &ada))).await;

    let made = answers.iter().filter(|it| it.status == 200).count();
    let refused = answers.iter().filter(|it| it.error() == "email_exists").count();
    assert_eq!((made, refused), (1, 19));
}

async fn the_licences_seats_are_never_passed(database: TestDatabase) {
    let three = Terms { max_users: Some(3), ..terms() };
    let app = Setting::on(database).licensed(Some(three)).start().await;

    let stranger = app.stranger();
    let people: Vec<_> = (0..20).map(|it| person(&format!("p{it}@example.org"))).collect();
    let answers = join_all(people.iter().map(|it| stranger.post("/auth/register", it))).await;

    let made = answers.iter().filter(|it| it.status == 200).count();
    let refused: Vec<_> = answers.iter().filter(|it| it.status != 200).collect();
    assert_eq!((made, refused.len()), (3, 17));
    for answer in refused {
        assert_eq!(answer.refusal(), (403, "user_limit_reached"));
        assert_eq!(answer.body["limit"], 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_is_wrong_is_reported_at_once() {
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
        let answer = app.stranger().post("/auth/register", &body).await;

        assert_eq!(answer.refusal(), (400, "validation_failed"), "{body}");
        assert_eq!(faults(&answer), expected, "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_taken_as_it_was_typed() {
    let app = TestApp::spawn().await;
    let password = "  Žluťoučký kůň 🐎 \"<>&\"  ";
    let ada = json!({ "email": "ada@example.org", "password": password });

    let made = app.stranger().post("/auth/register", &ada).await;
    let right = sign_in(&app.stranger(), "ada@example.org", password).await;
    let trimmed = sign_in(&app.stranger(), "ada@example.org", password.trim()).await;

    assert_eq!((made.status, right.status), (200, 200));
    assert_eq!(trimmed.refusal(), (401, "invalid_credentials"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_decides_who_may_make_an_account() {
    for policy in ["closed", "invitation"] {
        let app = Setting::on(TestDatabase::sqlite())
            .with("LocalAuth__Registration", policy)
            .start()
            .await;

        let answer = app.stranger().post("/auth/register", &person("ada@example.org")).await;

        assert_eq!(answer.refusal(), (403, "registration_closed"), "{policy}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_registration_takes_effect_at_once() {
    let app = TestApp::spawn().await;
    app.sign_up("ada@example.org").await;

    app.reload(&json!({ "LocalAuth": { "Registration": "closed" } }));
    let late = app.stranger().post("/auth/register", &person("bob@example.org")).await;
    let ada = sign_in(&app.stranger(), "ada@example.org", PASSWORD).await;

    assert_eq!(late.refusal(), (403, "registration_closed"));
    assert_eq!(ada.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_of_other_domains_are_turned_away() {
    let setting = Setting::on(TestDatabase::sqlite());
    let app = setting.with("LocalAuth__AllowedDomains", "example.org, example.com").start().await;

    for (email, status) in [
        ("a@example.org", 200),
        ("b@EXAMPLE.com", 200),
        ("c@example.net", 403),
        ("d@sub.example.org", 403),
        ("e@notexample.org", 403),
        ("example.org@example.net", 403),
    ] {
        let answer = app.stranger().post("/auth/register", &person(email)).await;
        assert_eq!(answer.status, status, "{email}: {}", answer.text());
        assert!(status == 200 || answer.error() == "registration_closed", "{email}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_may_ask_for_longer_passwords() {
    let setting = Setting::on(TestDatabase::sqlite());
    let app = setting.with("LocalAuth__MinimumPasswordLength", 40).start().await;

    let answer = app.stranger().post("/auth/register", &person("ada@example.org")).await;

    assert_eq!(faults(&answer), [("password", "too_short")]);
    assert!(answer.text().contains("40"), "{}", answer.text());
}
