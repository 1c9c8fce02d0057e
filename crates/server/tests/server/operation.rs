//! Tests of the routes with which administrators operate the server.

use pia_demo_upstream::Demo;
use pia_kernel::{Clock as _, MaintenanceKind, QueuedEmail, SystemClock};
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::console::administrator;
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_server_testkit::relay::FakeRelay;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

on_both_databases!(
    emails_are_listed_without_their_links_and_discarded,
    a_test_email_is_sent_if_a_relay_is_configured,
    models_are_listed_without_secrets_and_tested,
    the_last_runs_of_maintenance_are_listed,
);

const OUTBOX: &str = "/api/admin/outbox";

/// Returns the items of a page of a list.
fn items(page: &TestResponse) -> &[Value] {
    page.body["items"].as_array().map(Vec::as_slice).expect("items")
}

async fn emails_are_listed_without_their_links_and_discarded(database: TestDatabase) {
    let (app, _, console) = administrator(TestConfig::on(database).with_mail()).await;
    for address in ["eve@example.org", "bob@example.org"] {
        let email = QueuedEmail::new("invitation").with("link", "https://pia.example/canary");
        app.queue(email.to_address(SystemClock.now(), address)).await;
    }
    until(async || app.mails().await.iter().all(|it| it.failure.is_some()).then_some(())).await;

    let list = console.get(&format!("{OUTBOX}?state=postponed&limit=1")).await;
    let cursor = list.body["nextCursor"].as_str().expect("a cursor");
    let next_response = console.get(&format!("{OUTBOX}?state=postponed&cursor={cursor}")).await;
    let email = &items(&list)[0];
    let path = format!("{OUTBOX}/{}", email["id"].as_str().expect("an id"));
    let retry_response = console.write("POST", &format!("{path}/retry"), Value::Null).await;
    let discarded = until(async || {
        let answer = console.write("POST", &format!("{path}/discard"), json!({})).await;
        // It may be in delivery, as it was just made due.
        (answer.status != 409).then_some(answer.status)
    })
    .await;
    let missing_response = console.write("POST", &format!("{path}/retry"), Value::Null).await;

    assert_eq!(email["template"], "invitation");
    assert_eq!(email["address"], "bob@example.org", "newest first");
    assert_eq!(email["state"], "postponed");
    assert!(email["failure"].is_string() && email["nextAttemptAt"].is_string(), "{email}");
    assert!(
        items(&next_response).iter().any(|it| it["address"] == "eve@example.org"),
        "{}",
        next_response.text()
    );
    assert!(!list.text().contains("canary") && !next_response.text().contains("canary"));
    assert_eq!(retry_response.status, 200, "{}", retry_response.text());
    assert_eq!(discarded, 200);
    assert_eq!(missing_response.refusal(), (404, "not_found"));
    assert_eq!(console.get(&format!("{OUTBOX}?state=lost")).await.status, 400);
    assert_eq!(console.get(&format!("{OUTBOX}?sort=state")).await.status, 400);
    let newest_first = console.get(&format!("{OUTBOX}?sort=-created")).await;
    let oldest_first = console.get(&format!("{OUTBOX}?sort=created")).await;
    let oldest = items(&newest_first).last().map(|it| &it["id"]);
    assert_eq!(items(&oldest_first).first().map(|it| &it["id"]), oldest);
    assert!(oldest.is_some());
    assert_eq!(console.get(&format!("{OUTBOX}?state=failed")).await.body["items"], json!([]));
    assert_eq!(app.count("audit_entries WHERE action = 'Mail.Discarded'").await, 1);
}

async fn a_test_email_is_sent_if_a_relay_is_configured(database: TestDatabase) {
    let relay = FakeRelay::start().await;
    let (app, _, console) = administrator(TestConfig::on(database).with_relay(&relay)).await;
    let path = format!("{OUTBOX}/test");

    let response = console.write("POST", &path, Value::Null).await;
    let recipients = until(async || {
        let mail = relay.next_mail().await;
        (mail.subject() == "Test email from this server").then_some(mail.to)
    })
    .await;
    let (_other, _, unconfigured) = administrator(TestConfig::on(TestDatabase::sqlite())).await;
    let refused_response = unconfigured.write("POST", &path, Value::Null).await;

    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(recipients, ["ada@example.org"]);
    assert_eq!(refused_response.refusal(), (409, "mail_not_configured"));
    assert_eq!(app.count("audit_entries WHERE action = 'Mail.TestSent'").await, 1);
}

async fn models_are_listed_without_secrets_and_tested(database: TestDatabase) {
    let demo = Demo::start(0).expect("an upstream");
    let config = TestConfig::on(database)
        .with_upstream(&demo.endpoint())
        .with("Ai__Providers__0__Id", "vendor/small 2")
        .with("Ai__Providers__0__ProviderType", "OpenAICompatible")
        .with("Ai__Providers__0__Endpoint", "http://127.0.0.1:9")
        .with("Ai__Providers__0__Model", "small");
    let (app, _, console) = administrator(config).await;
    let list = async || console.get("/api/admin/models").await;
    let test = async |key: &str| {
        console.write("POST", &format!("/api/admin/models/{key}/test-call"), Value::Null).await
    };

    let previous_list = list().await;
    let response = test("Ai").await;
    let unreachable = test("Ai:Providers:vendor%2Fsmall%202").await;
    let later_list = list().await;

    let small = "Ai:Providers:vendor/small 2";
    assert_eq!(model(&previous_list, "Ai")["attempts"], json!({}));
    assert_eq!(model(&previous_list, small)["model"], "small");
    for answer in [&previous_list, &unreachable] {
        let text = answer.text();
        assert!(!text.contains("sk-the-upstreams-key") && !text.contains("127.0.0.1"), "{text}");
    }
    assert_eq!(response.body["outcome"], "answered");

    let text = response.body["text"].as_str().expect("a text");
    assert!(text.contains("Demo answer to"), "{text}");
    assert_eq!(demo.call_counts().calls, 1);
    assert_eq!(unreachable.body["outcome"], "unreachable");
    assert_eq!(model(&later_list, "Ai")["attempts"], json!({ "answered": 1 }));
    assert_eq!(model(&later_list, small)["lastOutcome"], "unreachable");
    assert_eq!(app.count("audit_entries WHERE action = 'Model.Tested'").await, 2);
}

/// Returns the model with this key in the list of models.
fn model<'a>(list: &'a TestResponse, key: &str) -> &'a Value {
    let models = list.body.as_array().expect("a list");
    models.iter().find(|it| it["key"] == key).expect("a model")
}

async fn the_last_runs_of_maintenance_are_listed(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;

    let tasks = until(async || {
        let list = console.get("/api/admin/maintenance").await;
        let tasks = list.body.as_array().expect("a list").clone();
        tasks.iter().all(|it| it["status"] == "completed").then_some(tasks)
    })
    .await;

    let names: Vec<_> = tasks.iter().map(|it| it["task"].as_str().unwrap_or_default()).collect();
    let expected: Vec<_> = MaintenanceKind::ALL.iter().map(|it| it.name()).collect();
    assert_eq!(names, expected);
    for key in ["startedAt", "finishedAt", "instance"] {
        assert!(tasks.iter().all(|it| it[key].is_string()), "{key}: {tasks:?}");
    }
}
