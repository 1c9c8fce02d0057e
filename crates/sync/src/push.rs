//! Pushes: changes of devices.
//!
//! `PushService::push` validates each item outside of the transaction and hands
//! the valid ones to `SyncStore::apply`, which plans and stores them.
//! `push_request.rs` of `http` builds the `Push`; it reports `Pushed::assigned`
//! by the position of each item in its channel, since an item without an id has
//! no other name.

use std::collections::HashMap;
use std::sync::Arc;

use pia_kernel::{Clock, LiveSetting, StorageUse, Timestamp, Unavailable, UserId};

use crate::channel::Channel;
use crate::conflict::Conflict;
use crate::item::{Item, ItemKey, ReceivedItem};
use crate::limits::ItemLimits;
use crate::plan::ConflictStrategy;
use crate::ports::{ApplyOutcome, Changes, SyncStore};
use crate::quotas::QuotaExceeded;

/// Maximum number of changes in one push, deletions included. That is more than
/// twice the default limits of an account, which devices of the first generation
/// send at once; and SQLite looks up at most 32,766 rows in one
/// statement.
pub const MAX_CHANGES_PER_PUSH: usize = 30_000;

/// Push of a device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Push {
    /// Time when it was sent, by the device's clock; `None` counts as now.
    pub sent_at: Option<Timestamp>,
    /// Watermark of the device's last pull; without one, no version counts as unseen.
    pub seen_up_to: Option<Timestamp>,
    /// Device, if it named itself.
    pub device: Option<String>,
    /// True if all items are end-to-end encrypted.
    pub encrypted: bool,
    /// Items that the device changed.
    pub items: Vec<ReceivedItem>,
    /// Items that the device deleted.
    pub deletes: Vec<ItemKey>,
}

/// Result of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// Stamp of the last write, or the account's highest if nothing was
    /// written.
    pub at: Timestamp,
    /// Changes that did not apply as the device may expect.
    pub conflicts: Vec<Conflict>,
    /// Ids of items that came without one, with their positions in their
    /// channel.
    pub assigned: Vec<Assigned>,
}

/// Id assigned by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assigned {
    /// Key of the item.
    pub key: ItemKey,
    /// Position within its channel in the push, from 0.
    pub index: usize,
}

/// Errors that prevent all of a push from being accepted.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The account accepts only end-to-end encrypted items.
    #[error("the account accepts only end-to-end encrypted data")]
    E2eeRequired,
    /// Quota of a channel would be exceeded.
    #[error("too many {}", .0.channel.name())]
    OverQuota(QuotaExceeded),
    /// User's storage would be exceeded.
    #[error("{} of {} bytes are stored", .0.current, .0.limit)]
    OutOfStorage(StorageUse),
    /// Push exceeds the maximum number of items.
    #[error("a push holds at most {MAX_CHANGES_PER_PUSH} changes")]
    TooMany,
    /// The account is gone.
    #[error("the account doesn't exist any more")]
    Gone,
    /// A required port is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Service of devices' pushes.
#[derive(Clone)]
pub struct PushService {
    store: Arc<dyn SyncStore>,
    settings: LiveSetting<PushSettings>,
    clock: Arc<dyn Clock>,
}

/// Operator's settings.
#[derive(Debug, Clone)]
pub struct PushSettings {
    /// Maximum number of items per channel.
    pub limits: ItemLimits,
    /// Maximum number of bytes per user unless their group sets it.
    pub max_storage: u64,
    /// Winner where two devices changed one item.
    pub strategy: ConflictStrategy,
}

impl Default for PushSettings {
    fn default() -> Self {
        Self {
            limits: ItemLimits::default(),
            max_storage: 1 << 30,
            strategy: ConflictStrategy::default(),
        }
    }
}

impl PushService {
    /// Creates the service over `store`.
    pub fn new(
        store: Arc<dyn SyncStore>,
        settings: LiveSetting<PushSettings>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, settings, clock }
    }

    /// Applies a push: all of it that can be applied, or nothing.
    ///
    /// A rejected item is reported as a conflict and does not stop the
    /// others, since a device would send it again for ever. Repeating a push
    /// changes nothing more.
    pub async fn push(&self, user: UserId, push: Push) -> Result<Pushed, PushError> {
        if push.items.len() + push.deletes.len() > MAX_CHANGES_PER_PUSH {
            return Err(PushError::TooMany);
        }

        let now = self.clock.now();
        let settings = self.settings.get();
        // A device whose clock is fast must not win for ever.
        let sent_at = push.sent_at.unwrap_or(now).min(now);
        let validated = ValidatedItems::new(user, push.items, push.encrypted, sent_at);
        let changes = Changes {
            encrypted: push.encrypted,
            items: validated.items,
            deletes: push.deletes,
            seen_up_to: push.seen_up_to,
            deleted_at: sent_at,
            device: push.device,
            refused: validated.refused,
            now,
        };

        match self.store.apply(user, changes, &settings).await? {
            ApplyOutcome::Done { at, conflicts } => {
                Ok(Pushed { at, conflicts, assigned: validated.assigned })
            }
            ApplyOutcome::EncryptedOnly => Err(PushError::E2eeRequired),
            ApplyOutcome::OverQuota(exceeded) => Err(PushError::OverQuota(exceeded)),
            ApplyOutcome::OutOfStorage(storage) => Err(PushError::OutOfStorage(storage)),
            ApplyOutcome::Gone => Err(PushError::Gone),
        }
    }
}

/// Items of a push: valid ones, and rejections.
#[derive(Default)]
struct ValidatedItems {
    items: Vec<Item>,
    refused: Vec<Conflict>,
    assigned: Vec<Assigned>,
}

impl ValidatedItems {
    fn new(user: UserId, items: Vec<ReceivedItem>, encrypted: bool, sent_at: Timestamp) -> Self {
        let mut validated = Self::default();
        let mut counts: HashMap<Channel, usize> = HashMap::new();
        for received in items {
            let channel = received.channel;
            // Refused items count too: positions are those of the request.
            let count = counts.entry(channel).or_default();
            let index = *count;
            *count += 1;

            let id = received.id().unwrap_or_else(|| {
                let id = received.derived_id(user);
                validated.assigned.push(Assigned { key: ItemKey { channel, id }, index });
                id
            });
            match received.into_item(id, encrypted, sent_at) {
                Ok(item) => validated.items.push(item),
                Err(refusal) => {
                    validated.refused.push(Conflict::refused(ItemKey { channel, id }, refusal));
                }
            }
        }

        validated
    }
}

#[cfg(test)]
mod tests;
