//! Plan of a push against the stored items: pure, so that every rule can be
//! tested without a database.
//!
//! Begin with `PushPlanner::plan`. The steps for each changed item: drop or refuse
//! what the device may not write (`writable`), retain the latest change of each key
//! (`last_of_each`), then choose the winner (`decide`). Deletions follow, so that a
//! deletion beats a change of the same push. A plan has at most one write for each
//! key; `SqlSyncStore` assigns the stamps in the order of the writes.

use std::collections::{HashMap, HashSet};

use pia_kernel::Timestamp;
use uuid::Uuid;

use crate::channel::{Channel, Merge, ReadOnly};
use crate::conflict::{Conflict, Resolution};
use crate::item::{Item, ItemKey, ItemRejection};

/// State of an item that is stored, or was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredItem {
    /// Position among all of the account's changes.
    pub stamp: Timestamp,
    /// Time of the last change, by its device's clock.
    pub changed_at: Timestamp,
    /// Time of the deletion; `None` while it is live.
    pub deleted_at: Option<Timestamp>,
    /// True if the item is end-to-end encrypted.
    pub encrypted: bool,
    /// Keyed digest of the body, equal for equal bodies of one account.
    pub digest: Vec<u8>,
    /// Device that wrote it, if it named itself.
    pub device: Option<String>,
    /// Digest of the version that was rejected last; an equal one causes no new stamp.
    pub last_rejected_digest: Option<Vec<u8>>,
    /// Size of its body, in bytes; 0 once it is deleted.
    pub size: u32,
}

/// Winner when a device changed a version that it had not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConflictStrategy {
    /// The later change, by the clocks of the devices.
    #[default]
    LastWriteWins,
    /// The stored version.
    ServerWins,
}

/// Write that a plan contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemWrite {
    /// Stores the item, replacing an earlier version.
    Put {
        /// Item that is stored.
        item: Item,
        /// Keyed digest of the body.
        digest: Vec<u8>,
    },
    /// Replaces the item by a tombstone.
    Tombstone {
        /// Item that is deleted.
        key: ItemKey,
        /// Time of the last change, by its device's clock.
        changed_at: Timestamp,
        /// Time of the deletion. A change must be later than this to revive it.
        at: Timestamp,
    },
    /// Gives the item a new stamp, so that it reaches the device whose change lost.
    Restamp {
        /// Item whose content stays unchanged.
        key: ItemKey,
        /// Digest of the rejected version.
        rejected_digest: Vec<u8>,
    },
}

/// Plan of a push.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PushPlan {
    /// Writes, in this order.
    pub writes: Vec<ItemWrite>,
    /// Conflicts for the device, without the stored versions, which the store adds.
    pub conflicts: Vec<Conflict>,
}

/// Rows named by a push that decide which of its items the device may write.
#[derive(Debug, Default)]
pub struct WriteRestrictions {
    /// Managed personas that it names.
    pub managed_personas: HashSet<Uuid>,
    /// Plugins that exist; preferences for any other are ignored.
    pub known_plugins: HashSet<Uuid>,
}

/// Planner of a push, change by change.
pub struct PushPlanner<'a> {
    /// Stored states of all items that the push names.
    pub stored: &'a HashMap<ItemKey, StoredItem>,
    /// Stamp up to which the device had seen everything.
    pub seen_up_to: Option<Timestamp>,
    /// Device, if it named itself.
    pub device: Option<&'a str>,
    /// Time of the deletions as reported by the device, but not later than now.
    pub deleted_at: Timestamp,
    /// Winner of conflicts.
    pub strategy: ConflictStrategy,
    /// Rows that restrict what the device may write.
    pub restrictions: &'a WriteRestrictions,
    /// True if the account was reset and is no longer encrypted. A device that has
    /// not noticed still encrypts with the lost key, so its encrypted items are
    /// refused.
    pub encryption_was_reset: bool,
}

enum ItemDecision {
    Put,
    /// The change is dropped without a conflict: the version is already stored, or
    /// may not be replaced.
    Ignore,
    /// The stored version wins.
    Keep,
}

impl PushPlanner<'_> {
    /// Plans these items, each with its digest, and the deletions. If a push both
    /// changes and deletes an item, the deletion wins.
    pub fn plan(&self, items: Vec<(Item, Vec<u8>)>, deletes: Vec<ItemKey>) -> PushPlan {
        let mut plan = PushPlan::default();
        let mut put_items: HashMap<ItemKey, StoredItem> = HashMap::new();
        let (items, refused) = self.writable(items);
        for (item, digest) in last_of_each(items) {
            match self.decide(&item, &digest, self.stored.get(&item.key)) {
                ItemDecision::Ignore => {}
                ItemDecision::Keep => self.plan_rejection(&mut plan, &item, digest),
                ItemDecision::Put => {
                    put_items.insert(item.key, stored_after(&item, &digest));
                    self.plan_put(&mut plan, item, digest);
                }
            }
        }

        for key in deletes {
            let Some(stored_item) = put_items.get(&key).or_else(|| self.stored.get(&key)) else {
                continue;
            };
            if stored_item.deleted_at.is_some() {
                continue;
            }

            let changed_at = stored_item.changed_at;
            // At least the time of the deleted change, which must not revive the item.
            let at = stored_item.changed_at.max(self.deleted_at);
            // One write per key: an item put by the same push is not written.
            plan.writes.retain(|it| it.key() != key);
            put_items.insert(key, StoredItem { deleted_at: Some(at), ..stored_item.clone() });
            plan.writes.push(ItemWrite::Tombstone { key, changed_at, at });
        }

        plan.conflicts.extend(refused);

        plan
    }

    /// Reports that the stored version won. It gets a new stamp once, since some
    /// devices repeat a rejected change in each cycle.
    fn plan_rejection(&self, plan: &mut PushPlan, item: &Item, digest: Vec<u8>) {
        let key = item.key;
        plan.conflicts.push(Conflict::resolved(key, Resolution::ServerWins));

        let rejected_digest = digest_of_rejected(item, digest);
        let last_rejected = self.stored.get(&key).and_then(|it| it.last_rejected_digest.as_ref());
        if last_rejected != Some(&rejected_digest) {
            plan.writes.push(ItemWrite::Restamp { key, rejected_digest });
        }
    }

    /// Writes the item, and reports it if it replaces a version that the device has
    /// not seen. Encrypting the stored version, at its time, is no conflict.
    fn plan_put(&self, plan: &mut PushPlan, item: Item, digest: Vec<u8>) {
        let overwrites_unseen = self
            .stored
            .get(&item.key)
            .is_some_and(|it| self.is_unseen(it) && item.changed_at > it.changed_at);
        if overwrites_unseen {
            plan.conflicts.push(Conflict::resolved(item.key, Resolution::ClientWins));
        }
        plan.writes.push(ItemWrite::Put { item, digest });
    }

    /// Returns the items that the device may write, and refusals of others.
    fn writable(&self, items: Vec<(Item, Vec<u8>)>) -> (Vec<(Item, Vec<u8>)>, Vec<Conflict>) {
        let mut writable = Vec::with_capacity(items.len());
        let mut refused = Vec::new();
        for (item, digest) in items {
            let id = item.key.id;
            let rejection = match item.key.channel.rules().read_only {
                _ if item.encrypted && self.encryption_was_reset => {
                    Some(ItemRejection::AccountPlain)
                }
                ReadOnly::ManagedPersonas if self.restrictions.managed_personas.contains(&id) => {
                    Some(ItemRejection::Managed)
                }
                ReadOnly::UnknownPlugins if !self.restrictions.known_plugins.contains(&id) => {
                    continue;
                }
                _ => None,
            };

            match rejection {
                Some(rejection) => refused.push(Conflict::refused(item.key, rejection)),
                None => writable.push((item, digest)),
            }
        }

        (writable, refused)
    }

    /// Chooses between an item and the stored one. The order of the checks matters:
    /// tombstones first, then repetitions, then encryption, and times last.
    fn decide(&self, item: &Item, digest: &[u8], stored_item: Option<&StoredItem>) -> ItemDecision {
        let Some(stored_item) = stored_item else { return ItemDecision::Put };
        if let Some(deleted_at) = stored_item.deleted_at {
            return if item.changed_at > deleted_at {
                ItemDecision::Put
            } else {
                ItemDecision::Keep
            };
        }
        if stored_item.encrypted == item.encrypted && stored_item.digest == digest {
            return ItemDecision::Ignore;
        }

        // The encrypted copy of a plain version replaces it.
        let encrypts = item.encrypted && !stored_item.encrypted;
        if item.key.channel.rules().merge == Merge::AppendOnly {
            return if encrypts { ItemDecision::Put } else { ItemDecision::Ignore };
        }
        if encrypts && item.changed_at == stored_item.changed_at {
            return ItemDecision::Put;
        }
        // Ciphertexts of the same version always differ, so equal times identify it.
        if item.encrypted && item.changed_at == stored_item.changed_at {
            return ItemDecision::Ignore;
        }

        let overruled =
            self.strategy == ConflictStrategy::ServerWins && self.is_unseen(stored_item);
        if overruled || item.changed_at <= stored_item.changed_at {
            ItemDecision::Keep
        } else {
            ItemDecision::Put
        }
    }

    /// Returns whether the device made its change without having seen the
    /// stored version. It has seen what it wrote itself, even if it missed the
    /// response.
    fn is_unseen(&self, stored_item: &StoredItem) -> bool {
        let is_own = self.device.is_some() && stored_item.device.as_deref() == self.device;
        !is_own && self.seen_up_to.is_some_and(|seen| stored_item.stamp > seen)
    }
}

impl StoredItem {
    /// Returns the tombstone of a deleted item; `None` if it is live.
    pub fn tombstone(&self, key: ItemKey) -> Option<String> {
        let deleted_at = self.deleted_at?;
        Some(format!("{{\"id\":\"{}\",\"deletedAt\":\"{deleted_at}\"}}", key.id))
    }
}

impl ItemWrite {
    /// Returns the item that is written.
    pub fn key(&self) -> ItemKey {
        match self {
            Self::Put { item, .. } => item.key,
            Self::Tombstone { key, .. } | Self::Restamp { key, .. } => *key,
        }
    }
}

impl PushPlan {
    /// Returns the number of live items that the plan adds to a channel.
    pub fn growth(&self, channel: Channel, stored: &HashMap<ItemKey, StoredItem>) -> i64 {
        let is_live = |key: &ItemKey| stored.get(key).is_some_and(|it| it.deleted_at.is_none());
        self.writes
            .iter()
            .filter(|it| it.key().channel == channel)
            .map(|write| match write {
                ItemWrite::Put { item, .. } => i64::from(!is_live(&item.key)),
                ItemWrite::Tombstone { key, .. } => -i64::from(is_live(key)),
                ItemWrite::Restamp { .. } => 0,
            })
            .sum()
    }

    /// Returns the number of bytes that the plan adds to the storage.
    pub fn byte_growth(&self, stored: &HashMap<ItemKey, StoredItem>) -> i64 {
        let size = |key: &ItemKey| stored.get(key).map_or(0, |it| i64::from(it.size));
        self.writes
            .iter()
            .map(|write| match write {
                ItemWrite::Put { item, .. } => i64::from(item.size()) - size(&item.key),
                ItemWrite::Tombstone { key, .. } => -size(key),
                ItemWrite::Restamp { .. } => 0,
            })
            .sum()
    }
}

/// Returns the state of an item that this push puts, for a deletion in the same push.
/// Its stamp and its device are placeholders, which the planning of deletions ignores.
fn stored_after(item: &Item, digest: &[u8]) -> StoredItem {
    StoredItem {
        stamp: item.changed_at,
        changed_at: item.changed_at,
        deleted_at: None,
        encrypted: item.encrypted,
        digest: digest.to_vec(),
        device: None,
        last_rejected_digest: None,
        size: item.size(),
    }
}

/// Returns the digest of a rejected version. Ciphertexts of one item always differ, so its time
/// is used there.
fn digest_of_rejected(item: &Item, digest: Vec<u8>) -> Vec<u8> {
    if item.encrypted { item.changed_at.micros().to_be_bytes().to_vec() } else { digest }
}

/// Returns the change of each key with the latest time, of equal times the one sent last.
/// Keys stay in the order in which they were first sent.
fn last_of_each(items: Vec<(Item, Vec<u8>)>) -> Vec<(Item, Vec<u8>)> {
    let mut indices: HashMap<ItemKey, usize> = HashMap::new();
    let mut last: Vec<(Item, Vec<u8>)> = Vec::with_capacity(items.len());
    for (item, digest) in items {
        let index = indices.get(&item.key).copied();
        match index.and_then(|it| last.get_mut(it)) {
            Some(earlier) if item.changed_at >= earlier.0.changed_at => *earlier = (item, digest),
            Some(_) => {}
            None => {
                indices.insert(item.key, last.len());
                last.push((item, digest));
            }
        }
    }

    last
}

#[cfg(test)]
mod tests;
