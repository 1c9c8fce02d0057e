//! Contract tests of the registry of connected pods.

use pia_kernel::{ConnectorId, GroupId, SideEffects};
use pia_pods::{
    CallRecord, ConnectedPod, ConnectorStore, ConnectorTokenHash, PodCallOutcome, PodDescription,
    PodId, PodRegistry,
};
use pia_storage::Database;
use pia_storage_pods::SqlPodRegistry;
use uuid::Uuid;

use crate::connectors::{DEFAULT, at, created, store};

pia_testkit::contract! {
    a_pod_is_listed_while_it_is_alive,
    a_pod_describes_itself_again,
    a_pod_is_listed_for_granted_groups_only,
    a_pod_whose_token_is_gone_is_to_be_disconnected,
    calls_are_counted,
}

fn registry(db: &Database) -> SqlPodRegistry {
    SqlPodRegistry::new(db.clone())
}

fn pod(connector: ConnectorId, token: u8) -> ConnectedPod {
    ConnectedPod {
        id: PodId(Uuid::now_v7()),
        connector,
        token: ConnectorTokenHash([token; 32]),
        host: "host-1".to_owned(),
        description: PodDescription {
            protocol: 1,
            name: "weather-pod".to_owned(),
            version: "1".to_owned(),
            tools: Vec::new(),
            skills: vec!["plan".to_owned()],
            max_concurrent_calls: 3,
        },
        connected_at: at(1),
        alive_until: at(10),
        calls: 0,
        failures: 0,
        milliseconds: 0,
    }
}

async fn connected(db: &Database, group: Option<GroupId>, seconds: i64) -> Vec<ConnectedPod> {
    registry(db).connected(group, at(seconds)).await.unwrap()
}

async fn a_pod_is_listed_while_it_is_alive(db: Database) {
    let pod = pod(created(&db, "Weather", 1).await, 1);
    assert!(registry(&db).put(pod.clone()).await.unwrap());
    assert_eq!(connected(&db, None, 10).await, std::slice::from_ref(&pod));
    assert!(connected(&db, None, 11).await.is_empty());
    assert!(registry(&db).keep_alive(vec![pod.id], at(9), at(20)).await.unwrap().is_empty());
    assert_eq!(connected(&db, None, 20).await.len(), 1);
    registry(&db).sweep(at(20)).await.unwrap();
    registry(&db).remove(pod.id).await.unwrap();
    assert!(connected(&db, None, 2).await.is_empty());
    assert!(registry(&db).put(pod).await.unwrap());
    registry(&db).sweep(at(11)).await.unwrap();
    assert!(connected(&db, None, 2).await.is_empty());
}

async fn a_pod_describes_itself_again(db: Database) {
    let mut pod = pod(created(&db, "Weather", 1).await, 1);
    assert!(registry(&db).put(pod.clone()).await.unwrap());
    pod.description.skills.clear();
    r"back \u0000 slash".clone_into(&mut pod.description.name);
    assert!(registry(&db).put(pod.clone()).await.unwrap());
    let [listed] = connected(&db, None, 2).await.try_into().unwrap();
    assert_eq!((listed.id, listed.description.skills.len()), (pod.id, 0));
    assert_eq!(listed.description.name, pod.description.name);
}

async fn a_pod_is_listed_for_granted_groups_only(db: Database) {
    let connector = created(&db, "Weather", 1).await;
    assert!(registry(&db).put(pod(connector, 1)).await.unwrap());
    assert_eq!(connected(&db, Some(DEFAULT), 2).await.len(), 1);
    assert!(connected(&db, Some(GroupId::generate()), 2).await.is_empty());
    store(&db).grant(connector, Vec::new(), SideEffects::default()).await.unwrap();
    assert!(connected(&db, Some(DEFAULT), 2).await.is_empty());
    assert_eq!(connected(&db, None, 2).await.len(), 1);
}

async fn a_pod_whose_token_is_gone_is_to_be_disconnected(db: Database) {
    let (first, second) = (created(&db, "First", 1).await, created(&db, "Second", 2).await);
    let (gone, stays) = (pod(first, 1), pod(second, 2));
    for pod in [&gone, &stays] {
        assert!(registry(&db).put(pod.clone()).await.unwrap());
    }
    store(&db).revoke_tokens(first, SideEffects::default()).await.unwrap();
    let pods = vec![gone.id, stays.id];
    assert_eq!(registry(&db).keep_alive(pods, at(5), at(9)).await.unwrap(), [gone.id]);
    assert_eq!(connected(&db, None, 6).await.len(), 1);
    assert!(!registry(&db).put(gone).await.unwrap());
    // Tokens expire at 100.
    let expired = registry(&db).keep_alive(vec![stays.id], at(100), at(110)).await.unwrap();
    assert_eq!(expired, [stays.id]);
}

async fn calls_are_counted(db: Database) {
    let pod = pod(created(&db, "Weather", 1).await, 1);
    assert!(registry(&db).put(pod.clone()).await.unwrap());
    for (outcome, milliseconds) in [(PodCallOutcome::Completed, 30), (PodCallOutcome::Failed, 12)] {
        let call = CallRecord { pod: pod.id, outcome, milliseconds };
        registry(&db).record(call, SideEffects::default()).await.unwrap();
    }
    let [listed] = connected(&db, None, 2).await.try_into().unwrap();
    assert_eq!((listed.calls, listed.failures, listed.milliseconds), (2, 1, 42));
}
