//! Tests of pushes.

use pia_testkit::FixedClock;
use serde_json::json;
use uuid::Uuid;

use super::*;
use crate::conflict::Resolution;
use crate::item::ItemRejection;
use crate::ports::MockSyncStore;

const NOON: Timestamp = Timestamp::UNIX_EPOCH;
const AN_HOUR: std::time::Duration = std::time::Duration::from_hours(1);

fn pushing(store: MockSyncStore) -> PushService {
    let settings = LiveSetting::new(PushSettings::default());
    PushService::new(Arc::new(store), settings, Arc::new(FixedClock(NOON)))
}

/// Creates a store that accepts everything, and checks the changes.
fn taking(expected: impl Fn(&Changes) + Send + 'static) -> MockSyncStore {
    let mut store = MockSyncStore::new();
    store.expect_apply().once().returning(move |_, changes, _| {
        expected(&changes);
        Ok(ApplyOutcome::Done { at: NOON, conflicts: changes.refused })
    });
    store
}

fn refusing(applied: ApplyOutcome) -> MockSyncStore {
    let mut store = MockSyncStore::new();
    store.expect_apply().once().return_once(move |_, _, _| Ok(applied));
    store
}

fn todo(fields: &serde_json::Value) -> ReceivedItem {
    ReceivedItem { channel: Channel::Todos, fields: fields.as_object().unwrap().clone() }
}

#[tokio::test]
async fn a_rejected_item_does_not_stop_the_others() {
    let items = vec![
        todo(&json!({ "id": Uuid::from_u128(1), "encryptedPayload": "half" })),
        todo(&json!({ "id": Uuid::from_u128(2), "title": "good" })),
    ];
    let store = taking(|changes| {
        let ids: Vec<_> = changes.items.iter().map(|it| it.key.id.as_u128()).collect();
        assert_eq!(ids, [2]);
    });

    let pushed = pushing(store).push(UserId::generate(), Push { items, ..Push::default() }).await;

    let conflicts = pushed.unwrap().conflicts;
    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0].resolution, Resolution::ServerWins);
    assert_eq!(conflicts[0].refusal, Some(ItemRejection::MissingBlobs));
}

#[tokio::test]
async fn an_item_without_an_id_is_assigned_one() {
    let items = vec![todo(&json!({ "id": Uuid::from_u128(1) })), todo(&json!({ "title": "new" }))];
    let user = UserId::generate();
    let push = Push { items, ..Push::default() };

    let first = pushing(taking(|_| ())).push(user, push.clone()).await.unwrap();
    let replay = pushing(taking(|_| ())).push(user, push).await.unwrap();

    assert_eq!(first.assigned.len(), 1);
    assert_eq!(first.assigned[0].index, 1);
    assert_eq!(replay.assigned, first.assigned);
}

#[tokio::test]
async fn deletions_are_dated_by_the_device_but_not_in_the_future() {
    for (sent_at, deleted_at) in
        [(Some(NOON + AN_HOUR), NOON), (Some(NOON - AN_HOUR), NOON - AN_HOUR), (None, NOON)]
    {
        let store = taking(move |changes| assert_eq!(changes.deleted_at, deleted_at));

        let push = Push { sent_at, ..Push::default() };
        pushing(store).push(UserId::generate(), push).await.unwrap();
    }
}

#[tokio::test]
async fn changes_without_a_time_are_dated_by_the_push() {
    for (sent_at, changed_at) in
        [(Some(NOON + AN_HOUR), NOON), (Some(NOON - AN_HOUR), NOON - AN_HOUR), (None, NOON)]
    {
        let store = taking(move |changes| assert_eq!(changes.items[0].changed_at, changed_at));
        let preference = json!({ "pluginId": Uuid::from_u128(1), "isEnabled": true });
        let fields = preference.as_object().unwrap().clone();
        let items = vec![ReceivedItem { channel: Channel::PluginPreferences, fields }];

        let push = Push { sent_at, items, ..Push::default() };
        pushing(store).push(UserId::generate(), push).await.unwrap();
    }
}

#[tokio::test]
async fn too_many_changes_are_rejected_before_any_check() {
    let push = Push { items: vec![todo(&json!({})); MAX_CHANGES_PER_PUSH + 1], ..Push::default() };

    let refused = pushing(MockSyncStore::new()).push(UserId::generate(), push).await;

    assert!(matches!(refused, Err(PushError::TooMany)));
}

#[tokio::test]
async fn rejections_of_the_store_are_returned() {
    let error_of = async |applied| {
        pushing(refusing(applied)).push(UserId::generate(), Push::default()).await.unwrap_err()
    };
    let over =
        ApplyOutcome::OverQuota(QuotaExceeded { channel: Channel::Todos, limit: 5, current: 4 });

    assert!(matches!(error_of(ApplyOutcome::EncryptedOnly).await, PushError::E2eeRequired));
    assert!(matches!(error_of(ApplyOutcome::Gone).await, PushError::Gone));
    assert!(matches!(
        error_of(over).await,
        PushError::OverQuota(QuotaExceeded { limit: 5, current: 4, .. })
    ));
}
