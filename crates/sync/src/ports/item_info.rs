//! Listing of an account's items, to find out why its devices differ.

use async_trait::async_trait;
use pia_kernel::{PageRequest, SideEffects, StorageUse, Timestamp, Unavailable, UserId};
use uuid::Uuid;

use crate::channel::Channel;
use crate::item::Key;

/// One thing that is kept, without what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemInfo {
    /// By which it is known.
    pub key: Key,
    /// Its place among all changes.
    pub stamp: Timestamp,
    /// Time at which it was changed, by its device's clock.
    pub changed_at: Timestamp,
    /// Since when it is deleted.
    pub deleted_at: Option<Timestamp>,
    /// True if it is end-to-end encrypted.
    pub encrypted: bool,
    /// Size of its text, in bytes.
    pub size: u32,
}

/// One chat that is kept, without what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatHolding {
    /// By which it is known.
    pub id: Uuid,
    /// Its place among all changes.
    pub stamp: Timestamp,
    /// Time at which it says that it was changed; once deleted, since when it
    /// is.
    pub updated_at: Timestamp,
    /// Since when it is deleted.
    pub deleted_at: Option<Timestamp>,
    /// True if it is end-to-end encrypted.
    pub encrypted: bool,
    /// Size of its document, in bytes.
    pub size: u32,
}

/// Something that was done to a person's data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncEvent {
    /// Its id.
    pub id: Uuid,
    /// Time of the event.
    pub at: Timestamp,
    /// Kind of event: `push` or `reset`.
    pub kind: String,
    /// By which device, if it said so.
    pub device: Option<String>,
    /// Number of things that were stored.
    pub stored: u32,
    /// Number of deleted items.
    pub deleted: u32,
    /// In how many cases two devices had changed one thing.
    pub conflicts: u32,
    /// Number of things that were refused.
    pub refused: u32,
}

/// Reader of all that, which can also erase it.
#[async_trait]
pub trait SyncHoldings: Send + Sync {
    /// Returns the number of living things of each kind a person has, and how
    /// many were deleted. Kinds without any are left out.
    async fn counts(&self, user: UserId) -> Result<Vec<(Channel, u32, u32)>, Unavailable>;

    /// Returns the number of bytes a person stores, and may store: what their
    /// group says, or else `usual_limit`.
    async fn storage(&self, user: UserId, usual_limit: u64) -> Result<StorageUse, Unavailable>;

    /// So many things at most that a person has, in the order of their keys,
    /// beginning behind one.
    async fn all(
        &self,
        user: UserId,
        after: Option<Key>,
        most: u32,
    ) -> Result<Vec<ItemInfo>, Unavailable>;

    /// So many chats at most that a person has, or had, in the order of their
    /// ids, beginning behind one.
    async fn chats(
        &self,
        user: UserId,
        after: Option<Uuid>,
        most: u32,
    ) -> Result<Vec<ChatHolding>, Unavailable>;

    /// Returns the events of an account, the latest first.
    async fn events(&self, user: UserId, page: PageRequest) -> Result<Vec<SyncEvent>, Unavailable>;

    /// Forgets what was done before this time. Answers how much that was.
    async fn sweep(&self, time: Timestamp) -> Result<u64, Unavailable>;

    /// Takes away all that is synchronised for a person: items, chats, and
    /// that they were encrypted, with every key. Their highest stamp stays and
    /// their epoch is another. Answers whether there is such an account.
    async fn reset(
        &self,
        user: UserId,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;
}
