//! Plan of a push against the stored items: pure, so that every rule can be
//! tested without a database.

use std::collections::HashMap;

use pia_kernel::Timestamp;

use crate::channel::{Channel, Merge};
use crate::conflict::{Conflict, Resolution};
use crate::item::{Item, Key};

/// State of an item that is stored, or was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredItem {
    /// Its place among all of the person's changes.
    pub stamp: Timestamp,
    /// Time at which it was changed, by its device's clock.
    pub changed_at: Timestamp,
    /// Since when it is deleted.
    pub deleted_at: Option<Timestamp>,
    /// True if it is end-to-end encrypted.
    pub encrypted: bool,
    /// By which its body is known again.
    pub digest: Vec<u8>,
    /// Device that wrote it, if it named itself.
    pub device: Option<String>,
    /// By which what lost against it last is known again.
    pub beaten: Option<Vec<u8>>,
    /// Size of its body, in bytes; 0 once it is deleted.
    pub size: u32,
}

/// Winner where a device changed what it had not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// The later change, by the clocks of those who made them.
    #[default]
    LastWriteWins,
    /// The stored version.
    ServerWins,
}

/// Planned write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// This item, in the place of what was there.
    Put {
        /// The item.
        item: Item,
        /// By which its body is known again.
        digest: Vec<u8>,
    },
    /// Nothing but that it was deleted.
    Bury {
        /// Item that is deleted.
        key: Key,
        /// Time at which it was changed last.
        changed_at: Timestamp,
        /// A change must be later than this to bring it back.
        at: Timestamp,
    },
    /// Nothing but a new place, so that it reaches the device that lost.
    Restamp {
        /// Item that stays.
        key: Key,
        /// By which what lost is known again.
        loser: Vec<u8>,
    },
}

/// All that becomes of a push.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Writes, in this order.
    pub writes: Vec<Write>,
    /// Conflicts for the device.
    pub conflicts: Vec<Conflict>,
}

/// Planner of a push, change by change.
pub struct Planner<'a> {
    /// Stored states of all that the push names.
    pub kept: &'a HashMap<Key, StoredItem>,
    /// Up to which stamp the device had seen everything.
    pub seen: Option<Timestamp>,
    /// Device, if it named itself.
    pub device: Option<&'a str>,
    /// Time at which the device says that it deleted things, and not later than
    /// now.
    pub deleted_at: Timestamp,
    /// Winner of conflicts.
    pub strategy: Strategy,
}

enum Verdict {
    Put,
    /// It is there already.
    Same,
    /// The stored version wins.
    Keep,
}

impl Planner<'_> {
    /// The plan for these items, whose digests come with them, and for what is
    /// to be deleted. A push that both changes and deletes something means
    /// the deletion.
    pub fn plan(&self, items: Vec<(Item, Vec<u8>)>, deletes: Vec<Key>) -> Plan {
        let mut plan = Plan::default();
        let mut now: HashMap<Key, StoredItem> = HashMap::new();
        for (item, digest) in last_of_each(items) {
            let kept = self.kept.get(&item.key);
            match self.weigh(&item, &digest, kept) {
                Verdict::Same => {}
                Verdict::Keep => {
                    plan.conflicts.push(Conflict::resolved(item.key, Resolution::ServerWins));
                    // Once is enough: some devices say the same in each cycle.
                    let (key, loser) = (item.key, mark(&item, digest));
                    if kept.is_none_or(|it| it.beaten.as_ref() != Some(&loser)) {
                        plan.writes.push(Write::Restamp { key, loser });
                    }
                }
                Verdict::Put => {
                    // The encrypted copy of what was there overwrites nothing.
                    let overwrites = |it: &StoredItem| item.changed_at > it.changed_at;
                    if kept.is_some_and(|it| self.is_unseen(it) && overwrites(it)) {
                        plan.conflicts.push(Conflict::resolved(item.key, Resolution::ClientWins));
                    }
                    now.insert(item.key, after(&item, &digest));
                    plan.writes.push(Write::Put { item, digest });
                }
            }
        }
        for key in deletes {
            let Some(kept) = now.get(&key).or_else(|| self.kept.get(&key)) else { continue };
            if kept.deleted_at.is_some() {
                continue;
            }
            let (changed_at, at) = (kept.changed_at, kept.changed_at.max(self.deleted_at));
            // One write a key: what was put by the same push goes unwritten.
            plan.writes.retain(|it| it.key() != key);
            now.insert(key, StoredItem { deleted_at: Some(at), ..kept.clone() });
            plan.writes.push(Write::Bury { key, changed_at, at });
        }
        plan
    }

    fn weigh(&self, item: &Item, digest: &[u8], kept: Option<&StoredItem>) -> Verdict {
        let Some(kept) = kept else { return Verdict::Put };
        if let Some(deleted_at) = kept.deleted_at {
            return if item.changed_at > deleted_at { Verdict::Put } else { Verdict::Keep };
        }
        if kept.encrypted == item.encrypted && kept.digest == digest {
            return Verdict::Same;
        }
        // The encrypted copy of what was plain replaces it.
        let encrypts = item.encrypted && !kept.encrypted;
        if item.key.channel.rules().merge == Merge::AppendOnly {
            return if encrypts { Verdict::Put } else { Verdict::Same };
        }
        if encrypts && item.changed_at == kept.changed_at {
            return Verdict::Put;
        }
        // Ciphertexts of one thing always differ, so equal times must do.
        if item.encrypted && item.changed_at == kept.changed_at {
            return Verdict::Same;
        }
        let overruled = self.strategy == Strategy::ServerWins && self.is_unseen(kept);
        if overruled || item.changed_at <= kept.changed_at { Verdict::Keep } else { Verdict::Put }
    }

    /// Returns whether the device changed something without having seen this.
    /// What it wrote itself it has, whichever answer it missed.
    fn is_unseen(&self, kept: &StoredItem) -> bool {
        let own = self.device.is_some() && kept.device.as_deref() == self.device;
        !own && self.seen.is_some_and(|seen| kept.stamp > seen)
    }
}

impl StoredItem {
    /// Returns the tombstone of a deleted item; nothing if it lives.
    pub fn tombstone(&self, key: Key) -> Option<String> {
        let deleted_at = self.deleted_at?;
        Some(format!("{{\"id\":\"{}\",\"deletedAt\":\"{deleted_at}\"}}", key.id))
    }
}

impl Write {
    /// Returns the item that is written.
    pub fn key(&self) -> Key {
        match self {
            Self::Put { item, .. } => item.key,
            Self::Bury { key, .. } | Self::Restamp { key, .. } => *key,
        }
    }
}

impl Plan {
    /// By how many the living items of a channel become more.
    pub fn growth(&self, channel: Channel, kept: &HashMap<Key, StoredItem>) -> i64 {
        let lives = |key: &Key| kept.get(key).is_some_and(|it| it.deleted_at.is_none());
        let of_channel = self.writes.iter().filter(|it| it.key().channel == channel);
        of_channel
            .map(|write| match write {
                Write::Put { item, .. } => i64::from(!lives(&item.key)),
                Write::Bury { key, .. } => -i64::from(lives(key)),
                Write::Restamp { .. } => 0,
            })
            .sum()
    }

    /// By how many bytes all that is stored becomes more.
    pub fn byte_growth(&self, kept: &HashMap<Key, StoredItem>) -> i64 {
        let size = |key: &Key| kept.get(key).map_or(0, |it| i64::from(it.size));
        let growth = self.writes.iter().map(|write| match write {
            Write::Put { item, .. } => i64::from(item.size()) - size(&item.key),
            Write::Bury { key, .. } => -size(key),
            Write::Restamp { .. } => 0,
        });
        growth.sum()
    }
}

fn after(item: &Item, digest: &[u8]) -> StoredItem {
    StoredItem {
        stamp: item.changed_at,
        changed_at: item.changed_at,
        deleted_at: None,
        encrypted: item.encrypted,
        digest: digest.to_vec(),
        device: None,
        beaten: None,
        size: item.size(),
    }
}

/// By which a version that lost is known again. Ciphertexts of one thing always
/// differ, so there its time must do.
fn mark(item: &Item, digest: Vec<u8>) -> Vec<u8> {
    if item.encrypted { item.changed_at.micros().to_be_bytes().to_vec() } else { digest }
}

/// Of items with one key only the one that was changed last, in the order in
/// which they were sent.
fn last_of_each(items: Vec<(Item, Vec<u8>)>) -> Vec<(Item, Vec<u8>)> {
    let mut places: HashMap<Key, usize> = HashMap::new();
    let mut last: Vec<(Item, Vec<u8>)> = Vec::with_capacity(items.len());
    for (item, digest) in items {
        let place = places.get(&item.key).copied();
        match place.and_then(|it| last.get_mut(it)) {
            Some(other) if item.changed_at >= other.0.changed_at => *other = (item, digest),
            Some(_) => {}
            None => {
                places.insert(item.key, last.len());
                last.push((item, digest));
            }
        }
    }
    last
}

#[cfg(test)]
mod tests;
