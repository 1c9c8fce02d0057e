//! Contract tests of inspection and reset.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{PageRequest, SideEffects, Timestamp};
use pia_storage::schema::chats;
use pia_storage::{Database, DbInstant, DbUid, on_conn};
use pia_storage_sync::SqlSyncAdminStore;
use pia_sync::{ApplyOutcome, Changes, Channel, StoredCounts, SyncAdminStore, SyncReader};
use uuid::Uuid;

use crate::person::{Person, START, at, changes, item, run, todo};

pia_testkit::contract! {
    a_reset_leaves_only_the_highest_stamp,
    a_missing_account_is_not_reset,
    a_reset_makes_a_plain_account_of_an_encrypted_one,
    items_are_counted_and_listed,
    chats_are_listed_page_by_page,
    events_are_listed_and_swept,
}

/// Resets a person's data. Returns false if there is no such account.
pub(crate) async fn reset(person: &Person, second: u64) -> bool {
    let admin_store = SqlSyncAdminStore::new(person.db.clone());
    admin_store.reset(person.user, at(second), SideEffects::default()).await.unwrap()
}

async fn a_reset_leaves_only_the_highest_stamp(db: Database) {
    let person = Person::of(db).await;
    person.push(50, vec![todo(1, 5), todo(2, 5)]).await;
    let head_before = person.reader.head(person.user).await.unwrap().unwrap();

    assert!(reset(&person, 20).await);

    let head_after = person.reader.head(person.user).await.unwrap().unwrap();
    assert_eq!(person.since(START).await, []);
    assert!(head_after.last_stamp > head_before.last_stamp);
    assert!(head_after.version > head_before.version);
    assert_ne!(head_after.epoch, head_before.epoch);

    let push = person.push(30, vec![todo(1, 5)]).await;
    assert!(push.last_stamp > head_after.last_stamp);
    assert!(push.conflicts.is_empty());
}

async fn a_missing_account_is_not_reset(db: Database) {
    let person = Person::of(db).await;
    person.leave().await;

    assert!(!reset(&person, 60).await);
}

async fn a_reset_makes_a_plain_account_of_an_encrypted_one(db: Database) {
    let person = Person::of(db).await;
    person.push(10, vec![todo(1, 5)]).await;
    person.encrypt().await;
    let outcome_while_encrypted = person.apply(changes(20, vec![todo(2, 5)])).await;

    reset(&person, 30).await;

    assert_eq!(outcome_while_encrypted, ApplyOutcome::EncryptedOnly);
    person.push(40, vec![todo(2, 5)]).await;
}

async fn items_are_counted_and_listed(db: Database) {
    let person = Person::of(db.clone()).await;
    let other_person = Person::of(db.clone()).await;
    let admin_store = SqlSyncAdminStore::new(db);
    person.push(10, vec![todo(1, 5), todo(2, 5), item(Channel::Memories, 1, 6)]).await;
    person.delete(20, vec![todo(2, 5).key]).await;
    other_person.push(10, vec![todo(3, 5)]).await;

    let mut counts = admin_store.counts(person.user).await.unwrap();
    let first_page = admin_store.all(person.user, None, 2).await.unwrap();
    let second_page = admin_store.all(person.user, Some(first_page[1].key), 2).await.unwrap();

    counts.sort_unstable_by_key(|it| it.channel);
    assert_eq!(
        counts,
        [
            StoredCounts { channel: Channel::Memories, live: 1, deleted: 0 },
            StoredCounts { channel: Channel::Todos, live: 1, deleted: 1 },
        ]
    );
    assert_eq!(first_page.len(), 2);
    assert_eq!(second_page.len(), 1);
    let mut listed_items = first_page.iter().chain(&second_page);
    let tombstone = listed_items.find(|it| it.deleted_at.is_some()).unwrap();
    assert_eq!(tombstone.key, todo(2, 5).key);
    assert_eq!(tombstone.size, 0);
    assert_eq!(tombstone.deleted_at, Some(at(20)));
}

async fn chats_are_listed_page_by_page(db: Database) {
    let person = Person::of(db.clone()).await;
    let other_person = Person::of(db.clone()).await;
    let admin_store = SqlSyncAdminStore::new(db.clone());
    for (owner, id) in [(&person, 0), (&person, 1), (&person, 2), (&other_person, 1)] {
        let chat = diesel::insert_into(chats::table).values((
            chats::user_id.eq(DbUid(owner.user.0)),
            chats::id.eq(DbUid(Uuid::from_u128(id))),
            chats::stamp.eq(DbInstant(at(10))),
            chats::created_at.eq(DbInstant(at(1))),
            chats::updated_at.eq(DbInstant(at(5))),
            chats::deleted_at.eq((id == 2).then_some(DbInstant(at(7)))),
            chats::encrypted.eq(id == 1),
            chats::size.eq(9),
        ));
        run(async { on_conn!(db.writer(), |conn| chat.execute(conn).await?) }).await;
    }

    let first_page = admin_store.chats(person.user, None, 2).await.unwrap();
    let second_page = admin_store.chats(person.user, Some(first_page[1].id), 2).await.unwrap();

    let chats: Vec<_> = first_page.iter().chain(&second_page).collect();
    let rows: Vec<_> = chats.iter().map(|it| (it.id.as_u128(), it.encrypted, it.size)).collect();
    assert_eq!(rows, [(0, false, 9), (1, true, 9), (2, false, 9)]);
    assert_eq!(chats[2].deleted_at, Some(at(7)));
    assert_eq!(chats[1].deleted_at, None);
    assert_eq!(chats[0].stamp, at(10));
    assert_eq!(chats[0].updated_at, at(5));
}

async fn events_are_listed_and_swept(db: Database) {
    let person = Person::of(db.clone()).await;
    let admin_store = SqlSyncAdminStore::new(db);
    let device = Some("a laptop".to_owned());
    let push = Changes { device, ..changes(10, vec![todo(1, 5), todo(2, 5)]) };
    person.apply(push.clone()).await;
    // A push without changes leaves no event.
    person.apply(push).await;
    person.delete(20, vec![todo(1, 5).key]).await;
    reset(&person, 30).await;

    let page = |limit| admin_store.events(person.user, PageRequest { after: None, limit });
    let events: Vec<_> = page(10).await.unwrap();
    let kinds: Vec<_> = events.iter().map(|it| (it.kind.as_str(), it.stored, it.deleted)).collect();

    assert_eq!(kinds, [("reset", 0, 0), ("push", 0, 1), ("push", 2, 0)]);
    assert_eq!(events[2].device.as_deref(), Some("a laptop"));
    assert_eq!(page(1).await.unwrap(), events[..1]);
    assert_eq!(admin_store.sweep(at(25)).await.unwrap(), 2);
    assert_eq!(page(10).await.unwrap().len(), 1);
    assert_eq!(admin_store.sweep(Timestamp::from_micros(i64::MAX)).await.unwrap(), 1);
}
