//! Listing of an account's items, to find out why its devices differ: the port of
//! `support.rs`. Lists are read in batches, each after the last key of the one
//! before.

use async_trait::async_trait;
use pia_kernel::{PageRequest, SideEffects, StorageUse, Timestamp, Unavailable, UserId};
use uuid::Uuid;

use crate::channel::Channel;
use crate::item::ItemKey;

/// Store for inspection and reset of accounts' data.
#[async_trait]
pub trait SyncAdminStore: Send + Sync {
    /// Returns the numbers of a user's live and deleted items per channel.
    /// Channels without any are omitted.
    async fn counts(&self, user: UserId) -> Result<Vec<StoredCounts>, Unavailable>;

    /// Returns the number of bytes that a user stores, and their limit: that of
    /// their group, or else `default_limit`.
    async fn storage(&self, user: UserId, default_limit: u64) -> Result<StorageUse, Unavailable>;

    /// Returns a page of a user's items, in the order of their keys.
    async fn all(
        &self,
        user: UserId,
        after: Option<ItemKey>,
        max: u32,
    ) -> Result<Vec<ItemInfo>, Unavailable>;

    /// Returns a page of a user's chats, deleted ones included, in the order of their ids.
    async fn chats(
        &self,
        user: UserId,
        after: Option<Uuid>,
        max: u32,
    ) -> Result<Vec<ChatInfo>, Unavailable>;

    /// Returns the events of an account, the latest first.
    async fn events(&self, user: UserId, page: PageRequest) -> Result<Vec<SyncEvent>, Unavailable>;

    /// Deletes events from before this time. Returns their number.
    async fn sweep(&self, time: Timestamp) -> Result<u64, Unavailable>;

    /// Deletes all synchronised data of an account: items, chats, keys, and
    /// its encryption. The highest stamp stays and the epoch changes.
    /// Returns whether the account exists.
    async fn reset(
        &self,
        user: UserId,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;
}

/// Stored item without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemInfo {
    /// Key of the item.
    pub key: ItemKey,
    /// Position among all of the account's changes.
    pub stamp: Timestamp,
    /// Time of the last change, by its device's clock.
    pub changed_at: Timestamp,
    /// Time of the deletion; `None` while it is live.
    pub deleted_at: Option<Timestamp>,
    /// True if the item is end-to-end encrypted.
    pub encrypted: bool,
    /// Size of its text before sealing, in bytes; 0 for a tombstone.
    pub size: u32,
}

/// Numbers of a user's items of one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredCounts {
    /// Channel of the items.
    pub channel: Channel,
    /// Number of live items.
    pub live: u32,
    /// Number of tombstones.
    pub deleted: u32,
}

/// Stored chat without its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatInfo {
    /// Id of the chat.
    pub id: Uuid,
    /// Position among all changes.
    pub stamp: Timestamp,
    /// Time of the last change, as reported by the document; for a deleted
    /// chat, time of the deletion.
    pub updated_at: Timestamp,
    /// Time of the deletion; `None` while it is live.
    pub deleted_at: Option<Timestamp>,
    /// True if the chat is end-to-end encrypted.
    pub encrypted: bool,
    /// Size of its document, in bytes.
    pub size: u32,
}

/// Push or reset of an account's data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncEvent {
    /// Id of the event.
    pub id: Uuid,
    /// Time of the event.
    pub at: Timestamp,
    /// Kind of event: `push` or `reset`.
    pub kind: String,
    /// Device that pushed, if it named itself.
    pub device: Option<String>,
    /// Number of items stored.
    pub stored: u32,
    /// Number of deleted items.
    pub deleted: u32,
    /// Number of items that two devices had both changed.
    pub conflicts: u32,
    /// Number of items rejected.
    pub refused: u32,
}
