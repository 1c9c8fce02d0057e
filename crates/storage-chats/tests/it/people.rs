//! Accounts with chats for the tests.

use std::sync::Arc;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Secret, Timestamp, UserId};
use pia_sealing::{MasterKeys, Sealer};
use pia_storage::schema::{accounts, ledgers, person_salts};
use pia_storage::{Database, DbError, DbInstant, DbUid, TakeLedger, in_tx, on_conn};
use pia_storage_chats::SqlChats;
use pia_storage_sealing::SqlSalts;
use pia_sync::{ChatId, ChatLimits, ChatStore, ChatWriteOutcome, NewChat};
use uuid::Uuid;

/// Limits that no test reaches.
pub(crate) const MANY: ChatLimits = ChatLimits { chats: 10_000, storage: 1 << 30 };

pub(crate) fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

pub(crate) fn id(number: u128) -> ChatId {
    ChatId(Uuid::from_u128(number))
}

pub(crate) async fn create_person(db: &Database) -> UserId {
    let user = UserId::generate();
    let account = diesel::insert_into(accounts::table).values((
        accounts::id.eq(DbUid(user.0)),
        accounts::email.eq(user.to_string()),
        accounts::email_folded.eq(user.to_string()),
        accounts::provider.eq("local"),
        accounts::customer_type.eq(0),
        accounts::created_at.eq(DbInstant(at(0))),
        accounts::role.eq("User"),
    ));
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| account.execute(conn).await?);
    result.unwrap();
    user
}

/// Makes the account accept only encrypted data.
pub(crate) async fn encrypt(db: &Database, user: UserId) {
    let outcome: Result<(), DbError> = async {
        in_tx!(db, async |conn| -> Result<(), DbError> {
            conn.take_ledger(user).await?;
            diesel::update(ledgers::table.find(DbUid(user.0)))
                .set(ledgers::encrypted_at.eq(DbInstant(at(0))))
                .execute(conn)
                .await?;
            Ok(())
        })
    }
    .await;
    outcome.unwrap();
}

pub(crate) async fn remove(db: &Database, user: UserId) {
    let account = diesel::delete(accounts::table.find(DbUid(user.0)));
    let count: Result<usize, DbError> = on_conn!(db.writer(), |conn| account.execute(conn).await?);
    assert_eq!(count.unwrap(), 1);
}

pub(crate) async fn shred(db: &Database, user: UserId) {
    let salt = diesel::delete(person_salts::table.find(DbUid(user.0)));
    let count: Result<usize, DbError> = on_conn!(db.writer(), |conn| salt.execute(conn).await?);
    assert_eq!(count.unwrap(), 1);
}

pub(crate) fn chats(db: &Database) -> SqlChats {
    let keys = MasterKeys { current: Secret::new([7; 32]), previous: None };
    SqlChats::new(db.clone(), Sealer::new(keys, Arc::new(SqlSalts::new(db.clone()))))
}

/// Creates a chat that states this time of change.
pub(crate) fn chat(number: u128, updated_at: i64) -> NewChat {
    NewChat {
        id: id(number),
        created_at: at(updated_at),
        updated_at: at(updated_at),
        accessed_at: None,
        encrypted: false,
        text: format!(r#"{{"number":{number},"updatedAt":{updated_at}}}"#).into_bytes(),
    }
}

/// Creates an end-to-end encrypted chat, readable by its owner's devices alone.
pub(crate) fn sealed_chat(number: u128, updated_at: i64) -> NewChat {
    NewChat { encrypted: true, ..chat(number, updated_at) }
}

pub(crate) async fn put(db: &Database, user: UserId, chat: &NewChat, now: i64) -> ChatWriteOutcome {
    chats(db).put(user, chat, MANY, at(now)).await.unwrap()
}

pub(crate) async fn delete(db: &Database, user: UserId, number: u128, now: i64) {
    assert!(chats(db).delete(user, id(number), at(now)).await.unwrap());
}
