//! Tests of the assignments of a user.

use pia_kernel::{OperatorId, UserId};
use serde_json::json;

use super::*;
use crate::fakes::{NOW, brief, clock, research, settings};
use crate::{EnvelopeError, MockAssignmentStore, MockOperatorStore, MockWorkflowEngine};

fn operator(skill: Skill) -> Operator {
    Operator {
        id: OperatorId::generate(),
        name: "Colleague".to_owned(),
        skill,
        is_custom: false,
        is_active: true,
        groups: Vec::new(),
        webhook_url: None,
        updated_at: NOW,
    }
}

/// Ports of the assignments, with the expectations of a test.
#[derive(Default)]
struct MockPorts {
    store: MockAssignmentStore,
    engine: MockWorkflowEngine,
}

fn assignments_with(ports: MockPorts) -> Assignments {
    let mut operators = MockOperatorStore::new();
    operators
        .expect_list_granted()
        .returning(|_| Ok(vec![operator(brief()), operator(research())]));
    Assignments {
        store: Arc::new(ports.store),
        operators: Arc::new(operators),
        engine: Arc::new(ports.engine),
        settings: settings(),
        clock: clock(),
    }
}

fn input(items: &serde_json::Value) -> String {
    json!({ "schemaVersion": 1, "prompt": "Why?", "items": items }).to_string()
}

#[tokio::test]
async fn an_accepted_assignment_is_stored_with_its_event_and_started() {
    let mut store = MockAssignmentStore::new();
    let mut engine = MockWorkflowEngine::new();
    store
        .expect_create()
        .withf(|it, max| it.skill.name == "research" && it.event.key == "queued" && *max == 2)
        .returning(|_, _| Ok(AssignmentCreationOutcome::Done));
    engine.expect_start().once().returning(|_| Ok(()));

    let assignments = assignments_with(MockPorts { store, engine });

    assignments.enqueue(UserId::generate(), "RESEARCH", input(&json!([]))).await.unwrap();
}

#[tokio::test]
async fn an_assignment_that_cannot_be_started_is_discarded() {
    let mut store = MockAssignmentStore::new();
    let mut engine = MockWorkflowEngine::new();
    store.expect_create().returning(|_, _| Ok(AssignmentCreationOutcome::Done));
    store.expect_discard().once().returning(|_| Ok(()));
    engine.expect_start().returning(|_| Err(Unavailable::new("engine", "down")));

    let assignments = assignments_with(MockPorts { store, engine });

    let enqueued = assignments.enqueue(UserId::generate(), "brief", input(&json!([]))).await;

    assert!(matches!(enqueued, Err(EnqueueError::NotStarted(_))));
}

#[tokio::test]
async fn a_refused_assignment_stores_nothing() {
    let todo = json!([{ "entityType": "todo", "text": "t" }]);
    let assignments = assignments_with(MockPorts::default());
    let enqueue = async |skill: &str, input: String| {
        assignments.enqueue(UserId::generate(), skill, input).await.unwrap_err()
    };

    assert!(matches!(
        enqueue("research", input(&todo)).await,
        EnqueueError::Envelope(EnvelopeError::UndeclaredType("todo"))
    ));
    assert!(matches!(enqueue("other", input(&json!([]))).await, EnqueueError::SkillNotGranted));
    assert!(matches!(enqueue("other", "{}".to_owned()).await, EnqueueError::Envelope(_)));
}

#[tokio::test]
async fn the_workflow_of_a_cancelled_assignment_is_stopped() {
    let mut store = MockAssignmentStore::new();
    let mut engine = MockWorkflowEngine::new();
    store.expect_cancel().times(2).returning(|_, _, end| Ok(end.event.key == "cancelled"));
    engine.expect_stop().times(2).returning(|_, mode| {
        assert_eq!(mode, StopMode::Cancel);
        Err(Unavailable::new("engine", "down"))
    });
    let assignments = assignments_with(MockPorts { store, engine });

    for _ in 0..2 {
        assert!(assignments.cancel(UserId::generate(), AssignmentId::generate()).await.unwrap());
    }
}
