//! Tests of the workflow against histories that were recorded.

use std::path::PathBuf;

use pia_testkit::databases::seal;
use temporalio_client::WorkflowHistory;
use temporalio_common::data_converters::{
    DataConverter, DefaultFailureConverter, PayloadConverter,
};
use temporalio_sdk::workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions};

use super::*;
use crate::codec::SealingCodec;

fn replayer() -> WorkflowReplayer {
    let codec = SealingCodec { seal: seal() };
    let payloads = PayloadConverter::default();
    let converter = DataConverter::new(payloads, DefaultFailureConverter::default(), codec);
    let options = WorkflowReplayerOptions::new()
        .data_converter(converter)
        .register_workflow::<AssignmentWorkflow>()
        .unwrap()
        .build();
    WorkflowReplayer::new(options).unwrap()
}

/// Returns the recorded histories, with their paths.
fn read_histories() -> Vec<(PathBuf, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/histories");
    let files = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    files.map(|it| (it.clone(), std::fs::read_to_string(it).unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_histories_are_replayed() {
    let histories = read_histories();
    assert!(histories.len() >= 4);
    for (path, json) in histories {
        let history = WorkflowHistory::from_json(json.as_bytes()).unwrap();
        let replayed = replayer().replay_workflow(history).await;
        assert!(replayed.is_ok(), "{}: {:?}", path.display(), replayed.err());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_of_other_commands_is_refused() {
    for (path, json) in read_histories() {
        let changed_json = json.replace("\"advance\"", "\"retreat\"");
        let history = WorkflowHistory::from_json(changed_json.as_bytes()).unwrap();
        assert!(replayer().replay_workflow(history).await.is_err(), "{}", path.display());
    }
}
