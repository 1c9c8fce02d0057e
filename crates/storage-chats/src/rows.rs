//! Database rows of chats. `ChatWriteRow` leaves out the creation time: the first
//! version determines it, and no update changes it.

use diesel::prelude::*;
use pia_kernel::{Timestamp, Unavailable, UserId};
use pia_sealing::{PersonSeal, SealContext};
use pia_storage::schema::chats;
use pia_storage::{DbInstant, DbUid};
use pia_sync::{ChatId, NewChat, StoredChat};

/// Purpose under which chats are sealed.
const PURPOSE: &str = "chat";

/// Columns of a chat besides its key and its creation time.
#[derive(AsChangeset, Insertable)]
#[diesel(table_name = chats, treat_none_as_null = true)]
pub(crate) struct ChatWriteRow {
    pub(crate) stamp: DbInstant,
    pub(crate) updated_at: DbInstant,
    pub(crate) accessed_at: Option<DbInstant>,
    pub(crate) deleted_at: Option<DbInstant>,
    pub(crate) encrypted: bool,
    pub(crate) size: i32,
    pub(crate) body: Option<Vec<u8>>,
}

/// Chat with its document.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = chats)]
pub(crate) struct ListRow {
    pub(crate) id: DbUid,
    created_at: DbInstant,
    updated_at: DbInstant,
    accessed_at: Option<DbInstant>,
    encrypted: bool,
    body: Option<Vec<u8>>,
}

impl ChatWriteRow {
    /// Creates the row of a chat; its stamp is assigned later.
    pub(crate) fn from_chat(chat: &NewChat, seal: &PersonSeal) -> Result<Self, Unavailable> {
        let size =
            i32::try_from(chat.text.len()).map_err(|err| Unavailable::new("storage", err))?;
        Ok(Self {
            stamp: DbInstant(Timestamp::UNIX_EPOCH),
            updated_at: DbInstant(chat.updated_at),
            accessed_at: chat.accessed_at.map(DbInstant),
            deleted_at: None,
            encrypted: chat.encrypted,
            size,
            body: Some(seal.seal(seal_context(chat.id.0.as_bytes()), &chat.text)?),
        })
    }

    /// Creates the tombstone of a deleted chat.
    pub(crate) fn deleted(at: Timestamp, encrypted: bool, stamp: Timestamp) -> Self {
        Self {
            stamp: DbInstant(stamp),
            // Position in the listing: behind what was listed before.
            updated_at: DbInstant(at),
            accessed_at: None,
            deleted_at: Some(DbInstant(at)),
            encrypted,
            size: 0,
            body: None,
        }
    }
}

impl ListRow {
    pub(crate) fn open(self, seal: &PersonSeal) -> Result<StoredChat, Unavailable> {
        let body = self.body.unwrap_or_default();
        let text = seal
            .open_long(seal_context(self.id.0.as_bytes()), body)
            .map_err(|err| Unavailable::new("a sealed chat", err))?;
        Ok(StoredChat {
            id: ChatId(self.id.0),
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
            accessed_at: self.accessed_at.map(|it| it.0),
            encrypted: self.encrypted,
            text: text.reveal(),
        })
    }
}

fn seal_context(row: &[u8; 16]) -> SealContext<'_> {
    SealContext { purpose: PURPOSE, row }
}

pub(crate) fn key(user: UserId, id: ChatId) -> (DbUid, DbUid) {
    (DbUid(user.0), DbUid(id.0))
}
