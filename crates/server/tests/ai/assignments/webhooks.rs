//! Webhooks from end to end.

use std::time::Duration;

use pia_kernel::{Clock, SystemClock};
use pia_server_testkit::ai_peer::{Fixed, Peer, Request, read, response};
use pia_server_testkit::console::Console;
use pia_server_testkit::on_databases_with_roles;
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use tokio::io::AsyncWriteExt;

use super::{ANSWER, accepting, granted, hand_over, wait_for_end};

on_databases_with_roles!(the_end_of_an_assignment_is_announced_until_the_receiver_accepts_it,);

/// Returns the path of the operator with this name.
async fn operator(console: &Console, name: &str) -> String {
    let operators = console.get("/api/admin/operators").await.body;
    let operator = operators.as_array().expect("a list").iter().find(|it| it["name"] == name);
    let id = operator.expect("an operator")["id"].as_str().expect("an id");
    format!("/api/admin/operators/{id}")
}

/// Receives one delivery, and answers with a status.
async fn received(receiver: &Peer, status: &str) -> Request {
    let (mut socket, _) = receiver.listener.accept().await.expect("a connection");
    let request = read(&mut socket).await.expect("a request");
    socket.write_all(response(status, "", "").as_bytes()).await.expect("a reader");
    request
}

fn header<'a>(request: &'a Request, name: &str) -> &'a str {
    request
        .head
        .lines()
        .filter_map(|it| it.split_once(": "))
        .find(|(header, _)| header.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
        .expect("a header")
}

/// Checks the signature of a delivery, and returns its id and body.
fn verified(request: &Request, secret: &str) -> (String, Value) {
    let id = header(request, "webhook-id").to_owned();
    let sent_at: i64 = header(request, "webhook-timestamp").parse().expect("a time");
    let now = SystemClock.now().micros() / 1_000_000;
    assert!((now - 60..=now + 1).contains(&sent_at), "{sent_at}");
    let expected = Webhook::new(secret).expect("a secret").sign(&id, sent_at, &request.body);
    assert_eq!(header(request, "webhook-signature"), expected.expect("a signature"));
    (id, serde_json::from_slice(&request.body).expect("JSON"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_never_answers_delays_no_other() {
    let upstream = Fixed::with_json(ANSWER).await;
    let silent = Peer::start().await;
    let receiver = Peer::start().await;
    let setting = accepting(TestDatabase::sqlite(), &upstream.endpoint);
    let (_app, console, client) =
        granted(setting.with("Operators__AllowPrivateWebhooks", true)).await;
    for (name, peer) in [("Brief", &silent), ("Research", &receiver)] {
        let hook = format!("{}/webhook", operator(&console, name).await);
        let put = console.write("PUT", &hook, json!({ "url": peer.endpoint })).await;
        assert_eq!(put.status, 200, "{}", put.text());
    }

    for _ in 0..6 {
        wait_for_end(&client, &hand_over(&client, "brief").await).await;
    }
    let _open = silent.accept().await;

    hand_over(&client, "research").await;

    let limit = Duration::from_secs(10);
    let delivery = tokio::time::timeout(limit, received(&receiver, "204 No Content")).await;
    assert!(delivery.is_ok(), "the delivery waited for another receiver");
}

async fn the_end_of_an_assignment_is_announced_until_the_receiver_accepts_it(
    database: TestDatabase,
) {
    let upstream = Fixed::with_json(ANSWER).await;
    let receiver = Peer::start().await;
    let setting = accepting(database, &upstream.endpoint);
    let (_app, console, client) =
        granted(setting.with("Operators__AllowPrivateWebhooks", true)).await;
    let path = operator(&console, "Research").await;
    let hook = format!("{path}/webhook");
    let put = console.write("PUT", &hook, json!({ "url": receiver.endpoint })).await;
    assert_eq!(put.status, 200, "{}", put.text());
    let secret = put.body["secret"].as_str().expect("a secret").to_owned();

    let assignment = hand_over(&client, "research").await;
    let first_request = received(&receiver, "503 Service Unavailable").await;
    let second_request = received(&receiver, "204 No Content").await;

    let (id, body) = verified(&first_request, &secret);
    assert_eq!(verified(&second_request, &secret), (id.clone(), body.clone()));
    assert!(second_request.head.starts_with("POST /v1 HTTP/1.1"));
    assert_eq!(body["type"], "assignment.completed");
    let completed = wait_for_end(&client, &assignment).await;
    assert_eq!(body["data"]["assignmentId"], completed["id"]);
    assert_eq!(body["data"]["tokensSpent"], 42);
    assert_eq!(completed["tokensSpent"], 42);
    assert!(!body.to_string().contains("Findings"));

    let deliveries = format!("{hook}/deliveries");
    let delivered = until(async || {
        let delivery = console.get(&deliveries).await.body[0].clone();
        delivery.get("deliveredAt").is_some().then_some(delivery)
    })
    .await;
    assert_eq!(delivered["id"], json!(id));
    assert_eq!(delivered["payload"], body);
    assert_eq!(delivered["attempts"], 2);
    assert_eq!(delivered.get("nextAt"), None);

    let removal_response = console.write("DELETE", &hook, json!({})).await;
    assert_eq!(removal_response.status, 200, "{}", removal_response.text());
    assert_eq!(console.get(&deliveries).await.body, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_stay_outside_of_the_network() {
    let upstream = Fixed::with_json(ANSWER).await;
    let (_app, console, _) = granted(accepting(TestDatabase::sqlite(), &upstream.endpoint)).await;
    let hook = format!("{}/webhook", operator(&console, "Research").await);
    for url in ["http://127.0.0.1:9/", "https://169.254.169.254/", "https://localhost/", "x"] {
        let response = console.write("PUT", &hook, json!({ "url": url })).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{url}");
    }

    let put = console.write("PUT", &hook, json!({ "url": "https://hooks.example/x" })).await;
    assert_eq!(put.status, 200, "{}", put.text());
    let list = console.get("/api/admin/operators").await.body;
    assert!(list.to_string().contains("https://hooks.example/x"));

    let secret = put.body["secret"].as_str().expect("a secret");
    assert!(!list.to_string().contains(secret));
    let unknown_path = "/api/admin/operators/0199f0e0-0000-7000-8000-0000000000ff/webhook";
    let put = console.write("PUT", unknown_path, json!({ "url": "https://hooks.example/x" })).await;
    assert_eq!(put.status, 404);
}
