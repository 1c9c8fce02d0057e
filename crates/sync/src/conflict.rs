//! Conflicts that a device is notified of besides the success of its push.

use crate::item::{ItemKey, ItemRejection};

/// Winner of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// The stored version; the device's change is dropped.
    ServerWins,
    /// The device's change, in the place of something that it had not seen.
    ClientWins,
}

impl Resolution {
    /// Name on the wire.
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
    /// Reason for the rejection, if the item was rejected on its own account.
    pub refusal: Option<ItemRejection>,
    /// Stored version before the push, as devices get it.
    pub server_version: Option<String>,
}

impl Conflict {
    /// Two devices changed one thing.
    pub fn resolved(key: ItemKey, resolution: Resolution) -> Self {
        Self { key, resolution, refusal: None, server_version: None }
    }

    /// An item is not stored for what it is.
    pub fn refused(key: ItemKey, refusal: ItemRejection) -> Self {
        let resolution = Resolution::ServerWins;
        Self { key, resolution, refusal: Some(refusal), server_version: None }
    }
}
