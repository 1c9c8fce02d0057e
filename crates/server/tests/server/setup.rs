//! Tests of the first administrator, whom the setup token creates once.

use futures_util::future::join_all;
use pia_policy::Terms;
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig, licence, terms};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

on_both_databases!(
    a_fresh_server_is_set_up_with_one_token_in_two_steps,
    of_many_who_make_the_first_administrator_at_once_one_does,
    who_was_made_administrator_elsewhere_ends_the_step,
);

fn root(email: &str) -> Value {
    json!({ "email": email, "password": PASSWORD, "displayName": "Root" })
}

fn setup_token(app: &TestApp) -> String {
    app.setup_token().expect("a token")
}

async fn appoint(app: &TestApp, token: &str, body: &Value) -> TestResponse {
    let headers = [("x-setup-token", token), ("content-type", "application/json")];
    let body = body.to_string();
    app.anonymous().send("POST", "/admin/setup/administrator", &headers, body.as_bytes()).await
}

async fn submit(app: &TestApp, fields: &[(&str, &str)]) -> TestResponse {
    let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    app.anonymous().send("POST", "/admin/setup", &headers, form.as_bytes()).await
}

async fn sign_in(app: &TestApp, email: &str) -> TestResponse {
    let credentials = json!({ "email": email, "password": PASSWORD });
    app.anonymous().post("/auth/login/local", &credentials).await
}

async fn gone(app: &TestApp) {
    until(async || app.setup_token().is_none().then_some(())).await;
}

async fn a_fresh_server_is_set_up_with_one_token_in_two_steps(database: TestDatabase) {
    let app = TestConfig::on(database)
        .licensed(None)
        .with("LocalAuth__Registration", "closed")
        .start()
        .await;
    let token = setup_token(&app);

    let early_response = appoint(&app, &token, &root("root@example.org")).await;
    let first_response = submit(&app, &[("token", &token), ("license", &licence(&terms()))]).await;
    let second_response = app.anonymous().get("/admin/setup").await;
    let fields = [
        ("step", "administrator"),
        ("token", &token),
        ("email", "Root@example.org"),
        ("password", PASSWORD),
    ];
    let response = submit(&app, &fields).await;
    let last_response = app.anonymous().get("/admin/setup").await;
    let late_response = appoint(&app, &token, &root("eve@example.org")).await;

    assert_eq!(early_response.refusal(), (403, "no_license"));
    assert_eq!(first_response.status, 303, "{}", first_response.text());
    assert_eq!(first_response.header("location"), Some("setup"));
    assert!(
        second_response.text().contains("<label for=\"password\">"),
        "{}",
        second_response.text()
    );
    assert_eq!(response.status, 303, "{}", response.text());
    assert_eq!(response.header("location"), Some("setup"));
    assert!(last_response.text().contains("is set up") && !last_response.text().contains("<form"));
    assert_eq!(late_response.refusal(), (409, "already_set_up"));
    assert_eq!(app.setup_token(), None);
    assert_eq!(sign_in(&app, "root@example.org").await.status, 200);
    assert_eq!(app.admin("list").await.expect("a list"), "Root@example.org\n");
}

async fn of_many_who_make_the_first_administrator_at_once_one_does(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let other_server = TestConfig::beside(&app).start().await;
    let first_token = setup_token(&app);
    let second_token = setup_token(&other_server);

    let bodies: Vec<Value> = (0..16).map(|n| root(&format!("{n}@example.org"))).collect();
    let requests = bodies.iter().enumerate().map(|(n, body)| {
        let (app, token) =
            if n % 2 == 0 { (&app, &first_token) } else { (&other_server, &second_token) };
        appoint(app, token, body)
    });
    let answers = join_all(requests).await;

    let created_count = answers.iter().filter(|it| it.status == 200).count();
    let late_count = answers.iter().filter(|it| it.error() == "already_set_up").count();
    let reported: Vec<_> = answers.iter().map(TestResponse::text).collect();
    assert_eq!(created_count, 1, "{reported:?}");
    assert_eq!(late_count, 15, "{reported:?}");
    assert_eq!(app.admin("list").await.expect("a list").lines().count(), 1);
    gone(&app).await;
    gone(&other_server).await;
}

async fn who_was_made_administrator_elsewhere_ends_the_step(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    app.sign_up("ada@example.org").await;
    let token = setup_token(&app);

    let reported = app.admin("grant ADA@example.org").await.expect("a grant");
    let late_response = appoint(&app, &token, &root("root@example.org")).await;

    assert!(reported.starts_with("Role admin assigned to ada@example.org\n"), "{reported}");
    assert_eq!(late_response.refusal(), (409, "already_set_up"));
    gone(&app).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_is_reported_whose_account_it_made() {
    let app = TestApp::spawn().await;

    let creation_response = appoint(&app, &setup_token(&app), &root(" Root@Example.org ")).await;

    assert_eq!(creation_response.status, 200, "{}", creation_response.text());
    let signed_in = sign_in(&app, "root@example.org").await;
    let id = &signed_in.body["user"]["id"];
    assert_eq!(
        creation_response.body,
        json!({ "success": true, "userId": id, "email": "Root@Example.org" })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_token_nothing_is_learnt_and_nothing_made() {
    let app = TestApp::spawn().await;
    app.sign_up("ada@example.org").await;
    let correct_token = setup_token(&app);
    let truncated_token = correct_token.get(..correct_token.len() - 1).unwrap_or_default();

    for wrong in
        ["", "wrong", truncated_token, &correct_token.to_lowercase(), &format!("{correct_token}A")]
    {
        for body in [root("root@example.org"), root("ada@example.org"), json!({})] {
            let answer = appoint(&app, wrong, &body).await;
            assert_eq!(answer.refusal(), (403, "invalid_setup_token"), "{wrong}");
        }
    }
    assert_eq!(app.setup_token(), Some(correct_token));
    assert_eq!(sign_in(&app, "root@example.org").await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_reported_by_its_field_and_leaves_the_token() {
    let app = TestApp::spawn().await;
    let token = setup_token(&app);
    let long_text = "x".repeat(300);
    let with = |field: &str, value: Value| {
        let mut body = root("root@example.org");
        body[field] = value;
        body
    };

    for field in ["email", "password", "displayName"] {
        for value in [json!(5), json!({}), json!(["a"]), json!(long_text), json!("a\u{0}b\nc")] {
            let answer = appoint(&app, &token, &with(field, value.clone())).await;
            assert_eq!(answer.refusal(), (400, "validation_failed"), "{field} {value}");
            assert_eq!(answer.body["errors"][0]["field"], field, "{}", answer.text());
            assert!(!answer.text().contains(&long_text));
        }
    }
    for field in ["email", "password"] {
        for value in [Value::Null, json!("")] {
            let answer = appoint(&app, &token, &with(field, value)).await;
            assert_eq!(answer.refusal(), (400, "validation_failed"), "{field}");
            assert_eq!(answer.body["errors"][0]["field"], field, "{}", answer.text());
        }
    }
    assert_eq!(appoint(&app, &token, &json!([])).await.status, 400);
    assert_eq!(appoint(&app, &token, &root("root@example.org")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_is_there_is_not_taken_over_by_the_page() {
    let app = TestApp::spawn().await;
    app.sign_up("ada@example.org").await;

    let answer = appoint(&app, &setup_token(&app), &root("ADA@example.org")).await;

    assert_eq!(answer.refusal(), (409, "email_exists"));
    assert!(answer.text().contains("pia-server admin grant"), "{}", answer.text());
    assert!(app.setup_token().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_administrator_needs_a_seat_and_a_licence_in_force() {
    let full = Terms { max_users: Some(1), ..terms() };
    let app = TestConfig::on(TestDatabase::sqlite()).licensed(Some(full)).start().await;
    app.sign_up("ada@example.org").await;

    let answer = appoint(&app, &setup_token(&app), &root("root@example.org")).await;

    assert_eq!(answer.refusal(), (403, "user_limit_reached"));
    let ended = TestConfig::on(TestDatabase::sqlite())
        .licence_file(pia_server_testkit::licences::ended().as_bytes());
    let app = ended.start().await;
    let answer = appoint(&app, &setup_token(&app), &root("root@example.org")).await;
    assert_eq!(answer.refusal(), (403, "license_expired"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_had_an_administrator_writes_no_token_when_it_starts() {
    let app = TestApp::spawn().await;
    appoint(&app, &setup_token(&app), &root("root@example.org")).await;

    let next_server = TestConfig::beside(&app).start().await;

    assert_eq!(next_server.setup_token(), None);
}
