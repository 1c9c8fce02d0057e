//! Histories, as the server stores them.

use std::env;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pia_assignments::{AssignmentStatus, StepError, StopMode, WorkflowEngine};
use pia_kernel::AssignmentId;
use pia_storage::Database;
use serde_json::Value;
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, Url, WorkflowExecutionInfo,
    WorkflowFetchHistoryOptions,
};

use crate::scene::{Scene, server, until};
use crate::script::{Script, response};

pia_testkit::contract! {
    payloads_are_sealed,
    a_history_is_bounded,
    cancellations_have_a_history,
}

/// Returns the history of a workflow, of its last run by default. If `RECORD_HISTORIES`
/// names a folder, the history is stored there to be replayed by later versions.
async fn fetch_history(id: AssignmentId, run_id: Option<String>, name: &str) -> Value {
    let url = Url::parse(&format!("http://{}", server())).unwrap();
    let connection = Connection::connect(ConnectionOptions::new(url).build()).await.unwrap();
    let client = Client::new(connection, ClientOptions::new("pia").build()).unwrap();
    let workflow = WorkflowExecutionInfo::builder()
        .namespace("pia")
        .workflow_id(format!("assignment-{id}"))
        .maybe_run_id(run_id)
        .build();
    let history =
        workflow.bind_untyped(client).fetch_history(WorkflowFetchHistoryOptions::default());
    let json = history.to_json().await.unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test reads the environment itself")]
    if let Ok(folder) = env::var("RECORD_HISTORIES") {
        std::fs::write(Path::new(&folder).join(format!("{name}.json")), &json).unwrap();
    }
    serde_json::from_slice(&json).unwrap()
}

/// Adds the payloads within `value` to `payloads`.
fn collect_payloads<'a>(value: &'a Value, payloads: &mut Vec<&'a Value>) {
    match value {
        Value::Object(members) if members.contains_key("metadata") => payloads.push(value),
        Value::Object(members) => members.values().for_each(|it| collect_payloads(it, payloads)),
        Value::Array(items) => items.iter().for_each(|it| collect_payloads(it, payloads)),
        _ => {}
    }
}

/// Returns a model that is busy for the first calls, for this time.
fn busy(calls: u32, retry_after: Duration) -> Arc<Script> {
    Arc::new(Script::new(1_000, move |call| {
        if call < calls {
            return Err(StepError::Busy { retry_after: Some(retry_after) });
        }
        Ok(response())
    }))
}

async fn payloads_are_sealed(db: Database) {
    let scene = Scene::on(db).await;
    let script = busy(1, Duration::from_millis(10));
    let worker = scene.worker(&script);
    let id = scene.started().await;
    scene.ended(id).await;
    scene.not_live(id).await;
    worker.stop().await;

    let history = fetch_history(id, None, "completed").await;

    let mut payloads = Vec::new();
    collect_payloads(&history, &mut payloads);
    // The input of the workflow, and input and result of each activity.
    assert!(payloads.len() >= 9, "{history}");
    for payload in payloads {
        // "binary/encrypted"
        assert_eq!(payload["metadata"]["encoding"], "YmluYXJ5L2VuY3J5cHRlZA==");
    }
    let text = history.to_string();
    assert_eq!(text.matches(&id.to_string()).count(), 1, "{text}");
    assert_eq!(text.matches(&format!("assignment-{id}")).count(), 1);
}

async fn a_history_is_bounded(db: Database) {
    let scene = Scene::on(db).await;
    let script = Arc::new(Script::answering());
    let worker = scene.worker(&script);
    let id = scene.queued_with(35).await;
    scene.engine.start(id).await.unwrap();

    let details = scene.ended(id).await;
    scene.not_live(id).await;

    assert_eq!(details.assignment.status, AssignmentStatus::Completed);
    assert_eq!(script.called(), 35);
    let last = fetch_history(id, None, "continued").await;
    let started = &last["events"][0]["attributes"]["WorkflowExecutionStartedEventAttributes"];
    let first_run = started["first_execution_run_id"].as_str().unwrap().to_owned();
    let first = fetch_history(id, Some(first_run), "continued-first").await;
    let lengths = [first, last].map(|it| it["events"].as_array().unwrap().len());
    assert!(lengths[1] < lengths[0] && lengths[0] < 250, "{lengths:?}");
    worker.stop().await;
}

async fn cancellations_have_a_history(db: Database) {
    let scene = Scene::on(db).await;
    let waiting = busy(2, Duration::from_secs(50));
    let worker = scene.worker(&waiting);
    let id = scene.started().await;
    until(async || (waiting.called() == 1).then_some(())).await;
    assert!(scene.cancel(id).await);
    scene.engine.stop(id, StopMode::Cancel).await.unwrap();
    scene.not_live(id).await;
    fetch_history(id, None, "cancelled-while-waiting").await;
    worker.stop().await;

    let silent = Arc::new(Script::silent());
    let worker = scene.worker(&silent);
    let id = scene.started().await;
    until(async || (silent.called() == 1).then_some(())).await;
    assert!(scene.cancel(id).await);
    scene.engine.stop(id, StopMode::Cancel).await.unwrap();
    scene.not_live(id).await;
    fetch_history(id, None, "cancelled-in-a-step").await;
    silent.permit(1);
    worker.stop().await;
}
