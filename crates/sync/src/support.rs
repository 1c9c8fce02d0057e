//! Inspection and reset of an account's data, called by `support.rs` of `http`.
//! Lists contain times, sizes and counts, and neither bodies nor messages: they
//! explain why devices differ without revealing anything.

use std::sync::Arc;

use pia_kernel::{
    Clock, Cursor, LiveSetting, Page, PageRequest, QueuedEmail, SideEffects, StorageUse, Timestamp,
    Unavailable, UserId,
};

use crate::channel::Channel;
use crate::item::ItemKey;
use crate::ports::{ChatInfo, ItemInfo, SyncAdminStore, SyncEvent, SyncReader};
use crate::push::PushSettings;

/// Number of items read at once for the complete list.
const BATCH_SIZE: u32 = 1_000;

/// State of an account's data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncStatus {
    /// Highest stamp of the account.
    pub watermark: Timestamp,
    /// Number of changes to the user's data.
    pub version: i64,
    /// Counts by channel.
    pub counts: Vec<ItemCounts>,
    /// Last event of the account's synchronisation.
    pub last_event: Option<SyncEvent>,
}

/// Numbers of items of one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemCounts {
    /// Channel of the items.
    pub channel: Channel,
    /// Number of live items.
    pub live: u32,
    /// Number of tombstones.
    pub deleted: u32,
    /// Maximum number of live items.
    pub limit: u32,
}

/// Errors that prevent a support request from being answered.
#[derive(Debug, thiserror::Error)]
pub enum SupportError {
    /// The account is gone.
    #[error("the account doesn't exist any more")]
    Gone,
    /// A required port is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Service for inspection and reset of accounts' data.
#[derive(Clone)]
pub struct Support {
    store: Arc<dyn SyncAdminStore>,
    reader: Arc<dyn SyncReader>,
    settings: LiveSetting<PushSettings>,
    clock: Arc<dyn Clock>,
}

impl Support {
    /// Creates the service over these ports.
    pub fn new(
        store: Arc<dyn SyncAdminStore>,
        reader: Arc<dyn SyncReader>,
        settings: LiveSetting<PushSettings>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, reader, settings, clock }
    }

    /// Returns the state of an account's data.
    pub async fn status(&self, user: UserId) -> Result<SyncStatus, SupportError> {
        let head = self.reader.head(user).await?.ok_or(SupportError::Gone)?;
        let counts = self.counts(user).await?;
        let latest = self.store.events(user, PageRequest { after: None, limit: 1 }).await?;
        Ok(SyncStatus {
            watermark: head.last_stamp,
            version: head.version,
            counts,
            last_event: latest.into_iter().next(),
        })
    }

    /// Returns the number of an account's items by channel, and their limits.
    pub async fn counts(&self, user: UserId) -> Result<Vec<ItemCounts>, Unavailable> {
        let stored_counts = self.store.counts(user).await?;
        let settings = self.settings.get();
        let counts_of = |channel: Channel| {
            let counts = stored_counts.iter().find(|it| it.channel == channel);
            ItemCounts {
                channel,
                live: counts.map_or(0, |it| it.live),
                deleted: counts.map_or(0, |it| it.deleted),
                limit: settings.limits.limit(channel),
            }
        };
        Ok(Channel::ALL.into_iter().map(counts_of).collect())
    }

    /// Returns the number of bytes that a user stores, and their limit.
    pub async fn storage(&self, user: UserId) -> Result<StorageUse, Unavailable> {
        let default_limit = self.settings.get().max_storage;
        self.store.storage(user, default_limit).await
    }

    /// Returns all items of an account, without their bodies.
    pub async fn all_items(&self, user: UserId) -> Result<Vec<ItemInfo>, Unavailable> {
        let mut items: Vec<ItemInfo> = Vec::new();
        loop {
            let after: Option<ItemKey> = items.last().map(|it| it.key);
            let batch = self.store.all(user, after, BATCH_SIZE).await?;
            let is_last = u32::try_from(batch.len()).is_ok_and(|it| it < BATCH_SIZE);
            items.extend(batch);
            if is_last {
                return Ok(items);
            }
        }
    }

    /// Returns all chats of an account, without their messages.
    pub async fn chats(&self, user: UserId) -> Result<Vec<ChatInfo>, Unavailable> {
        let mut chats: Vec<ChatInfo> = Vec::new();
        loop {
            let batch = self.store.chats(user, chats.last().map(|it| it.id), BATCH_SIZE).await?;
            let is_last = u32::try_from(batch.len()).is_ok_and(|it| it < BATCH_SIZE);
            chats.extend(batch);
            if is_last {
                return Ok(chats);
            }
        }
    }

    /// Returns the events of an account, the latest first.
    pub async fn events(
        &self,
        user: UserId,
        page: PageRequest,
    ) -> Result<Page<SyncEvent>, Unavailable> {
        let events = self.store.events(user, page.and_one_more()).await?;
        Ok(page.into_page(events, |it| Cursor { at: it.at, id: it.id }))
    }

    /// Deletes all synchronised data of an account, chats and keys
    /// included.
    pub async fn reset(&self, user: UserId) -> Result<(), SupportError> {
        let at = self.clock.now();
        let mail = QueuedEmail::new("sync-reset").to_user(at, user);
        let effects = SideEffects::audit(at, user, "sync.reset").and_mail(mail);
        if self.store.reset(user, at, effects).await? { Ok(()) } else { Err(SupportError::Gone) }
    }

    /// Deletes events from before this time.
    pub async fn sweep(&self, time: Timestamp) -> Result<u64, Unavailable> {
        self.store.sweep(time).await
    }
}
