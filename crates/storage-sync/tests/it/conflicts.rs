//! Contract tests of conflicting changes by two devices.

use futures_util::future::join_all;
use pia_storage::Database;
use pia_sync::{Changes, Channel, Item, ItemRejection, Resolution, SyncReader};
use uuid::Uuid;

use crate::person::{Person, START, at, changes, done, item, todo};
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
    let late = todo(1, 5);
    let (up_to, _) = person.push(10, vec![stored_todo.clone()]).await;
    assert_eq!(person.since(up_to).await, []);

    let (_, conflicts) = person.push(20, vec![late, todo(2, 5)]).await;

    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0].key, stored_todo.key);
    assert_eq!(conflicts[0].resolution, Resolution::ServerWins);
    assert_eq!(conflicts[0].server_version.as_deref(), Some(stored_todo.body.as_str()));
    let again = person.since(up_to).await;
    assert!(again.contains(&(stored_todo.key, Some(stored_todo.body))), "{again:?}");
    assert_eq!(again.len(), 2);
}

async fn a_repeated_rejection_restamps_nothing(db: Database) {
    let person = Person::of(db).await;
    let stored_todo = todo(1, 9);
    let gone = todo(2, 9);
    let loser = todo(1, 5);
    person.push(10, vec![stored_todo.clone(), gone.clone()]).await;
    person.delete(11, vec![gone.key]).await;
    let everything = || vec![loser.clone(), gone.clone()];
    let (moved, first) = person.push(20, everything()).await;
    let version = person.version().await;

    let (still, again) = person.push(30, everything()).await;

    assert_eq!(again, first);
    assert_eq!(still, moved);
    assert_eq!(person.version().await, version);
    // Another version of it, and the same after a change, are restamped again.
    let (other, _) = person.push(40, vec![todo(1, 4)]).await;
    assert_eq!(person.since(moved).await, [(stored_todo.key, Some(stored_todo.body))]);
    person.push(50, vec![todo(1, 10)]).await;
    let (last, _) = person.push(60, vec![todo(1, 4)]).await;
    assert!(other > moved && last > other);
    assert_eq!(person.since(last - std::time::Duration::from_micros(1)).await.len(), 1);
}

async fn overwriting_an_unseen_version_reports_it(db: Database) {
    let person = Person::of(db).await;
    let before = todo(1, 5);
    let after = todo(1, 9);
    person.push(10, vec![before.clone()]).await;

    let push = Changes { seen_up_to: Some(at(3)), ..changes(20, vec![after.clone()]) };
    let (_, conflicts) = done(person.apply(push).await);

    assert_eq!(conflicts[0].resolution, Resolution::ClientWins);
    assert_eq!(conflicts[0].server_version.as_deref(), Some(before.body.as_str()));
    assert_eq!(person.since(START).await, [(after.key, Some(after.body))]);
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

    let (_, conflicts) = person.push(30, vec![todo(1, 20)]).await;
    let still = person.since(START).await;
    let (_, nothing) = person.push(40, vec![todo(1, 21)]).await;

    assert_eq!(conflicts[0].resolution, Resolution::ServerWins);
    let tombstone = conflicts[0].server_version.as_deref().unwrap();
    assert!(tombstone.ends_with(",\"deletedAt\":\"1970-01-01T00:00:20Z\"}"), "{tombstone}");
    assert_eq!(still, [(key, None)]);
    assert_eq!(nothing, []);
    assert_eq!(person.since(START).await, [(key, Some(todo(1, 21).body))]);
}

async fn a_repeated_deletion_is_not_pulled_again(db: Database) {
    let person = Person::of(db).await;
    person.push(10, vec![todo(1, 5)]).await;
    let gone = person.delete(20, vec![todo(1, 5).key]).await;

    let again = person.delete(30, vec![todo(1, 5).key, todo(7, 5).key]).await;

    assert_eq!(again, gone);
    assert_eq!(person.since(gone).await, []);
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
    let (_, conflicts) = done(person.apply(push).await);

    assert_eq!(conflicts, []);
    let rows = person.since(START).await;
    assert!(rows.iter().all(|it| it.1.as_deref() == Some("{\"e\":1}")), "{rows:?}");
}

async fn items_encrypted_with_a_lost_key_are_rejected(db: Database) {
    let person = Person::of(db).await;
    let sealed = Item { encrypted: true, ..todo(1, 5) };
    let push = |second| Changes { encrypted: true, ..changes(second, vec![sealed.clone()]) };

    // Before an account is encrypted a device may be about to encrypt it.
    let (_, early) = done(person.apply(push(5)).await);
    person.encrypt().await;
    assert!(reset(&person, 10).await);
    let (_, refused) = done(person.apply(push(20)).await);
    let nothing = person.since(START).await;
    person.encrypt().await;
    let (_, taken) = done(person.apply(push(30)).await);

    assert_eq!(refused[0].refusal, Some(ItemRejection::AccountPlain));
    assert!(early.is_empty());
    assert_eq!(refused.len(), 1);
    assert!(nothing.is_empty());
    assert!(taken.is_empty());
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

    let (_, conflicts) = person.push(10, vec![preference(memory), preference(unknown)]).await;

    assert_eq!(conflicts, []);
    let preferences = person.reader.preferences(person.user).await.unwrap();
    assert_eq!(preferences, [(memory, false)]);
    assert_eq!(person.since(START).await, []);
}
