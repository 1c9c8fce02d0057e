//! Where items are kept.

use async_trait::async_trait;
use bytes::Bytes;
use pia_kernel::{StorageUse, Timestamp, Unavailable, UserId};
use uuid::Uuid;

use crate::channel::Channel;
use crate::conflict::Conflict;
use crate::item::{Item, Key};
use crate::ports::Catalogue;
use crate::push::PushSettings;

/// What a device wants changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// Whether the device says that all of it is end-to-end encrypted.
    pub encrypted: bool,
    /// What it changed.
    pub items: Vec<Item>,
    /// What it deleted.
    pub deletes: Vec<Key>,
    /// Up to which stamp the device had seen everything.
    pub seen: Option<Timestamp>,
    /// When it deleted that, and not later than now.
    pub deleted_at: Timestamp,
    /// Which device it was.
    pub device: Option<String>,
    /// What was refused before.
    pub refused: Vec<Conflict>,
    /// The server's time.
    pub now: Timestamp,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// It is kept.
    Done {
        /// The person's highest stamp by now.
        at: Timestamp,
        /// What the device is told, refusals included.
        conflicts: Vec<Conflict>,
    },
    /// The account takes only what is end-to-end encrypted.
    EncryptedOnly,
    /// There would be too many of one kind.
    OverQuota {
        /// Of which kind.
        channel: Channel,
        /// How many there may be.
        limit: u32,
        /// How many there are.
        current: u32,
    },
    /// There would be more bytes than may be stored.
    OutOfStorage(StorageUse),
    /// There is no such account.
    Gone,
}

/// Where devices' changes are kept.
#[cfg_attr(test, mockall::automock)]
#[async_trait]
pub trait SyncStore: Send + Sync {
    /// Writes all that the planner makes of the changes, or nothing.
    ///
    /// Changes of one person are applied one after the other, and what is
    /// written takes consecutive stamps in the order of the commits: nobody
    /// who has seen a stamp will ever be shown a lower one as new. Whether the
    /// account is encrypted is looked at in the same transaction. Preferences
    /// of unknown plugins are passed over, the operator's own personas are
    /// refused, and beyond their limit the oldest sessions leave without a
    /// trace. Bodies are sealed with the person's key.
    async fn apply(
        &self,
        user: UserId,
        changes: Changes,
        settings: &PushSettings,
    ) -> Result<Applied, Unavailable>;
}

/// What there is of a person, without any of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Which life of the person's data this is; empty before the first.
    pub epoch: Vec<u8>,
    /// How often anything was changed.
    pub version: i64,
    /// The person's highest stamp; before the first, when the account was made.
    pub last_stamp: Timestamp,
    /// Which group the person is in.
    pub group: Uuid,
    /// How often the operator changed anything.
    pub catalogue: i64,
    /// When the person last chose which plugins are on.
    pub preferences: Option<Timestamp>,
    /// Whether a device waits to be let in.
    pub awaited: bool,
}

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// By which it is known.
    pub key: Key,
    /// Its place among all changes.
    pub stamp: Timestamp,
    /// It as devices get it, as JSON; nothing if it was deleted.
    pub body: Option<Bytes>,
}

/// What changed after some stamp, in the order of the stamps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemPage {
    /// What changed, without plugin preferences.
    pub rows: Vec<Row>,
    /// Up to which stamp this is all that changed; nothing if there was none.
    pub up_to: Option<Timestamp>,
    /// Whether it ends there for being long enough, and not for there being
    /// no more.
    pub cut: bool,
}

/// How much a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimit {
    /// So many rows at most.
    pub rows: u32,
    /// So many bytes of bodies at most, but one row in any case.
    pub bytes: u64,
}

/// Where what is kept is read.
#[cfg_attr(test, mockall::automock)]
#[async_trait]
pub trait SyncReader: Send + Sync {
    /// What there is of a person, by one statement; nothing if there is no
    /// such account.
    async fn head(&self, user: UserId) -> Result<Option<Head>, Unavailable>;

    /// What changed after a stamp, as much as there is room for. One
    /// statement.
    async fn page(&self, user: UserId, since: Timestamp, room: PageLimit) -> Result<ItemPage, Unavailable>;

    /// Both: what there is of a person, and then what changed after a stamp.
    ///
    /// The page shows all that was there when the head was read, and perhaps
    /// what was written since. Two statements, which do not wait for one another
    /// where that is a way to go.
    async fn head_and_page(
        &self,
        user: UserId,
        since: Timestamp,
        room: PageLimit,
    ) -> Result<Option<(Head, ItemPage)>, Unavailable>;

    /// The last stamp of all that there is of a person that is not after this
    /// one. One statement.
    async fn last_until(
        &self,
        user: UserId,
        stamp: Timestamp,
    ) -> Result<Option<Timestamp>, Unavailable>;

    /// What the operator gives the people of a group, as of a version at
    /// least as new as `version`.
    async fn catalogue(&self, group: Uuid, version: i64) -> Result<Catalogue, Unavailable>;

    /// Which plugins a person turned on or off. One statement.
    async fn preferences(&self, user: UserId) -> Result<Vec<(Uuid, bool)>, Unavailable>;
}

/// A device that waits to be let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingDevice {
    /// The id of its row.
    pub id: Uuid,
    /// What it calls itself.
    pub name: String,
    /// Since when it waits.
    pub created_at: Timestamp,
}

/// Where the devices that wait are known.
#[cfg_attr(test, mockall::automock)]
#[async_trait]
pub trait PendingDevices: Send + Sync {
    /// Those of a person.
    async fn of(&self, user: UserId) -> Result<Vec<PendingDevice>, Unavailable>;
}
