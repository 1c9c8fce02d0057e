//! Conflicts that are reported to a device whose push succeeded.

use crate::item::{ItemKey, ItemRejection};

/// Winner of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// The stored version; the device's change is dropped.
    ServerWins,
    /// The device's change, which replaced a version that it had not seen.
    ClientWins,
}

impl Resolution {
    /// Returns the name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::ServerWins => "server_wins",
            Self::ClientWins => "client_wins",
        }
    }
}

/// Conflict between a device's change and the stored item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Item of the conflict.
    pub key: ItemKey,
    /// Winner of the conflict.
    pub resolution: Resolution,
    /// Reason for the rejection; `None` if two devices' changes conflict.
    pub refusal: Option<ItemRejection>,
    /// Stored version before the push, as devices get it: the item, or its tombstone.
    /// `None` for refusals, and until `SqlSyncStore` adds it.
    pub server_version: Option<String>,
}

impl Conflict {
    /// Creates a conflict between two devices' changes.
    pub fn resolved(key: ItemKey, resolution: Resolution) -> Self {
        Self { key, resolution, refusal: None, server_version: None }
    }

    /// Creates the rejection of an item.
    pub fn refused(key: ItemKey, refusal: ItemRejection) -> Self {
        let resolution = Resolution::ServerWins;
        Self { key, resolution, refusal: Some(refusal), server_version: None }
    }
}
