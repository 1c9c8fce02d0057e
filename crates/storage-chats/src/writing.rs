//! Storing and deleting chats, serialised for each account by the lock of its
//! ledger.
//!
//! The domain decides (`NewChat::decide_against`); this file checks what needs
//! the transaction: the account's encryption, the number of chats, the storage. A
//! deleted chat stays as a tombstone, and its row is used again if a later
//! version revives it.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{StorageUse, Timestamp, Unavailable, UserId};
use pia_storage::schema::chats;
use pia_storage::{DbError, DbInstant, DbUid, TakeLedger, in_tx};
use pia_sync::{ChatDecision, ChatId, ChatLimits, ChatWriteOutcome, NewChat, StoredChatState};

use crate::SqlChats;
use crate::rows::{ChatWriteRow, ListRow, key};

/// Outcome of a write; a sealed document is yet to be opened.
enum WriteOutcome {
    Created(Timestamp),
    Replaced(Timestamp),
    Newer(Box<ListRow>),
    Deleted,
    Plain,
    Full(u64),
    OutOfStorage(StorageUse),
    Gone,
}

/// Chat to store, with its row, which gets its stamp in the transaction.
struct ChatWrite<'a> {
    chat: &'a NewChat,
    row: ChatWriteRow,
}

/// Stored chat without its document.
#[derive(Debug, Clone, Copy, Queryable, Selectable)]
#[diesel(table_name = chats)]
struct ChatStateRow {
    created_at: DbInstant,
    updated_at: DbInstant,
    deleted_at: Option<DbInstant>,
    encrypted: bool,
    size: i32,
}

impl SqlChats {
    pub(crate) async fn write(
        &self,
        user: UserId,
        chat: &NewChat,
        limits: ChatLimits,
        now: Timestamp,
    ) -> Result<ChatWriteOutcome, Unavailable> {
        // Sealed before any lock is taken: it may be long.
        let Some(seal) = self.sealer.seal_for(user).await? else {
            return Ok(ChatWriteOutcome::Gone);
        };

        let row = ChatWriteRow::from_chat(chat, &seal)?;
        let mut write = ChatWrite { chat, row };
        let outcome = self.store_chat(user, &mut write, limits, now).await?;
        drop(write);

        Ok(match outcome {
            WriteOutcome::Created(created_at) => ChatWriteOutcome::Created { created_at },
            WriteOutcome::Replaced(created_at) => ChatWriteOutcome::Replaced { created_at },
            WriteOutcome::Newer(row) => ChatWriteOutcome::Newer(row.open(&seal)?),
            WriteOutcome::Deleted => ChatWriteOutcome::Deleted,
            WriteOutcome::Plain => ChatWriteOutcome::Plain,
            WriteOutcome::Full(current) => ChatWriteOutcome::Full { current },
            WriteOutcome::OutOfStorage(storage) => ChatWriteOutcome::OutOfStorage(storage),
            WriteOutcome::Gone => ChatWriteOutcome::Gone,
        })
    }

    async fn store_chat(
        &self,
        user: UserId,
        write: &mut ChatWrite<'_>,
        limits: ChatLimits,
        now: Timestamp,
    ) -> Result<WriteOutcome, DbError> {
        let chat = write.chat;
        let row = &mut write.row;
        let own_chat = chats::table.find(key(user, chat.id));
        let live = chats::user_id.eq(DbUid(user.0)).and(chats::deleted_at.is_null());
        in_tx!(self.db, async |conn| -> Result<WriteOutcome, DbError> {
            let Some(ledger) = conn.take_ledger(user).await? else { return Ok(WriteOutcome::Gone) };
            if ledger.encrypted && !chat.encrypted {
                return Ok(WriteOutcome::Plain);
            }

            let stored_row =
                own_chat.select(ChatStateRow::as_select()).first(conn).await.optional()?;
            let verdict = stored_row.map(|it: ChatStateRow| chat.decide_against(&it.into()));
            match verdict {
                Some(ChatDecision::Loses) => {
                    let newer = own_chat.select(ListRow::as_select()).first(conn).await?;
                    return Ok(WriteOutcome::Newer(Box::new(newer)));
                }
                Some(ChatDecision::Deleted) => {
                    // So that the writer's next list contains the deletion.
                    let stamp = ledger.stamps(now).next().unwrap_or(now);
                    let restamp = diesel::update(own_chat).set(chats::stamp.eq(DbInstant(stamp)));
                    restamp.execute(conn).await?;
                    conn.put_stamp(user, stamp, 0).await?;
                    return Ok(WriteOutcome::Deleted);
                }
                Some(ChatDecision::Replaces) => {}
                None | Some(ChatDecision::Revives) => {
                    let count: i64 = chats::table.filter(live).count().get_result(conn).await?;
                    if count >= i64::from(limits.chats) {
                        return Ok(WriteOutcome::Full(count.unsigned_abs()));
                    }
                }
            }

            let growth =
                i64::from(row.size) - i64::from(stored_row.as_ref().map_or(0, |it| it.size));
            if let Err(storage) = ledger.check_storage(growth, limits.storage) {
                return Ok(WriteOutcome::OutOfStorage(storage));
            }

            let stamp = ledger.stamps(now).next().unwrap_or(now);
            row.stamp = DbInstant(stamp);
            conn.put_stamp(user, stamp, growth).await?;
            let Some(replaced_row) = stored_row else {
                let (user_id, id) = key(user, chat.id);
                let fixed = (
                    chats::user_id.eq(user_id),
                    chats::id.eq(id),
                    chats::created_at.eq(DbInstant(chat.created_at)),
                );
                diesel::insert_into(chats::table).values((fixed, &*row)).execute(conn).await?;
                return Ok(WriteOutcome::Created(chat.created_at));
            };

            diesel::update(own_chat).set(&*row).execute(conn).await?;
            Ok(match verdict {
                Some(ChatDecision::Revives) => WriteOutcome::Created(replaced_row.created_at.0),
                _ => WriteOutcome::Replaced(replaced_row.created_at.0),
            })
        })
    }

    pub(crate) async fn delete_chat(
        &self,
        user: UserId,
        id: ChatId,
        now: Timestamp,
    ) -> Result<bool, DbError> {
        let own_chat = chats::table.find(key(user, id));
        in_tx!(self.db, async |conn| -> Result<bool, DbError> {
            let Some(ledger) = conn.take_ledger(user).await? else { return Ok(false) };
            let live = own_chat.filter(chats::deleted_at.is_null());
            let live_row = live.select(ChatStateRow::as_select()).first(conn).await.optional()?;
            let Some(row) = live_row else { return Ok(true) };
            let stamp = ledger.stamps(now).next().unwrap_or(now);
            conn.put_stamp(user, stamp, -i64::from(row.size)).await?;
            let tombstone = ChatWriteRow::deleted(now.max(row.updated_at.0), row.encrypted, stamp);
            diesel::update(own_chat).set(&tombstone).execute(conn).await?;
            Ok(true)
        })
    }
}

impl From<ChatStateRow> for StoredChatState {
    fn from(row: ChatStateRow) -> Self {
        Self {
            updated_at: row.updated_at.0,
            deleted_at: row.deleted_at.map(|it| it.0),
            encrypted: row.encrypted,
        }
    }
}
