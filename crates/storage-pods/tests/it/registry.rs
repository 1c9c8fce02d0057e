//! Contract tests of the registry of connected pods.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{ConnectorId, GroupId, GroupSelection, RequestContext, SideEffects};
use pia_pods::{
    CallRecord, ConnectedPod, ConnectorStore, ConnectorTokenHash, OfferedSkill, PodCallOutcome,
    PodDescription, PodId, PodRegistrationOutcome, PodRegistry, PodStanding,
};
use pia_storage::schema::audit_entries;
use pia_storage::{Database, on_conn};
use pia_storage_pods::SqlPodRegistry;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::connectors::{DEFAULT, at, create_connector, store};

pia_testkit::contract! {
    a_pod_is_listed_while_it_is_alive,
    a_pod_describes_itself_again,
    a_pod_is_listed_for_granted_groups_only,
    a_pod_whose_token_is_gone_is_to_be_disconnected,
    a_pod_that_was_forgotten_registers_again,
    a_draining_pod_is_reported,
    an_mcp_server_is_registered_while_its_connector_exists,
    calls_are_counted,
}

fn registry(db: &Database) -> SqlPodRegistry {
    SqlPodRegistry::new(db.clone(), TaskTracker::new())
}

pub(crate) fn pod(connector: ConnectorId, token: u8) -> ConnectedPod {
    ConnectedPod {
        id: PodId(Uuid::now_v7()),
        connector,
        token: Some(ConnectorTokenHash([token; 32])),
        host: "host-1".to_owned(),
        description: PodDescription {
            protocol: 1,
            name: "weather-pod".to_owned(),
            version: "1".to_owned(),
            tools: Vec::new(),
            skills: vec![OfferedSkill { name: "plan".to_owned(), timeout_seconds: None }],
            max_concurrent_calls: 3,
        },
        connected_at: at(1),
        alive_until: at(10),
        calls: 0,
        failures: 0,
        milliseconds: 0,
        is_draining: false,
    }
}

/// Stores a pod. Returns false if its token is gone; tokens expire at 100.
async fn put(db: &Database, pod: &ConnectedPod) -> bool {
    let outcome = registry(db).put(pod.clone(), at(1)).await.unwrap();
    outcome == PodRegistrationOutcome::Done { token_expires_at: Some(at(100)) }
}

/// Renews the leases of pods. Returns the pods that must do something.
async fn keep_alive(
    db: &Database,
    pods: Vec<PodId>,
    seconds: i64,
    until: i64,
) -> Vec<(PodId, PodStanding)> {
    registry(db).keep_alive(pods, at(seconds), at(until)).await.unwrap()
}

async fn list_connected(db: &Database, group: Option<GroupId>, seconds: i64) -> Vec<ConnectedPod> {
    registry(db).list_connected(group, at(seconds)).await.unwrap()
}

async fn a_pod_is_listed_while_it_is_alive(db: Database) {
    let pod = pod(create_connector(&db, "Weather", 1).await, 1);
    assert!(put(&db, &pod).await);
    assert_eq!(list_connected(&db, None, 10).await, std::slice::from_ref(&pod));
    assert!(list_connected(&db, None, 11).await.is_empty());

    assert!(keep_alive(&db, vec![pod.id], 9, 20).await.is_empty());
    assert_eq!(list_connected(&db, None, 20).await.len(), 1);

    registry(&db).sweep(at(20)).await.unwrap();
    registry(&db).remove(pod.id).await.unwrap();
    assert!(list_connected(&db, None, 2).await.is_empty());

    assert!(put(&db, &pod).await);
    registry(&db).sweep(at(11)).await.unwrap();
    assert!(list_connected(&db, None, 2).await.is_empty());
}

async fn a_pod_describes_itself_again(db: Database) {
    let mut pod = pod(create_connector(&db, "Weather", 1).await, 1);
    assert!(put(&db, &pod).await);

    pod.description.skills.clear();
    r"back \u0000 slash".clone_into(&mut pod.description.name);
    assert!(put(&db, &pod).await);

    let [registered_pod] = list_connected(&db, None, 2).await.try_into().unwrap();
    assert_eq!(registered_pod.id, pod.id);
    assert_eq!(registered_pod.description.skills.len(), 0);
    assert_eq!(registered_pod.description.name, pod.description.name);
}

async fn a_pod_is_listed_for_granted_groups_only(db: Database) {
    let connector = create_connector(&db, "Weather", 1).await;
    assert!(put(&db, &pod(connector, 1)).await);
    assert_eq!(list_connected(&db, Some(DEFAULT), 2).await.len(), 1);
    assert!(list_connected(&db, Some(GroupId::generate()), 2).await.is_empty());

    let none = GroupSelection::Exactly(Vec::new());
    store(&db).grant(connector, none, SideEffects::default()).await.unwrap();
    assert!(list_connected(&db, Some(DEFAULT), 2).await.is_empty());
    assert_eq!(list_connected(&db, None, 2).await.len(), 1);
}

async fn a_pod_whose_token_is_gone_is_to_be_disconnected(db: Database) {
    let revoked_connector = create_connector(&db, "First", 1).await;
    let other_connector = create_connector(&db, "Second", 2).await;
    let expelled_pod = pod(revoked_connector, 1);
    let other_pod = pod(other_connector, 2);
    for pod in [&expelled_pod, &other_pod] {
        assert!(put(&db, pod).await);
    }

    store(&db).revoke_tokens(revoked_connector, None, SideEffects::default()).await.unwrap();
    let pods = vec![expelled_pod.id, other_pod.id];
    let standing = keep_alive(&db, pods, 5, 9).await;
    assert_eq!(standing, [(expelled_pod.id, PodStanding::Unregistered)]);
    assert_eq!(list_connected(&db, None, 6).await.len(), 1);
    assert!(!put(&db, &expelled_pod).await);

    // Tokens expire at 100.
    let expired = keep_alive(&db, vec![other_pod.id], 100, 110).await;
    assert_eq!(expired, [(other_pod.id, PodStanding::Unregistered)]);
    let outcome = registry(&db).put(other_pod, at(100)).await.unwrap();
    assert_eq!(outcome, PodRegistrationOutcome::TokenGone);
}

async fn a_pod_that_was_forgotten_registers_again(db: Database) {
    let pod = pod(create_connector(&db, "Weather", 1).await, 1);
    assert!(put(&db, &pod).await);
    registry(&db).sweep(at(11)).await.unwrap();

    let standing = keep_alive(&db, vec![pod.id], 20, 30).await;
    assert_eq!(standing, [(pod.id, PodStanding::Unregistered)]);

    assert!(put(&db, &pod).await);
    assert!(keep_alive(&db, vec![pod.id], 20, 30).await.is_empty());
}

async fn a_draining_pod_is_reported(db: Database) {
    let pod = pod(create_connector(&db, "Weather", 1).await, 1);
    assert!(put(&db, &pod).await);
    assert!(!registry(&db).drain(PodId(Uuid::now_v7()), SideEffects::default()).await.unwrap());
    assert!(registry(&db).drain(pod.id, SideEffects::default()).await.unwrap());

    // Its last description does not change that.
    assert!(put(&db, &pod).await);

    let standing = keep_alive(&db, vec![pod.id], 2, 3).await;
    assert_eq!(standing, [(pod.id, PodStanding::Draining)]);
    assert!(list_connected(&db, None, 2).await[0].is_draining);
}

async fn an_mcp_server_is_registered_while_its_connector_exists(db: Database) {
    let connector = create_connector(&db, "Weather", 1).await;
    let server = ConnectedPod { token: None, ..pod(connector, 1) };
    let put = async || registry(&db).put(server.clone(), at(1)).await.unwrap();
    assert_eq!(put().await, PodRegistrationOutcome::Done { token_expires_at: None });
    assert!(keep_alive(&db, vec![server.id], 5, 9).await.is_empty());
    assert_eq!(
        list_connected(&db, None, 9).await,
        [ConnectedPod { alive_until: at(9), ..server.clone() }]
    );
    assert!(!registry(&db).drain(server.id, SideEffects::default()).await.unwrap());

    store(&db).delete(connector, SideEffects::default()).await.unwrap();
    let standing = keep_alive(&db, vec![server.id], 5, 9).await;
    assert_eq!(standing, [(server.id, PodStanding::Unregistered)]);
    assert_eq!(put().await, PodRegistrationOutcome::TokenGone);
}

async fn calls_are_counted(db: Database) {
    let pod = pod(create_connector(&db, "Weather", 1).await, 1);
    assert!(put(&db, &pod).await);
    let tasks = TaskTracker::new();
    let registry = SqlPodRegistry::new(db.clone(), tasks.clone());
    // Those that come while others are written are written together.
    for number in 0..20 {
        let (outcome, milliseconds) = match number {
            0 => (PodCallOutcome::Failed, 12),
            _ => (PodCallOutcome::Completed, 30),
        };
        let call = CallRecord { pod: pod.id, outcome, milliseconds };
        let effects = SideEffects::of_object(at(2), None, "pod".to_owned(), "Pod.ToolCalled");
        let request = Some(format!("request-{number:02}").into());
        let context = RequestContext { request, ..RequestContext::default() };
        context.scope(registry.record(call, effects)).await;
    }
    tasks.close();
    timeout(Duration::from_secs(20), tasks.wait()).await.unwrap();

    let [counted_pod] = list_connected(&db, None, 2).await.try_into().unwrap();
    assert_eq!(counted_pod.calls, 20);
    assert_eq!(counted_pod.failures, 1);
    assert_eq!(counted_pod.milliseconds, 582);

    let audit_query = audit_entries::table
        .filter(audit_entries::action.eq("Pod.ToolCalled"))
        .order(audit_entries::request)
        .select(audit_entries::request.assume_not_null());
    let audited: Vec<String> = on_conn!(db.reader(), |conn| audit_query.load(conn).await?).unwrap();
    assert_eq!(audited, (0..20).map(|it| format!("request-{it:02}")).collect::<Vec<_>>());
}
