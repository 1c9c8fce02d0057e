//! Stored chats in SQL.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Timestamp, Unavailable, UserId};
use pia_sealing::Sealer;
use pia_storage::schema::chats;
use pia_storage::{Database, DbError, DbUid, on_conn};
use pia_sync::{
    ChatId, ChatLimits, ChatListOutcome, ChatListRequest, ChatStore, ChatWriteOutcome, IfNoneMatch,
    NewChat, StoredChat,
};

use crate::rows::ListRow;

/// Store of chats in SQL, each sealed under its owner's key: without the owner's
/// salt, none of them can be read.
#[derive(Debug, Clone)]
pub struct SqlChats {
    pub(crate) db: Database,
    pub(crate) sealer: Sealer,
}

impl SqlChats {
    /// Creates the store of the chats in `db`.
    pub fn new(db: Database, sealer: Sealer) -> Self {
        Self { db, sealer }
    }

    async fn row(&self, user: UserId, id: ChatId) -> Result<Option<ListRow>, DbError> {
        let live =
            chats::table.find((DbUid(user.0), DbUid(id.0))).filter(chats::deleted_at.is_null());
        Ok(on_conn!(self.db.reader(), |conn| {
            live.select(ListRow::as_select()).first(conn).await.optional()?
        })?)
    }
}

#[async_trait]
impl ChatStore for SqlChats {
    async fn put(
        &self,
        user: UserId,
        chat: &NewChat,
        limits: ChatLimits,
        now: Timestamp,
    ) -> Result<ChatWriteOutcome, Unavailable> {
        self.write(user, chat, limits, now).await
    }

    async fn delete(&self, user: UserId, id: ChatId, now: Timestamp) -> Result<bool, Unavailable> {
        Ok(self.delete_chat(user, id, now).await?)
    }

    async fn find(&self, user: UserId, id: ChatId) -> Result<Option<StoredChat>, Unavailable> {
        let Some(row) = self.row(user, id).await? else { return Ok(None) };
        let Some(seal) = self.sealer.seal_for(user).await? else { return Ok(None) };
        row.open(&seal).map(Some)
    }

    async fn list(
        &self,
        user: UserId,
        request: ChatListRequest,
        unless: IfNoneMatch,
    ) -> Result<ChatListOutcome, Unavailable> {
        self.load_page(user, request, &unless).await
    }
}
