//! Store of chats.

use async_trait::async_trait;
use pia_kernel::{StorageUse, Timestamp, Unavailable, UserId};

use super::document::append_created_at;
use super::{ChatId, ChatLimits, ChatListRequest, IfNoneMatch, ListedChats, NewChat};

/// A chat that is stored.
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
    /// Document, but for when it was made.
    pub text: Vec<u8>,
}

impl StoredChat {
    /// The whole document.
    pub fn into_document(self) -> Vec<u8> {
        append_created_at(self.text, self.created_at)
    }
}

/// Outcome of writing a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatWritten {
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
    /// The stored chat is newer, and stays.
    Newer(StoredChat),
    /// Chat was deleted after this version.
    Deleted,
    /// The account takes only what is encrypted, and this is not.
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

/// Store of chats. Ids are unique within an account only.
#[cfg_attr(test, mockall::automock)]
#[async_trait]
pub trait ChatStore: Send + Sync {
    /// Keeps a chat if [`NewChat::decide_against`] says that it wins, and what the
    /// account is at that moment allows it.
    ///
    /// However many are put at once, the latest of them stays, and nobody has
    /// more than the limits say. Each counts as a change of the person's data and gets
    /// a stamp behind all before.
    async fn put(
        &self,
        user: UserId,
        chat: &NewChat,
        limits: ChatLimits,
        now: Timestamp,
    ) -> Result<ChatWritten, Unavailable>;

    /// Forgets what a chat says and keeps its id, with the later of `now` and
    /// the chat's own time. Answers whether there is such an account.
    async fn delete(&self, user: UserId, id: ChatId, now: Timestamp) -> Result<bool, Unavailable>;

    /// A chat that was not deleted.
    async fn find(&self, user: UserId, id: ChatId) -> Result<Option<StoredChat>, Unavailable>;

    /// A part of a user's chats, oldest change first, no longer than some
    /// megabytes unless one chat alone is.
    ///
    /// The version is read before all else: a change at the same time may cost
    /// another look, and is never missed.
    async fn list(
        &self,
        user: UserId,
        part: ChatListRequest,
        unless: IfNoneMatch,
    ) -> Result<ListedChats, Unavailable>;
}
