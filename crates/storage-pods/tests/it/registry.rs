//! Contract tests of the registry of connected pods.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{ConnectorId, GroupId, RequestContext, SideEffects};
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
    let registered = registry(db).put(pod.clone(), at(1)).await.unwrap();
    registered == PodRegistrationOutcome::Done { token_expires_at: Some(at(100)) }
}

async fn list_connected(db: &Database, group: Option<GroupId>, seconds: i64) -> Vec<ConnectedPod> {
    registry(db).list_connected(group, at(seconds)).await.unwrap()
}

async fn a_pod_is_listed_while_it_is_alive(db: Database) {
    let pod = pod(create_connector(&db, "Weather", 1).await, 1);
    assert!(put(&db, &pod).await);
    assert_eq!(list_connected(&db, None, 10).await, std::slice::from_ref(&pod));
    assert!(list_connected(&db, None, 11).await.is_empty());
    assert!(registry(&db).keep_alive(vec![pod.id], at(9), at(20)).await.unwrap().is_empty());
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
    let [listed] = list_connected(&db, None, 2).await.try_into().unwrap();
    assert_eq!(listed.id, pod.id);
    assert_eq!(listed.description.skills.len(), 0);
    assert_eq!(listed.description.name, pod.description.name);
}

async fn a_pod_is_listed_for_granted_groups_only(db: Database) {
    let connector = create_connector(&db, "Weather", 1).await;
    assert!(put(&db, &pod(connector, 1)).await);
    assert_eq!(list_connected(&db, Some(DEFAULT), 2).await.len(), 1);
    assert!(list_connected(&db, Some(GroupId::generate()), 2).await.is_empty());
    store(&db).grant(connector, Vec::new(), SideEffects::default()).await.unwrap();
    assert!(list_connected(&db, Some(DEFAULT), 2).await.is_empty());
    assert_eq!(list_connected(&db, None, 2).await.len(), 1);
}

async fn a_pod_whose_token_is_gone_is_to_be_disconnected(db: Database) {
    let first = create_connector(&db, "First", 1).await;
    let second = create_connector(&db, "Second", 2).await;
    let gone = pod(first, 1);
    let stays = pod(second, 2);
    for pod in [&gone, &stays] {
        assert!(put(&db, pod).await);
    }
    store(&db).revoke_tokens(first, None, SideEffects::default()).await.unwrap();
    let pods = vec![gone.id, stays.id];
    let standing = registry(&db).keep_alive(pods, at(5), at(9)).await.unwrap();
    assert_eq!(standing, [(gone.id, PodStanding::Unregistered)]);
    assert_eq!(list_connected(&db, None, 6).await.len(), 1);
    assert!(!put(&db, &gone).await);
    // Tokens expire at 100.
    let expired = registry(&db).keep_alive(vec![stays.id], at(100), at(110)).await.unwrap();
    assert_eq!(expired, [(stays.id, PodStanding::Unregistered)]);
    let late = registry(&db).put(stays, at(100)).await.unwrap();
    assert_eq!(late, PodRegistrationOutcome::TokenGone);
}

async fn a_pod_that_was_forgotten_registers_again(db: Database) {
    let pod = pod(create_connector(&db, "Weather", 1).await, 1);
    assert!(put(&db, &pod).await);
    registry(&db).sweep(at(11)).await.unwrap();
    let standing = registry(&db).keep_alive(vec![pod.id], at(20), at(30)).await.unwrap();
    assert_eq!(standing, [(pod.id, PodStanding::Unregistered)]);
    assert!(put(&db, &pod).await);
    assert!(registry(&db).keep_alive(vec![pod.id], at(20), at(30)).await.unwrap().is_empty());
}

async fn a_draining_pod_is_reported(db: Database) {
    let pod = pod(create_connector(&db, "Weather", 1).await, 1);
    assert!(put(&db, &pod).await);
    assert!(!registry(&db).drain(PodId(Uuid::now_v7()), SideEffects::default()).await.unwrap());
    assert!(registry(&db).drain(pod.id, SideEffects::default()).await.unwrap());
    // Its last description does not change that.
    assert!(put(&db, &pod).await);
    let standing = registry(&db).keep_alive(vec![pod.id], at(2), at(3)).await.unwrap();
    assert_eq!(standing, [(pod.id, PodStanding::Draining)]);
    assert!(list_connected(&db, None, 2).await[0].is_draining);
}

async fn an_mcp_server_is_registered_while_its_connector_exists(db: Database) {
    let connector = create_connector(&db, "Weather", 1).await;
    let server = ConnectedPod { token: None, ..pod(connector, 1) };
    let put = async || registry(&db).put(server.clone(), at(1)).await.unwrap();
    assert_eq!(put().await, PodRegistrationOutcome::Done { token_expires_at: None });
    assert!(registry(&db).keep_alive(vec![server.id], at(5), at(9)).await.unwrap().is_empty());
    assert_eq!(
        list_connected(&db, None, 9).await,
        [ConnectedPod { alive_until: at(9), ..server.clone() }]
    );
    assert!(!registry(&db).drain(server.id, SideEffects::default()).await.unwrap());
    store(&db).delete(connector, SideEffects::default()).await.unwrap();
    let standing = registry(&db).keep_alive(vec![server.id], at(5), at(9)).await.unwrap();
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

    let [listed] = list_connected(&db, None, 2).await.try_into().unwrap();
    assert_eq!(listed.calls, 20);
    assert_eq!(listed.failures, 1);
    assert_eq!(listed.milliseconds, 582);
    let audited = audit_entries::table
        .filter(audit_entries::action.eq("Pod.ToolCalled"))
        .order(audit_entries::request)
        .select(audit_entries::request.assume_not_null());
    let audited: Vec<String> = on_conn!(db.reader(), |conn| audited.load(conn).await?).unwrap();
    assert_eq!(audited, (0..20).map(|it| format!("request-{it:02}")).collect::<Vec<_>>());
}
