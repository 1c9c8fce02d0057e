//! Contract tests of conflicting changes by two devices.

use std::time::Duration;

use futures_util::future::join_all;
use pia_storage::Database;
use pia_sync::{Changes, Channel, Item, ItemRejection, Resolution, SyncReader};
use uuid::Uuid;

use crate::person::{Person, START, accepted, at, changes, item, todo};
use crate::resetting::reset;

pia_testkit::contract! {
    a_rejected_change_returns_the_stored_version_and_restamps_it,
    a_repeated_rejection_restamps_nothing,
    overwriting_an_unseen_version_reports_it,
    the_latest_of_concurrent_changes_is_stored,
    a_deleted_item_has_no_body_and_is_revived_by_a_later_change_only,
    a_repeated_deletion_is_not_pulled_again,
    an_encrypted_copy_replaces_the_plain_one,
    items_encrypted_with_a_lost_key_are_rejected,
    preferences_of_unknown_plugins_are_ignored,
}

async fn a_rejected_change_returns_the_stored_version_and_restamps_it(db: Database) {
    let person = Person::of(db).await;
    let stored_todo = todo(1, 9);
    let older_version = todo(1, 5);
    let up_to = person.push(10, vec![stored_todo.clone()]).await.last_stamp;
    assert_eq!(person.since(up_to).await, []);

    let conflicts = person.push(20, vec![older_version, todo(2, 5)]).await.conflicts;

    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0].key, stored_todo.key);
    assert_eq!(conflicts[0].resolution, Resolution::ServerWins);
    assert_eq!(conflicts[0].server_version.as_deref(), Some(stored_todo.body.as_str()));
    let pulled = person.since(up_to).await;
    assert!(pulled.contains(&(stored_todo.key, Some(stored_todo.body))), "{pulled:?}");
    assert_eq!(pulled.len(), 2);
}

async fn a_repeated_rejection_restamps_nothing(db: Database) {
    let person = Person::of(db).await;
    let stored_todo = todo(1, 9);
    let deleted_todo = todo(2, 9);
    person.push(10, vec![stored_todo.clone(), deleted_todo.clone()]).await;
    person.delete(11, vec![deleted_todo.key]).await;
    let rejected_changes = || vec![todo(1, 5), deleted_todo.clone()];
    let rejection = person.push(20, rejected_changes()).await;
    let version = person.version().await;

    let repetition = person.push(30, rejected_changes()).await;

    assert_eq!(repetition, rejection);
    assert_eq!(person.version().await, version);

    let of_other_version = person.push(40, vec![todo(1, 4)]).await;
    let restamped = person.since(rejection.last_stamp).await;
    assert!(of_other_version.last_stamp > rejection.last_stamp);
    assert_eq!(restamped, [(stored_todo.key, Some(stored_todo.body))]);

    person.push(50, vec![todo(1, 10)]).await;
    let after_change = person.push(60, vec![todo(1, 4)]).await;
    let before_restamp = after_change.last_stamp - Duration::from_micros(1);
    assert!(after_change.last_stamp > of_other_version.last_stamp);
    assert_eq!(person.since(before_restamp).await.len(), 1);
}

async fn overwriting_an_unseen_version_reports_it(db: Database) {
    let person = Person::of(db).await;
    let unseen_version = todo(1, 5);
    let later_version = todo(1, 9);
    person.push(10, vec![unseen_version.clone()]).await;

    let push = Changes { seen_up_to: Some(at(3)), ..changes(20, vec![later_version.clone()]) };
    let conflicts = accepted(person.apply(push).await).conflicts;

    assert_eq!(conflicts[0].resolution, Resolution::ClientWins);
    assert_eq!(conflicts[0].server_version.as_deref(), Some(unseen_version.body.as_str()));
    assert_eq!(person.since(START).await, [(later_version.key, Some(later_version.body))]);
}

async fn the_latest_of_concurrent_changes_is_stored(db: Database) {
    let person = Person::of(db).await;

    join_all((1..=30).map(|second| person.push(50, vec![todo(1, second)]))).await;

    let latest = todo(1, 30);
    assert_eq!(person.since(START).await, [(latest.key, Some(latest.body))]);
}

async fn a_deleted_item_has_no_body_and_is_revived_by_a_later_change_only(db: Database) {
    let person = Person::of(db).await;
    let key = todo(1, 5).key;
    person.push(10, vec![todo(1, 5)]).await;
    person.delete(20, vec![key]).await;
    assert_eq!(person.since(START).await, [(key, None)]);

    let conflicts = person.push(30, vec![todo(1, 20)]).await.conflicts;
    let after_rejection = person.since(START).await;
    let revival = person.push(40, vec![todo(1, 21)]).await;

    assert_eq!(conflicts[0].resolution, Resolution::ServerWins);
    let tombstone = conflicts[0].server_version.as_deref().unwrap();
    assert!(tombstone.ends_with(",\"deletedAt\":\"1970-01-01T00:00:20Z\"}"), "{tombstone}");
    assert_eq!(after_rejection, [(key, None)]);
    assert_eq!(revival.conflicts, []);
    assert_eq!(person.since(START).await, [(key, Some(todo(1, 21).body))]);
}

async fn a_repeated_deletion_is_not_pulled_again(db: Database) {
    let person = Person::of(db).await;
    person.push(10, vec![todo(1, 5)]).await;
    let deletion_stamp = person.delete(20, vec![todo(1, 5).key]).await;

    let repetition_stamp = person.delete(30, vec![todo(1, 5).key, todo(7, 5).key]).await;

    assert_eq!(repetition_stamp, deletion_stamp);
    assert_eq!(person.since(deletion_stamp).await, []);
}

async fn an_encrypted_copy_replaces_the_plain_one(db: Database) {
    let person = Person::of(db).await;
    let plain = todo(1, 5);
    let session = item(Channel::Sessions, 2, 5);
    person.push(10, vec![plain.clone(), session.clone()]).await;
    person.encrypt().await;
    let encrypted =
        |it: &Item| Item { encrypted: true, body: "{\"e\":1}".to_owned(), ..it.clone() };
    let items = vec![encrypted(&plain), encrypted(&session)];

    let push = Changes { encrypted: true, ..changes(20, items) };
    let conflicts = accepted(person.apply(push).await).conflicts;

    assert_eq!(conflicts, []);
    let rows = person.since(START).await;
    assert!(rows.iter().all(|it| it.1.as_deref() == Some("{\"e\":1}")), "{rows:?}");
}

async fn items_encrypted_with_a_lost_key_are_rejected(db: Database) {
    let person = Person::of(db).await;
    let sealed = Item { encrypted: true, ..todo(1, 5) };
    let push = |second| Changes { encrypted: true, ..changes(second, vec![sealed.clone()]) };

    // Before an account is encrypted a device may be about to encrypt it.
    let before_encryption = accepted(person.apply(push(5)).await);
    person.encrypt().await;
    assert!(reset(&person, 10).await);
    let after_reset = accepted(person.apply(push(20)).await);
    let pulled_after_reset = person.since(START).await;
    person.encrypt().await;
    let after_encryption = accepted(person.apply(push(30)).await);

    assert!(before_encryption.conflicts.is_empty());
    assert_eq!(after_reset.conflicts.len(), 1);
    assert_eq!(after_reset.conflicts[0].refusal, Some(ItemRejection::AccountPlain));
    assert!(pulled_after_reset.is_empty());
    assert!(after_encryption.conflicts.is_empty());
    assert_eq!(person.since(START).await.len(), 1);
}

async fn preferences_of_unknown_plugins_are_ignored(db: Database) {
    let person = Person::of(db).await;
    let memory = Uuid::from_u128(0x1000_0000_0000_0000_0000_0000_0000_0001);
    let preference = |id: Uuid| Item {
        body: format!("{{\"pluginId\":\"{id}\",\"isEnabled\":false}}"),
        ..item(Channel::PluginPreferences, id.as_u128(), 5)
    };
    let unknown = Uuid::from_u128(77);

    let conflicts = person.push(10, vec![preference(memory), preference(unknown)]).await.conflicts;

    assert_eq!(conflicts, []);
    let preferences = person.reader.preferences(person.user).await.unwrap();
    assert_eq!(preferences, [(memory, false)]);
    assert_eq!(person.since(START).await, []);
}
