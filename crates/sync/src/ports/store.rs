//! Store of items: written by `PushService` through `SyncStore`, read by
//! `PullService` through `SyncReader`. `storage-sync` implements both
//! (`applying.rs`, `reading.rs`).

use async_trait::async_trait;
use bytes::Bytes;
use pia_kernel::{StorageUse, Timestamp, Unavailable, UserId};
use uuid::Uuid;

use crate::conflict::Conflict;
use crate::item::{Item, ItemKey};
use crate::ports::Catalogue;
use crate::push::PushSettings;
use crate::quotas::QuotaExceeded;

/// Store of devices' changes.
#[cfg_attr(test, mockall::automock)]
#[async_trait]
pub trait SyncStore: Send + Sync {
    /// Writes all that the planner makes of the changes, or nothing.
    ///
    /// Changes of one account are serialised, and writes take consecutive
    /// stamps in the order of the commits: a device that has seen a stamp
    /// never gets a lower one as new. Encryption of the account is checked in
    /// the same transaction. Preferences of unknown plugins are ignored,
    /// managed personas are rejected, and beyond their limit the oldest
    /// sessions are deleted without tombstones. Bodies are sealed with the
    /// account's key.
    async fn apply(
        &self,
        user: UserId,
        changes: Changes,
        settings: &PushSettings,
    ) -> Result<ApplyOutcome, Unavailable>;
}

/// Changes of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// True if the device reports that all of it is end-to-end encrypted.
    pub encrypted: bool,
    /// Items that the device changed.
    pub items: Vec<Item>,
    /// Items that the device deleted.
    pub deletes: Vec<ItemKey>,
    /// Stamp up to which the device had seen everything.
    pub seen_up_to: Option<Timestamp>,
    /// Time of the deletions as reported by the device, but not later than now.
    pub deleted_at: Timestamp,
    /// Device that sent them.
    pub device: Option<String>,
    /// Refusals from before the transaction; they lead the conflicts of the outcome.
    pub refused: Vec<Conflict>,
    /// The server's time, from which stamps are assigned.
    pub now: Timestamp,
}

/// Outcome of applying changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyOutcome {
    /// Push was stored.
    Done {
        /// Highest stamp of the account after the push.
        at: Timestamp,
        /// Conflicts for the device, refusals included.
        conflicts: Vec<Conflict>,
    },
    /// The account accepts only end-to-end encrypted items.
    EncryptedOnly,
    /// Quota of a channel would be exceeded.
    OverQuota(QuotaExceeded),
    /// User's storage would be exceeded.
    OutOfStorage(StorageUse),
    /// No such account.
    Gone,
}

/// Reader of stored items.
#[cfg_attr(test, mockall::automock)]
#[async_trait]
pub trait SyncReader: Send + Sync {
    /// Loads the summary of an account, in one statement; `None` if there is
    /// no such account.
    async fn head(&self, user: UserId) -> Result<Option<Head>, Unavailable>;

    /// Loads the changes after a stamp, up to the limit. One statement.
    async fn page(
        &self,
        user: UserId,
        since: Timestamp,
        limit: PageLimit,
    ) -> Result<ItemPage, Unavailable>;

    /// Loads the summary of an account, and then the changes after a stamp.
    ///
    /// The page contains all changes that the head counts, and perhaps later
    /// ones. Two statements, which are pipelined where that saves a round
    /// trip.
    async fn head_and_page(
        &self,
        user: UserId,
        since: Timestamp,
        limit: PageLimit,
    ) -> Result<Option<(Head, ItemPage)>, Unavailable>;

    /// Returns the last stamp of an account that is not after this one. One
    /// statement.
    async fn last_until(
        &self,
        user: UserId,
        stamp: Timestamp,
    ) -> Result<Option<Timestamp>, Unavailable>;

    /// Loads the catalogue of a group, as of a version at least as new as
    /// `version`.
    async fn catalogue(&self, group: Uuid, version: i64) -> Result<Catalogue, Unavailable>;

    /// Loads the plugins that a user turned on or off. One statement.
    async fn preferences(&self, user: UserId) -> Result<Vec<(Uuid, bool)>, Unavailable>;
}

/// Summary of an account's data, without any of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Epoch of the account's data; empty before the first.
    pub epoch: Vec<u8>,
    /// Number of changes of the account's data, which every write increments.
    pub version: i64,
    /// Highest stamp of the account; before the first, its creation time.
    pub last_stamp: Timestamp,
    /// Group of the account.
    pub group: Uuid,
    /// Number of changes made by the operator to the catalogues of all groups.
    pub catalogue: i64,
    /// Time when the user last enabled or disabled plugins.
    pub preferences: Option<Timestamp>,
    /// True if a device waits for approval.
    pub has_pending_devices: bool,
}

/// Item on a page of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Key of the item.
    pub key: ItemKey,
    /// Position among all changes.
    pub stamp: Timestamp,
    /// Body as devices receive it, as JSON; none if the item was deleted.
    pub body: Option<Bytes>,
}

/// Changes after some stamp, in the order of the stamps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemPage {
    /// Changed items, without plugin preferences.
    pub rows: Vec<Row>,
    /// Stamp up to which the page is complete; `None` if it is empty.
    pub up_to: Option<Timestamp>,
    /// True if the page was cut at its limit, and more changes may follow.
    pub is_truncated: bool,
}

/// Limit of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimit {
    /// Maximum number of rows.
    pub rows: u32,
    /// Maximum bytes of bodies; the first row is returned in any case.
    pub bytes: u64,
}

/// Source of the devices that wait for approval.
#[cfg_attr(test, mockall::automock)]
#[async_trait]
pub trait PendingDevices: Send + Sync {
    /// Returns the devices of a user that wait for approval.
    async fn waiting_devices(&self, user: UserId) -> Result<Vec<PendingDevice>, Unavailable>;
}

/// Device that waits for approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingDevice {
    /// Id of its row.
    pub id: Uuid,
    /// Name of the device.
    pub name: String,
    /// Time since which it waits.
    pub created_at: Timestamp,
}
