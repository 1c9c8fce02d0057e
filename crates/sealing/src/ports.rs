//! Ports of this domain.

use std::fmt;

use async_trait::async_trait;
use pia_kernel::{Unavailable, UserId};

use crate::master_keys::KeyId;

/// Under which master key the stored data is sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstalledKey {
    /// Under the one that was asked about, perhaps from now on.
    Ours,
    /// Under another one.
    Other(KeyId),
}

/// Store for the master key's id, beside the data that the key seals.
#[async_trait]
pub trait KeyRegister: Send + Sync {
    /// Puts `ours` down where nothing is; answers what stands there then.
    ///
    /// However many instances begin at once on an empty database, one name is
    /// stored, and all of them get that one.
    async fn install(&self, ours: &KeyId) -> Result<InstalledKey, Unavailable>;

    /// Puts `ours` in the place of `other`, if that still stands there.
    /// Answers whether `ours` stands there now.
    async fn replace(&self, other: &KeyId, ours: &KeyId) -> Result<bool, Unavailable>;
}

/// Salt that makes a user's key unique: random, and deleted with the user.
#[derive(Clone, PartialEq, Eq)]
pub struct Salt(pub [u8; 32]);

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Store for users' salts, each of which lasts as long as its account.
#[async_trait]
pub trait SaltStore: Send + Sync {
    /// The salt of a person, which is `fresh` from now on if they had none.
    ///
    /// However many ask at once, on any number of instances, all get the
    /// same. Who has no account is given none.
    async fn salt(&self, person: UserId, fresh: Salt) -> Result<Option<Salt>, Unavailable>;

    /// The salt of a person, if they have one.
    async fn find(&self, person: UserId) -> Result<Option<Salt>, Unavailable>;
}
