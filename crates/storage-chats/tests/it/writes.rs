//! Contract tests of storing and deleting chats.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::{join, join_all};
use pia_kernel::{StorageUse, Timestamp, UserId};
use pia_storage::schema::{chats as table, ledgers};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_sync::{ChatLimits, ChatStore, ChatWriteOutcome, NewChat};

use crate::people::{
    MANY, at, chat, chats, create_person, delete, encrypt, id, put, remove, sealed_chat, shred,
};

pia_testkit::contract! {
    a_chat_is_found_by_its_owner_alone,
    the_creation_time_is_that_of_the_first_version,
    an_older_version_is_rejected_with_the_stored_one,
    the_latest_of_concurrent_versions_is_stored,
    every_write_counts_and_has_a_stamp_of_its_own,
    only_the_id_of_a_deleted_chat_remains,
    only_a_version_after_the_deletion_revives_a_chat,
    a_concurrent_version_revives_a_chat_only_if_it_is_later,
    an_encrypted_account_rejects_plain_chats,
    no_plain_chat_is_stored_after_encryption_is_enabled,
    the_number_of_chats_is_limited,
    the_number_of_bytes_is_limited,
    a_groups_storage_limit_overrides_the_usual_one,
    a_deleted_account_gets_no_chats,
    a_chat_cannot_be_read_without_its_salt,
}

async fn text(db: &Database, user: UserId, number: u128) -> Option<String> {
    let stored_chat = chats(db).find(user, id(number)).await.unwrap();
    stored_chat.map(|it| String::from_utf8(it.text).unwrap())
}

#[derive(Queryable)]
struct ChatRow {
    stamp: DbInstant,
    updated_at: DbInstant,
    deleted_at: Option<DbInstant>,
    size: i32,
    body: Option<Vec<u8>>,
}

/// Returns the row of a chat, also of a deleted one.
async fn find_row(db: &Database, user: UserId, number: u128) -> Option<ChatRow> {
    let query = table::table.find((DbUid(user.0), DbUid(id(number).0))).select((
        table::stamp,
        table::updated_at,
        table::deleted_at,
        table::size,
        table::body,
    ));
    let result: Result<Option<ChatRow>, DbError> =
        on_conn!(db.reader(), |conn| query.first(conn).await.optional()?);
    result.unwrap()
}

async fn version(db: &Database, user: UserId) -> i64 {
    let version = ledgers::table.find(DbUid(user.0)).select(ledgers::version);
    let result: Result<_, DbError> = on_conn!(db.reader(), |conn| version.first(conn).await?);
    result.unwrap()
}

fn created(micros: i64) -> ChatWriteOutcome {
    ChatWriteOutcome::Created { created_at: at(micros) }
}

fn replaced(micros: i64) -> ChatWriteOutcome {
    ChatWriteOutcome::Replaced { created_at: at(micros) }
}

fn is_newer(outcome: &ChatWriteOutcome, updated_at: i64) -> bool {
    matches!(outcome, ChatWriteOutcome::Newer(it) if it.updated_at == at(updated_at))
}

async fn a_chat_is_found_by_its_owner_alone(db: Database) {
    let ada = create_person(&db).await;
    let bob = create_person(&db).await;

    let of_ada = put(&db, ada, &chat(1, 10), 100).await;
    let of_bob = put(&db, bob, &chat(1, 20), 100).await;

    assert_eq!(of_ada, created(10));
    assert_eq!(of_bob, created(20));
    assert_eq!(text(&db, ada, 1).await.unwrap(), r#"{"number":1,"updatedAt":10}"#);
    assert_eq!(text(&db, bob, 1).await.unwrap(), r#"{"number":1,"updatedAt":20}"#);

    delete(&db, bob, 1, 100).await;
    assert!(text(&db, ada, 1).await.is_some());
    assert!(text(&db, bob, 1).await.is_none());

    let row = find_row(&db, ada, 1).await.unwrap();
    assert_eq!(row.size, 27);
    assert!(!row.body.unwrap().windows(6).any(|it| it == b"number"), "it is readable");
}

async fn the_creation_time_is_that_of_the_first_version(db: Database) {
    let ada = create_person(&db).await;
    put(&db, ada, &chat(1, 10), 100).await;

    let replacement = put(&db, ada, &chat(1, 20), 100).await;
    delete(&db, ada, 1, 100).await;
    let revival = put(&db, ada, &chat(1, 200), 300).await;

    assert_eq!(replacement, replaced(10));
    assert_eq!(revival, created(10));
    assert_eq!(chats(&db).find(ada, id(1)).await.unwrap().unwrap().created_at, at(10));
}

async fn an_older_version_is_rejected_with_the_stored_one(db: Database) {
    let ada = create_person(&db).await;
    put(&db, ada, &sealed_chat(1, 20), 100).await;

    let of_older = put(&db, ada, &sealed_chat(1, 19), 100).await;
    let of_plain = put(&db, ada, &chat(1, 20), 100).await;
    let of_equal = put(&db, ada, &sealed_chat(1, 20), 100).await;

    assert!(is_newer(&of_older, 20), "{of_older:?}");
    assert!(is_newer(&of_plain, 20), "{of_plain:?}");
    assert_eq!(of_equal, replaced(20));
    let ChatWriteOutcome::Newer(stored_chat) = of_older else { panic!("{of_older:?}") };
    assert!(stored_chat.encrypted);
    assert_eq!(stored_chat.text, chat(1, 20).text);
}

async fn the_latest_of_concurrent_versions_is_stored(db: Database) {
    let ada = create_person(&db).await;
    let versions: Vec<NewChat> = (0..16).map(|it| chat(1, 100 + (it * 7) % 16)).collect();

    let outcomes = join_all(versions.iter().map(|it| put(&db, ada, it, 1000))).await;

    let created_count =
        outcomes.iter().filter(|it| matches!(it, ChatWriteOutcome::Created { .. })).count();
    assert_eq!(created_count, 1, "{outcomes:?}");
    assert_eq!(text(&db, ada, 1).await.unwrap(), r#"{"number":1,"updatedAt":115}"#);
    for (version, outcome) in versions.iter().zip(&outcomes) {
        if let ChatWriteOutcome::Newer(newer) = outcome {
            assert!(newer.updated_at > version.updated_at);
        }
    }
}

async fn every_write_counts_and_has_a_stamp_of_its_own(db: Database) {
    let ada = create_person(&db).await;
    let new_chats: Vec<NewChat> = (1..=12).map(|it| chat(it, 10)).collect();

    join_all(new_chats.iter().map(|it| put(&db, ada, it, 1000))).await;
    delete(&db, ada, 1, 1000).await;

    let mut stamps: Vec<Timestamp> = Vec::new();
    for number in 1..=12 {
        stamps.push(find_row(&db, ada, number).await.unwrap().stamp.0);
    }
    stamps.sort();
    stamps.dedup();
    assert_eq!(stamps.len(), 12);
    assert_eq!(version(&db, ada).await, 13);
    let deleted_row = find_row(&db, ada, 1).await.unwrap();
    assert_eq!(deleted_row.stamp, DbInstant(at(1012)), "behind all others");
}

async fn only_the_id_of_a_deleted_chat_remains(db: Database) {
    let ada = create_person(&db).await;
    put(&db, ada, &chat(1, 10), 100).await;
    put(&db, ada, &chat(2, 9000), 100).await;

    for number in [1, 2, 3, 1, 2] {
        delete(&db, ada, number, 500).await;
    }

    // The deletion of the second chat is not older than the chat itself.
    for (number, deleted_at) in [(1, 500), (2, 9000)] {
        let row = find_row(&db, ada, number).await.unwrap();
        assert_eq!(row.updated_at, DbInstant(at(deleted_at)), "{number}");
        assert_eq!(row.deleted_at, Some(DbInstant(at(deleted_at))), "{number}");
        assert_eq!(row.size, 0, "{number}");
        assert_eq!(row.body, None, "{number}");
    }
    assert!(find_row(&db, ada, 3).await.is_none());
    assert_eq!(text(&db, ada, 1).await, None);
}

async fn only_a_version_after_the_deletion_revives_a_chat(db: Database) {
    let ada = create_person(&db).await;
    put(&db, ada, &chat(1, 10), 100).await;
    delete(&db, ada, 1, 500).await;

    let before_deletion = put(&db, ada, &chat(1, 11), 600).await;
    let at_deletion = put(&db, ada, &chat(1, 500), 600).await;
    let after_deletion = put(&db, ada, &chat(1, 501), 600).await;

    assert_eq!(before_deletion, ChatWriteOutcome::Deleted);
    assert_eq!(at_deletion, ChatWriteOutcome::Deleted);
    assert_eq!(after_deletion, created(10));
    assert!(text(&db, ada, 1).await.is_some());
}

async fn a_concurrent_version_revives_a_chat_only_if_it_is_later(db: Database) {
    let ada = create_person(&db).await;
    for number in 1..=12 {
        put(&db, ada, &chat(number, 10), 100).await;
        let updated_at = if number % 2 == 0 { 501 } else { 11 };
        let version = chat(number, updated_at);

        join(put(&db, ada, &version, 600), delete(&db, ada, number, 500)).await;

        // For the later version both orders are right: it goes if it was deleted last.
        let stays = text(&db, ada, number).await.is_some();
        let row = find_row(&db, ada, number).await.unwrap();
        assert!(!stays || updated_at == 501, "{number}");
        assert_eq!(stays, row.deleted_at.is_none());
        assert!([at(500), at(501)].contains(&row.updated_at.0));
    }
}

async fn an_encrypted_account_rejects_plain_chats(db: Database) {
    let ada = create_person(&db).await;
    put(&db, ada, &chat(1, 10), 100).await;
    encrypt(&db, ada).await;

    let plain = [chat(1, 20), chat(2, 20), chat(1, 5)];
    for chat in &plain {
        assert_eq!(put(&db, ada, chat, 100).await, ChatWriteOutcome::Plain);
    }
    assert_eq!(put(&db, ada, &sealed_chat(1, 10), 100).await, replaced(10));
    assert_eq!(put(&db, ada, &sealed_chat(2, 10), 100).await, created(10));
}

async fn no_plain_chat_is_stored_after_encryption_is_enabled(db: Database) {
    for _ in 0..8 {
        let ada = create_person(&db).await;
        let new_chats: Vec<NewChat> = (1..=4).map(|it| chat(it, 10)).collect();
        let puts = join_all(new_chats.iter().map(|it| put(&db, ada, it, 100)));

        let (outcomes, ()) = join(puts, encrypt(&db, ada)).await;

        // Those before it are stored, and those behind it are not.
        for (number, outcome) in (1..).zip(outcomes) {
            assert_eq!(text(&db, ada, number).await.is_some(), outcome == created(10));
        }
        assert_eq!(put(&db, ada, &chat(9, 10), 100).await, ChatWriteOutcome::Plain);
    }
}

async fn the_number_of_chats_is_limited(db: Database) {
    let ada = create_person(&db).await;
    let store = chats(&db);
    let three = ChatLimits { chats: 3, ..MANY };
    let new_chats: Vec<NewChat> = (1..=8).map(|it| chat(it, 10)).collect();

    let outcomes = join_all(new_chats.iter().map(|it| store.put(ada, it, three, at(100)))).await;

    let count = |outcome: &ChatWriteOutcome| {
        outcomes.iter().filter(|it| it.as_ref().unwrap() == outcome).count()
    };
    assert_eq!(count(&created(10)), 3);
    assert_eq!(count(&ChatWriteOutcome::Full { current: 3 }), 5);

    let (existing, _) =
        (1..=8).zip(&outcomes).find(|(_, it)| *it.as_ref().unwrap() == created(10)).unwrap();
    assert_eq!(store.put(ada, &chat(existing, 11), three, at(100)).await.unwrap(), replaced(10));

    delete(&db, ada, existing, 100).await;
    assert_eq!(store.put(ada, &chat(99, 11), three, at(100)).await.unwrap(), created(11));
    let back = store.put(ada, &chat(existing, 101), three, at(200)).await.unwrap();
    assert_eq!(back, ChatWriteOutcome::Full { current: 3 }, "one that comes back counts too");
}

/// Returns the counted bytes, and asserts that they are those stored.
async fn stored_bytes(db: &Database, user: UserId) -> i64 {
    let counted = ledgers::table.find(DbUid(user.0)).select(ledgers::stored_bytes);
    let sizes = table::table.filter(table::user_id.eq(DbUid(user.0))).select(table::size);
    let row: Result<(i64, Vec<i32>), DbError> =
        on_conn!(db.reader(), |conn| (counted.first(conn).await?, sizes.load(conn).await?));
    let (counted, sizes) = row.unwrap();
    assert_eq!(counted, sizes.into_iter().map(i64::from).sum::<i64>());
    counted
}

async fn the_number_of_bytes_is_limited(db: Database) {
    let ada = create_person(&db).await;
    let store = chats(&db);
    let new_chats: Vec<NewChat> = (11..=18).map(|it| chat(it, 10)).collect();
    let size = new_chats[0].text.len() as u64;
    let three = ChatLimits { storage: 3 * size + 1, ..MANY };
    let full = StorageUse { current: 3 * size, limit: 3 * size + 1 };

    let outcomes = join_all(new_chats.iter().map(|it| store.put(ada, it, three, at(100)))).await;

    let count = |outcome: &ChatWriteOutcome| {
        outcomes.iter().filter(|it| it.as_ref().unwrap() == outcome).count()
    };
    assert_eq!(count(&created(10)), 3);
    assert_eq!(count(&ChatWriteOutcome::OutOfStorage(full)), 5);
    assert_eq!(stored_bytes(&db, ada).await.unsigned_abs(), 3 * size);

    let (existing_chat, _) = new_chats
        .iter()
        .zip(&outcomes)
        .find(|(_, it)| *it.as_ref().unwrap() == created(10))
        .unwrap();
    let existing = existing_chat.id;
    let text = |length: u64| vec![b'x'; usize::try_from(length).unwrap()];
    let version = |at, length| NewChat { id: existing, text: text(length), ..chat(1, at) };

    for (length, expected) in [
        (size + 2, ChatWriteOutcome::OutOfStorage(full)),
        (size + 1, replaced(10)),
        (size - 5, replaced(10)),
    ] {
        let new_version = version(20 - i64::try_from(length).unwrap() + 100, length);
        assert_eq!(store.put(ada, &new_version, three, at(100)).await.unwrap(), expected);
    }

    assert!(store.delete(ada, existing, at(100)).await.unwrap());
    assert_eq!(stored_bytes(&db, ada).await.unsigned_abs(), 2 * size);
    assert_eq!(store.put(ada, &chat(19, 11), three, at(100)).await.unwrap(), created(11));
}

async fn a_groups_storage_limit_overrides_the_usual_one(db: Database) {
    let ada = create_person(&db).await;
    let limit = diesel::sql_query(
        "INSERT INTO group_settings
             (group_id, credits_hourly, credits_daily, credits_weekly, credits_group_daily,
              credits_group_weekly, credits_pool, mode_entries, persona_entries, models,
              user_storage_bytes)
         SELECT id, 0, 0, 0, 0, 0, FALSE, '{}', '{}', '[]', 40 FROM user_groups",
    );
    let set: Result<usize, DbError> = on_conn!(db.writer(), |conn| limit.execute(conn).await?);
    assert_eq!(set.unwrap(), 1);

    let within_limit = put(&db, ada, &chat(1, 10), 100).await;
    let beyond_limit = put(&db, ada, &chat(2, 10), 100).await;

    let full = StorageUse { current: 27, limit: 40 };
    assert_eq!(within_limit, created(10));
    assert_eq!(beyond_limit, ChatWriteOutcome::OutOfStorage(full));
}

async fn a_deleted_account_gets_no_chats(db: Database) {
    let ada = create_person(&db).await;
    put(&db, ada, &chat(1, 10), 100).await;
    remove(&db, ada).await;

    assert!(find_row(&db, ada, 1).await.is_none());
    assert!(!chats(&db).delete(ada, id(1), at(100)).await.unwrap());
    let outcome = chats(&db).put(ada, &chat(1, 10), MANY, at(100)).await.unwrap();
    assert_eq!(outcome, ChatWriteOutcome::Gone);
}

async fn a_chat_cannot_be_read_without_its_salt(db: Database) {
    let ada = create_person(&db).await;
    put(&db, ada, &chat(1, 10), 100).await;

    shred(&db, ada).await;

    assert!(chats(&db).find(ada, id(1)).await.is_err());
}
