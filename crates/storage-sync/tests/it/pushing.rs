//! Contract tests of pushes.

use std::collections::HashSet;

use futures_util::future::join_all;
use pia_kernel::StorageUse;
use pia_storage::Database;
use pia_storage_sync::SqlSyncAdminStore;
use pia_sync::{
    ApplyOutcome, Changes, Channel, Item, ItemLimits, MAX_CHANGES_PER_PUSH, PushSettings,
    QuotaExceeded, SyncAdminStore,
};

use crate::person::{Person, START, accepted, at, changes, item, key, todo};
use crate::resetting::reset;

pia_testkit::contract! {
    pushed_items_are_read_back_unchanged,
    the_rows_of_a_push_take_consecutive_stamps_from_now_on,
    stamps_increase_even_if_the_clock_goes_back,
    concurrent_pushes_have_unique_stamps_and_no_row_is_missed,
    a_replay_changes_nothing_not_even_the_version,
    an_encrypted_account_takes_only_encrypted_pushes,
    a_push_beyond_a_limit_is_rejected_completely,
    items_above_a_limit_can_still_be_changed_and_deleted,
    concurrent_pushes_do_not_pass_a_limit,
    concurrent_pushes_do_not_pass_the_limit_of_bytes,
    a_shrinking_push_is_accepted_above_the_limit_of_bytes,
    the_oldest_sessions_beyond_their_limit_are_dropped_without_tombstones,
    two_accounts_may_use_one_id,
    a_deleted_account_is_reported,
    many_items_are_stored_at_once,
    a_push_of_maximum_size_is_processed,
}

async fn pushed_items_are_read_back_unchanged(db: Database) {
    let person = Person::of(db).await;
    let task = todo(1, 5);
    let memory = item(Channel::Memories, 1, 6);

    person.push(10, vec![task.clone(), memory.clone()]).await;

    let expected = [(task.key, Some(task.body)), (memory.key, Some(memory.body))];
    assert_eq!(person.since(START).await, expected);
}

async fn the_rows_of_a_push_take_consecutive_stamps_from_now_on(db: Database) {
    let person = Person::of(db).await;

    let push = person.push(10, vec![todo(1, 5), todo(2, 4), todo(3, 3)]).await;

    let page = person.page(START, 10, u64::MAX).await;
    let micros: Vec<i64> = page.rows.iter().map(|it| it.stamp.micros()).collect();
    assert_eq!(micros, [10_000_000, 10_000_001, 10_000_002]);
    assert_eq!(page.up_to, Some(push.last_stamp));
}

async fn stamps_increase_even_if_the_clock_goes_back(db: Database) {
    let person = Person::of(db).await;

    let creation_stamp = person.push(100, vec![todo(1, 5)]).await.last_stamp;
    let set_back_stamp = person.push(50, vec![todo(2, 5)]).await.last_stamp;
    let deletion_stamp = person.delete(40, vec![todo(1, 5).key]).await;

    assert!(creation_stamp < set_back_stamp);
    assert!(set_back_stamp < deletion_stamp);
    assert_eq!(person.since(creation_stamp).await.len(), 2);
}

async fn concurrent_pushes_have_unique_stamps_and_no_row_is_missed(db: Database) {
    let person = Person::of(db).await;
    let pushes = (0..40_u128).map(|push| {
        let items = (0..5).map(|it| todo(push * 5 + it, 5)).collect();
        person.push(10, items)
    });
    let reading = async {
        // A concurrent reader, page after page, gets every row once.
        let mut since = START;
        let mut pulled = Vec::new();
        while pulled.len() < 200 {
            let page = person.page(since, 7, u64::MAX).await;
            pulled.extend(page.rows.iter().map(|it| (it.key, it.stamp)));
            since = page.up_to.unwrap_or(since);
            tokio::task::yield_now().await;
        }
        pulled
    };

    let (accepted_pushes, pulled) = futures_util::future::join(join_all(pushes), reading).await;

    let keys: HashSet<_> = pulled.iter().map(|it| it.0).collect();
    let stamps: HashSet<_> = pulled.iter().map(|it| it.1).collect();
    assert_eq!(keys.len(), 200);
    assert_eq!(stamps.len(), 200);
    assert_eq!(pulled.len(), 200);
    let last_stamp = accepted_pushes.iter().map(|it| it.last_stamp).max();
    assert_eq!(last_stamp, pulled.last().map(|it| it.1));
}

async fn a_replay_changes_nothing_not_even_the_version(db: Database) {
    let person = Person::of(db).await;
    let push = Changes { deletes: vec![key(Channel::Todos, 2)], ..changes(10, vec![todo(1, 5)]) };
    person.push(5, vec![todo(2, 1)]).await;
    let original = accepted(person.apply(push.clone()).await);
    let version = person.version().await;
    let rows = person.since(START).await;

    let replay = accepted(person.apply(Changes { now: at(20), ..push }).await);

    assert_eq!(replay, original);
    assert_eq!(person.version().await, version);
    assert_eq!(person.since(START).await, rows);
}

async fn an_encrypted_account_takes_only_encrypted_pushes(db: Database) {
    let person = Person::of(db).await;
    person.push(5, vec![todo(1, 1)]).await;
    person.encrypt().await;
    let delete = Changes { deletes: vec![key(Channel::Todos, 1)], ..changes(9, vec![]) };

    let plain = person.apply(changes(10, vec![todo(2, 5)])).await;
    let deletion = person.apply(delete).await;
    let encrypted_push = Changes { encrypted: true, ..changes(10, vec![todo(3, 5)]) };
    let encrypted = person.apply(encrypted_push).await;

    assert_eq!(plain, ApplyOutcome::EncryptedOnly);
    assert_eq!(deletion, ApplyOutcome::EncryptedOnly);
    accepted(encrypted);
    let ids: Vec<_> = person.since(START).await.iter().map(|it| it.0.id.as_u128()).collect();
    assert_eq!(ids, [1, 3]);
}

fn at_most(limit: u32) -> PushSettings {
    let limits = ItemLimits::default().with(Channel::Todos, limit).with(Channel::Sessions, limit);
    PushSettings { limits, ..PushSettings::default() }
}

async fn a_push_beyond_a_limit_is_rejected_completely(db: Database) {
    let person = Person { settings: at_most(2), ..Person::of(db).await };
    person.push(5, vec![todo(1, 1)]).await;

    let refused = person
        .apply(changes(10, vec![item(Channel::Memories, 9, 5), todo(2, 5), todo(3, 5)]))
        .await;

    let expected =
        ApplyOutcome::OverQuota(QuotaExceeded { channel: Channel::Todos, limit: 2, current: 1 });
    assert_eq!(refused, expected);
    assert_eq!(person.since(START).await.len(), 1);
    person.push(20, vec![todo(2, 5)]).await;
}

async fn items_above_a_limit_can_still_be_changed_and_deleted(db: Database) {
    let person = Person::of(db).await;
    person.push(5, (1..=5).map(|it| todo(it, 1)).collect()).await;
    let person = Person { settings: at_most(2), ..person };

    person.push(10, vec![todo(1, 9)]).await;
    let swap = Changes { deletes: vec![todo(2, 1).key], ..changes(11, vec![todo(9, 1)]) };
    accepted(person.apply(swap).await);
    person.delete(12, vec![todo(3, 1).key]).await;

    let refused = person.apply(changes(13, vec![todo(8, 1)])).await;
    assert!(
        matches!(refused, ApplyOutcome::OverQuota(QuotaExceeded { current: 4, .. })),
        "{refused:?}"
    );
}

async fn concurrent_pushes_do_not_pass_a_limit(db: Database) {
    let person = Person { settings: at_most(10), ..Person::of(db).await };

    let pushed = join_all((0..30).map(|it| person.apply(changes(10, vec![todo(it, 5)])))).await;

    let accepted_count = pushed.iter().filter(|it| matches!(it, ApplyOutcome::Done { .. })).count();
    assert_eq!(accepted_count, 10);
    assert_eq!(person.since(START).await.len(), 10);
}

/// Returns the counted bytes, and asserts that they are those stored.
async fn stored_bytes(person: &Person) -> u64 {
    let admin_store = SqlSyncAdminStore::new(person.db.clone());
    let items = admin_store.all(person.user, None, 1_000).await.unwrap();
    let counted = admin_store.storage(person.user, 1).await.unwrap().current;
    assert_eq!(counted, items.iter().map(|it| u64::from(it.size)).sum::<u64>());
    counted
}

fn with_bytes(max_storage: u64) -> PushSettings {
    PushSettings { max_storage, ..at_most(3) }
}

async fn concurrent_pushes_do_not_pass_the_limit_of_bytes(db: Database) {
    let size = u64::from(todo(1, 5).size());
    let settings = PushSettings { max_storage: 10 * size + 3, ..PushSettings::default() };
    let person = Person { settings, ..Person::of(db).await };

    let pushed = join_all((0..30).map(|it| person.apply(changes(10, vec![todo(it, 5)])))).await;

    let accepted_count = pushed.iter().filter(|it| matches!(it, ApplyOutcome::Done { .. })).count();
    let full = StorageUse { current: 10 * size, limit: 10 * size + 3 };
    let refused_count = pushed.iter().filter(|it| **it == ApplyOutcome::OutOfStorage(full)).count();
    assert_eq!(accepted_count, 10);
    assert_eq!(refused_count, 20);
    assert_eq!(stored_bytes(&person).await, 10 * size);
}

async fn a_shrinking_push_is_accepted_above_the_limit_of_bytes(db: Database) {
    let session = |id: u128| item(Channel::Sessions, id, u64::try_from(id).unwrap());
    let person = Person { settings: with_bytes(1 << 20), ..Person::of(db).await };
    person.push(10, (1..=5).map(session).collect()).await;
    let size = u64::from(session(1).size());
    assert_eq!(stored_bytes(&person).await, 3 * size, "two have left");
    person.push(20, vec![todo(1, 5), todo(2, 5)]).await;
    let person = Person { settings: with_bytes(1), ..person };

    let more = person.apply(changes(30, vec![todo(3, 5)])).await;
    let same_size = Item { body: todo(1, 7).body, ..todo(1, 8) };
    person.push(40, vec![same_size]).await;
    let swap = Changes { deletes: vec![todo(2, 5).key], ..changes(50, vec![todo(3, 5)]) };
    accepted(person.apply(swap).await);
    person.delete(60, vec![todo(3, 5).key]).await;
    let back = person.apply(changes(70, vec![todo(3, 65)])).await;

    assert!(matches!(more, ApplyOutcome::OutOfStorage(_)), "{more:?}");
    assert!(matches!(back, ApplyOutcome::OutOfStorage(_)), "{back:?}");
    assert_eq!(stored_bytes(&person).await, 3 * size + u64::from(todo(1, 7).size()));
    reset(&person, 80).await;
    assert_eq!(stored_bytes(&person).await, 0);
}

async fn the_oldest_sessions_beyond_their_limit_are_dropped_without_tombstones(db: Database) {
    let person = Person { settings: at_most(3), ..Person::of(db).await };
    let session = |id: u128| item(Channel::Sessions, id, u64::try_from(id).unwrap());
    person.push(10, vec![session(4), session(2), session(3)]).await;

    person.push(20, vec![session(5), session(1)]).await;

    let remaining = person.since(START).await;
    let ids: HashSet<_> = remaining.iter().map(|it| it.0.id.as_u128()).collect();
    assert_eq!(ids, HashSet::from([3, 4, 5]));
    assert!(remaining.iter().all(|it| it.1.is_some()));
}

async fn two_accounts_may_use_one_id(db: Database) {
    let ada = Person::of(db.clone()).await;
    let eve = Person::of(db).await;
    ada.push(10, vec![todo(1, 5)]).await;

    eve.push(11, vec![todo(1, 6)]).await;
    eve.delete(12, vec![todo(1, 6).key]).await;

    assert_eq!(ada.since(START).await, [(todo(1, 5).key, Some(todo(1, 5).body))]);
    assert_eq!(eve.since(START).await, [(todo(1, 5).key, None)]);
}

async fn a_deleted_account_is_reported(db: Database) {
    let person = Person::of(db).await;
    person.push(10, vec![todo(1, 5)]).await;
    // The account's key was requested before the deletion.
    let waiting = person.apply(changes(11, vec![todo(2, 5)]));

    person.leave().await;

    drop(waiting);
    assert_eq!(pia_sync::SyncReader::head(&person.reader, person.user).await.unwrap(), None);
}

async fn many_items_are_stored_at_once(db: Database) {
    let settings = PushSettings {
        limits: ItemLimits::default().with(Channel::Todos, 10_000),
        ..PushSettings::default()
    };
    let person = Person { settings, ..Person::of(db).await };

    person.push(10, (0..7_000).map(|it| todo(it, 5)).collect()).await;

    assert_eq!(person.since(START).await.len(), 7_000);
}

async fn a_push_of_maximum_size_is_processed(db: Database) {
    let person = Person { settings: at_most(1), ..Person::of(db).await };
    let max = u128::try_from(MAX_CHANGES_PER_PUSH).unwrap();

    // All of them are looked for, and all sessions but one leave.
    person.push(10, (0..max).map(|it| item(Channel::Sessions, it, 5)).collect()).await;
    let person = Person { settings: PushSettings::default(), ..person };
    let deletes = (0..max).map(|it| key(Channel::Todos, it)).collect();
    accepted(person.apply(Changes { deletes, ..changes(20, vec![]) }).await);

    assert_eq!(person.since(START).await.len(), 1);
}
