//! Ports of this domain.

use std::fmt;

use async_trait::async_trait;
use pia_kernel::{Unavailable, UserId};

use crate::master_keys::KeyId;

/// Store for the master key's id, beside the data that the key seals.
#[async_trait]
pub trait KeyRegister: Send + Sync {
    /// Stores `ours` if no id is stored yet, and returns the stored one.
    ///
    /// If several instances start at once on an empty database, exactly one id
    /// is stored, and all of them get the same answer.
    async fn install(&self, ours: &KeyId) -> Result<InstalledKey, Unavailable>;

    /// Replaces `other` with `ours`, if `other` is still stored.
    async fn replace(
        &self,
        other: &KeyId,
        ours: &KeyId,
    ) -> Result<KeyReplacementOutcome, Unavailable>;
}

/// Master key under which the stored data is sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstalledKey {
    /// Sealed under the caller's key, perhaps from now on.
    Ours,
    /// Sealed under another key.
    Other(KeyId),
}

/// Outcome of replacing a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyReplacementOutcome {
    /// The caller's key is stored now; perhaps another instance stored it first.
    Done,
    /// Store is unchanged: it no longer has the key to be replaced.
    Conflict,
}

/// Store for users' salts, each of which lasts as long as its account.
#[async_trait]
pub trait SaltStore: Send + Sync {
    /// Returns a user's salt, which becomes `fresh` if they had none.
    ///
    /// Concurrent callers on any number of instances get the same salt. A user
    /// without an account gets none.
    async fn salt(&self, user: UserId, fresh: Salt) -> Result<Option<Salt>, Unavailable>;

    /// Returns a user's salt, if they have one.
    async fn find(&self, user: UserId) -> Result<Option<Salt>, Unavailable>;
}

/// Salt that makes a user's key unique: random, and deleted with the user.
#[derive(Clone, PartialEq, Eq)]
pub struct Salt(pub [u8; 32]);

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
