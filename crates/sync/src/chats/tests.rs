//! Tests of storing chats, over a mocked store.

use std::sync::Arc;

use pia_kernel::{LiveSetting, StorageUse, Timestamp, UserId};
use pia_testkit::FixedClock;
use uuid::Uuid;

use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const ID: ChatId = ChatId(Uuid::from_u128(10));

/// Sample document, changed on the first of August.
const DOCUMENT: &str =
    r#"{"id":"00000000-0000-0000-0000-00000000000a","updatedAt":"2026-08-01T09:14:02Z"}"#;
const LIMITS: ChatLimits = ChatLimits { chats: 3, storage: 90 };

fn document(updated_at: &str) -> String {
    format!(r#"{{"id":"{ID}","updatedAt":"{updated_at}"}}"#)
}

fn chat() -> NewChat {
    NewChat::parse(DOCUMENT.as_bytes()).unwrap()
}

fn stored() -> StoredChat {
    let NewChat { id, created_at, updated_at, accessed_at, encrypted, text } = chat();
    StoredChat { id, created_at, updated_at, accessed_at, encrypted, text }
}

fn chats(store: MockChatStore) -> Chats {
    Chats::new(Arc::new(store), LiveSetting::new(LIMITS), Arc::new(FixedClock(NOW)))
}

fn answering(written: ChatWriteOutcome) -> Chats {
    let mut store = MockChatStore::new();
    store
        .expect_put()
        .withf(|_, _, limits, now| (*limits, *now) == (LIMITS, NOW))
        .returning(move |_, _, _, _| Ok(written.clone()));
    chats(store)
}

#[tokio::test]
async fn a_stored_chat_is_returned_with_its_creation_time() {
    let chats = answering(ChatWriteOutcome::Replaced { created_at: NOW });

    let put = chats.put(UserId::generate(), Some(ID), DOCUMENT).await.unwrap();

    let ChatPutOutcome::Replaced(document) = put else { panic!("{put:?}") };
    assert!(document.ends_with(br#","createdAt":"1970-01-01T00:00:00Z"}"#));
}

#[tokio::test]
async fn an_older_version_is_answered_with_the_newer_one() {
    let chats = answering(ChatWriteOutcome::Newer(stored()));

    let put = chats.put(UserId::generate(), Some(ID), DOCUMENT).await.unwrap();

    assert_eq!(put, ChatPutOutcome::Newer(stored()));
}

#[tokio::test]
async fn each_rejection_has_its_own_message() {
    let error_of = async |written| {
        answering(written)
            .put(UserId::generate(), Some(ID), DOCUMENT)
            .await
            .unwrap_err()
            .to_string()
    };

    assert_eq!(error_of(ChatWriteOutcome::Deleted).await, "the chat was deleted");
    assert_eq!(error_of(ChatWriteOutcome::Plain).await, "the account is end-to-end encrypted");
    assert_eq!(error_of(ChatWriteOutcome::Full { current: 4 }).await, "4 of 3 chats are stored");
    let full = ChatWriteOutcome::OutOfStorage(StorageUse { current: 80, limit: 90 });
    assert_eq!(error_of(full).await, "80 of 90 bytes are stored");
    assert_eq!(error_of(ChatWriteOutcome::Gone).await, "no such account");
}

#[tokio::test]
async fn a_chat_with_an_unexpected_id_is_not_stored() {
    let service = chats(MockChatStore::new());

    for id in [None, Some(ChatId(Uuid::nil()))] {
        let put = service.put(UserId::generate(), id, DOCUMENT).await;
        assert!(matches!(put, Err(PutChatError::Unreadable(_))));
    }
}

#[tokio::test]
async fn chats_of_an_upload_are_stored_independently() {
    let mut store = MockChatStore::new();
    let mut answers =
        vec![ChatWriteOutcome::Newer(stored()), ChatWriteOutcome::Created { created_at: NOW }];
    store.expect_put().times(2).returning(move |_, _, _, _| Ok(answers.pop().unwrap()));
    store.expect_delete().once().returning(|_, _, _| Ok(true));
    let documents = [
        document("2026-08-01T09:14:02Z"),
        "[]".to_owned(),
        document("2026-08-02T00:00:00Z"),
        document("yesterday"),
    ];

    let gone = [None, Some(ID)];
    let results = chats(store).upload(UserId::generate(), &documents, &gone).await.unwrap();

    assert_eq!(results.at, NOW);
    let statuses: Vec<_> = results.results.into_iter().map(|it| (it.id, it.status)).collect();
    assert_eq!(statuses[0], (Some(ID), UploadStatus::Stored));
    assert!(matches!(&statuses[1], (None, UploadStatus::Unreadable(_))));
    assert_eq!(statuses[2], (Some(ID), UploadStatus::Conflict(stored().updated_at)));
    assert!(matches!(&statuses[3], (Some(ID), UploadStatus::Unreadable(_))));
    assert!(
        matches!(&statuses[4], (None, UploadStatus::Unreadable(violation)) if violation.field == "id")
    );
    assert_eq!(statuses[5], (Some(ID), UploadStatus::Deleted));
}

#[tokio::test]
async fn a_deleted_account_deletes_nothing() {
    let mut store = MockChatStore::new();
    store.expect_delete().returning(|_, _, _| Ok(false));

    let deleted = chats(store).delete(UserId::generate(), ID).await;

    assert!(matches!(deleted, Err(DeleteChatError::Gone)));
}

#[tokio::test]
async fn a_missing_chat_is_unknown() {
    let mut store = MockChatStore::new();
    store.expect_find().returning(|_, _| Ok(None));

    let missing = chats(store).get(UserId::generate(), ID).await;

    assert!(matches!(missing, Err(GetChatError::Unknown)));
}
