//! Chats of users' devices: storing, listing and deleting them.
//!
//! A chat is one JSON document. `put` parses it (`document.rs`), and the store
//! chooses between it and the stored version (`verdict.rs`) under the account's
//! lock. The stored text is the document itself, except that its creation time is
//! a column: the first version determines it, and each response appends it again.
//! `upload.rs` does this for many chats, `listing.rs` describes pages and their
//! tags.

mod blob;
mod document;
mod fields;
mod listing;
mod messages;
mod ports;
mod time_text;
mod upload;
mod verdict;

use std::sync::Arc;

use pia_kernel::{Clock, LiveSetting, StorageUse, Unavailable, UserId};

pub use document::{ChatViolation, NewChat, ParseChatError};
pub use listing::{ChatListOutcome, ChatListRequest, ChatPage, ChatsVersion, IfNoneMatch};
#[cfg(test)]
pub(crate) use ports::MockChatStore;
pub use ports::{ChatStore, ChatWriteOutcome, StoredChat};
pub use upload::{Upload, UploadError, UploadStatus, Uploaded};
pub use verdict::{ChatDecision, StoredChatState};

/// Identifier of a chat. Devices generate it, and it is unique within its
/// account: two accounts may have chats with one id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChatId(pub uuid::Uuid);

/// Lower-case and hyphenated, as clients compare it.
impl std::fmt::Display for ChatId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.0.as_hyphenated(), f)
    }
}

/// Limits of what an account may store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChatLimits {
    /// Maximum number of chats.
    pub chats: u32,
    /// Maximum number of bytes, including all other data, unless the user's
    /// group sets it.
    pub storage: u64,
}

/// Outcome of storing a chat, with the document that is stored now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatPutOutcome {
    /// No chat had this id.
    Created(Vec<u8>),
    /// Chat replaced an older version.
    Replaced(Vec<u8>),
    /// Stored version is newer and stays.
    Newer(StoredChat),
}

/// Errors that prevent a chat from being stored.
#[derive(Debug, thiserror::Error)]
pub enum PutChatError {
    /// Body is not a chat, or has another id.
    #[error(transparent)]
    Unreadable(#[from] ParseChatError),
    /// The account accepts only encrypted chats.
    #[error("the account is end-to-end encrypted")]
    E2eeRequired,
    /// Chat was deleted after this version of it was written.
    #[error("the chat was deleted")]
    Deleted,
    /// User has the maximum number of chats.
    #[error("{current} of {limit} chats are stored")]
    Full {
        /// Maximum number of chats.
        limit: u32,
        /// Current number of chats.
        current: u64,
    },
    /// User's storage would be exceeded.
    #[error("{} of {} bytes are stored", .0.current, .0.limit)]
    OutOfStorage(StorageUse),
    /// The account was deleted after the gates let its owner pass.
    #[error("no such account")]
    Gone,
    /// The store did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Errors that prevent a chat from being deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteChatError {
    /// The account was deleted since the gates let its owner pass.
    #[error("no such account")]
    Gone,
    /// The store did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Errors that prevent a chat from being returned.
#[derive(Debug, thiserror::Error)]
pub enum GetChatError {
    /// The user has no such chat, or it was deleted.
    #[error("the user has no such chat")]
    Unknown,
    /// The store did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Chats of users.
#[derive(Clone)]
pub struct Chats {
    store: Arc<dyn ChatStore>,
    limits: LiveSetting<ChatLimits>,
    clock: Arc<dyn Clock>,
}

impl Chats {
    /// Creates the service over a store, within these limits.
    pub fn new(
        store: Arc<dyn ChatStore>,
        limits: LiveSetting<ChatLimits>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, limits, clock }
    }

    /// Stores a chat under its own id, unless the stored version is newer. `id` is the
    /// one in the path, `None` if that is no id; the document must have the same.
    pub async fn put(
        &self,
        user: UserId,
        id: Option<ChatId>,
        document: impl AsRef<[u8]> + Send,
    ) -> Result<ChatPutOutcome, PutChatError> {
        let chat = NewChat::parse(document.as_ref())?.require_id(id)?;
        // The document may be long, and the stored text is a copy.
        drop(document);
        self.store_chat(user, chat).await
    }

    async fn store_chat(
        &self,
        user: UserId,
        chat: NewChat,
    ) -> Result<ChatPutOutcome, PutChatError> {
        let limits = *self.limits.get();
        match self.store.put(user, &chat, limits, self.clock.now()).await? {
            ChatWriteOutcome::Created { created_at } => {
                Ok(ChatPutOutcome::Created(chat.append_created_at(created_at)))
            }
            ChatWriteOutcome::Replaced { created_at } => {
                Ok(ChatPutOutcome::Replaced(chat.append_created_at(created_at)))
            }
            ChatWriteOutcome::Newer(stored) => Ok(ChatPutOutcome::Newer(stored)),
            ChatWriteOutcome::Deleted => Err(PutChatError::Deleted),
            ChatWriteOutcome::Plain => Err(PutChatError::E2eeRequired),
            ChatWriteOutcome::Full { current } => {
                Err(PutChatError::Full { limit: limits.chats, current })
            }
            ChatWriteOutcome::OutOfStorage(storage) => Err(PutChatError::OutOfStorage(storage)),
            ChatWriteOutcome::Gone => Err(PutChatError::Gone),
        }
    }

    /// Deletes a chat; deleting a missing one succeeds.
    pub async fn delete(&self, user: UserId, id: ChatId) -> Result<(), DeleteChatError> {
        let account_exists = self.store.delete(user, id, self.clock.now()).await?;
        if account_exists { Ok(()) } else { Err(DeleteChatError::Gone) }
    }

    /// Returns a chat with its messages.
    pub async fn get(&self, user: UserId, id: ChatId) -> Result<StoredChat, GetChatError> {
        self.store.find(user, id).await?.ok_or(GetChatError::Unknown)
    }

    /// Returns a page of a user's chats, unless nothing has changed since a
    /// version that `unless` names.
    pub async fn list(
        &self,
        user: UserId,
        request: ChatListRequest,
        unless: IfNoneMatch,
    ) -> Result<ChatListOutcome, Unavailable> {
        self.store.list(user, request, unless).await
    }
}

#[cfg(test)]
mod tests;
