//! Store of chats, implemented by `storage-chats`. `chats.rs` calls it and turns
//! outcomes into errors; the rules of a write are `verdict.rs`, applied within
//! the store's transaction.

use async_trait::async_trait;
use pia_kernel::{StorageUse, Timestamp, Unavailable, UserId};

use super::document::append_created_at;
use super::{ChatId, ChatLimits, ChatListOutcome, ChatListRequest, IfNoneMatch, NewChat};

/// Store of chats. Ids are unique within an account only.
#[cfg_attr(test, mockall::automock)]
#[async_trait]
pub trait ChatStore: Send + Sync {
    /// Stores a chat if [`NewChat::decide_against`] says that it wins, and the
    /// account's state in the same transaction allows it.
    ///
    /// Of concurrent versions the latest is stored, and the limits are never
    /// exceeded. Each write counts as a change of the account's data and gets
    /// a stamp behind all before.
    async fn put(
        &self,
        user: UserId,
        chat: &NewChat,
        limits: ChatLimits,
        now: Timestamp,
    ) -> Result<ChatWriteOutcome, Unavailable>;

    /// Deletes a chat's content and stores a tombstone, with the later of `now`
    /// and the chat's own time. Returns whether the account exists.
    async fn delete(&self, user: UserId, id: ChatId, now: Timestamp) -> Result<bool, Unavailable>;

    /// Returns a chat that was not deleted.
    async fn find(&self, user: UserId, id: ChatId) -> Result<Option<StoredChat>, Unavailable>;

    /// Returns a page of a user's chats, oldest change first. A page has at most some
    /// megabytes, or one chat that alone is larger.
    ///
    /// The version is read before all else: a concurrent change may cause
    /// another request, and is never missed.
    async fn list(
        &self,
        user: UserId,
        request: ChatListRequest,
        unless: IfNoneMatch,
    ) -> Result<ChatListOutcome, Unavailable>;
}

/// Chat that is stored, with its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredChat {
    /// Id of the chat.
    pub id: ChatId,
    /// Creation time, as reported by its first version.
    pub created_at: Timestamp,
    /// Time of the last change, as reported by the document.
    pub updated_at: Timestamp,
    /// Time of the last access, as reported by the document.
    pub accessed_at: Option<Timestamp>,
    /// True if only its owner's devices can read it.
    pub encrypted: bool,
    /// Document without the creation time.
    pub text: Vec<u8>,
}

impl StoredChat {
    /// Returns the document with the creation time.
    pub fn into_document(self) -> Vec<u8> {
        append_created_at(self.text, self.created_at)
    }
}

/// Outcome of writing a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatWriteOutcome {
    /// No chat had this id, or it was deleted before this version.
    Created {
        /// Creation time, as reported by its first version.
        created_at: Timestamp,
    },
    /// Chat replaced an older version.
    Replaced {
        /// Creation time, as reported by its first version.
        created_at: Timestamp,
    },
    /// The stored chat is newer, and was not replaced.
    Newer(StoredChat),
    /// Chat was deleted after this version.
    Deleted,
    /// The account accepts only encrypted chats, and this is not one.
    Plain,
    /// User has the maximum number of chats.
    Full {
        /// Current number of chats.
        current: u64,
    },
    /// User's storage would be exceeded.
    OutOfStorage(StorageUse),
    /// No such account.
    Gone,
}
