//! Assignments while the workflow server is down.

use pia_server_testkit::ai_peer::Fixed;
use pia_server_testkit::client::keys;
use pia_testkit::databases::TestDatabase;

use super::{ANSWER, accepting, enqueue, envelope, granted};

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_accepted_while_the_workflow_server_is_down() {
    let upstream = Fixed::with_json(ANSWER).await;
    // The port that nothing listens at.
    let setting = accepting(TestDatabase::sqlite(), &upstream.endpoint)
        .with("Workflow__Address", "127.0.0.1:9");
    let (app, console, client) = granted(setting).await;

    let response = enqueue(&client, "brief", &envelope("Hi")).await;

    assert_eq!(response.refusal(), (503, "assignment_not_started"));
    assert_eq!(app.count("assignments").await, 0);
    let queue = console.get("/api/admin/assignments/queue").await.body;
    assert!(keys(&queue).contains(&"workers"), "{queue}");
}
