//! What a device is told of its push beside that it was taken.

use crate::item::{Key, Refusal};

/// Who won.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// What is kept; what the device sent is not.
    ServerWins,
    /// What the device sent, in the place of something that it had not seen.
    ClientWins,
}

impl Resolution {
    /// As it is told.
    pub fn name(self) -> &'static str {
        match self {
            Self::ServerWins => "server_wins",
            Self::ClientWins => "client_wins",
        }
    }
}

/// One thing that did not go as the device may have thought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// What it is about.
    pub key: Key,
    /// Who won.
    pub resolution: Resolution,
    /// Why it was refused for itself, if it was.
    pub refusal: Option<Refusal>,
    /// What was kept of it before the push, as devices get it.
    pub server_version: Option<String>,
}

impl Conflict {
    /// Two devices changed one thing.
    pub fn resolved(key: Key, resolution: Resolution) -> Self {
        Self { key, resolution, refusal: None, server_version: None }
    }

    /// An item is not kept for what it is.
    pub fn refused(key: Key, refusal: Refusal) -> Self {
        let resolution = Resolution::ServerWins;
        Self { key, resolution, refusal: Some(refusal), server_version: None }
    }
}
