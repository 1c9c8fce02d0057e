//! What this domain asks of the outside world.

use async_trait::async_trait;
use pia_kernel::Unavailable;

use crate::master_keys::KeyId;

/// Under which master key the stored data is sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installed {
    /// Under the one that was asked about, perhaps from now on.
    Ours,
    /// Under another one.
    Other(KeyId),
}

/// Where the name of the master key is kept, beside the data it seals.
#[async_trait]
pub trait KeyRegister: Send + Sync {
    /// Puts `ours` down where nothing is; answers what stands there then.
    ///
    /// However many instances begin at once on an empty database, one name is
    /// put down, and all of them are told which.
    async fn install(&self, ours: &KeyId) -> Result<Installed, Unavailable>;

    /// Puts `ours` in the place of `other`, if that still stands there.
    /// Answers whether `ours` stands there now.
    async fn replace(&self, other: &KeyId, ours: &KeyId) -> Result<bool, Unavailable>;
}
