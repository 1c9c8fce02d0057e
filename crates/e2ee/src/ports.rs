//! Store of devices and keys.

use async_trait::async_trait;
use pia_kernel::{Timestamp, Unavailable, UserId};

use crate::account_keys::AccountKeys;
use crate::change::Change;
use crate::device::{Device, DeviceId};
use crate::recovery_copy::RecoveryCopy;

/// Decides what is done to a person's devices and keys, by how they stand. It
/// may be asked more than once; what it says last counts.
pub type DecideChange<'a> = &'a mut (dyn FnMut(&AccountKeys) -> Change + Send);

/// Public state of an account's keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyState {
    /// True if the account is end-to-end encrypted.
    pub encrypted: bool,
    /// Version of the account's key in use; 0 before the first.
    pub umk_version: i32,
    /// True if there is a recovery copy.
    pub recovery: bool,
    /// True if the recovery copy is guarded by a proof key.
    pub proof_key: bool,
}

/// Store of devices and keys.
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// Asks `judge` what to do and does it, with its effects, atomically.
    /// Answers whether there is such an account; nobody is asked where not.
    ///
    /// However many changes a person makes at once, each is judged by what the
    /// one before left. One that does nothing leaves no trace.
    async fn change(
        &self,
        user: UserId,
        at: Timestamp,
        judge: DecideChange<'_>,
    ) -> Result<bool, Unavailable>;

    /// All devices of a person, in the order in which they first registered.
    async fn devices(&self, user: UserId) -> Result<Vec<Device>, Unavailable>;

    /// A device of this person.
    async fn device(&self, user: UserId, id: &DeviceId) -> Result<Option<Device>, Unavailable>;

    /// Returns the public state of an account's keys.
    async fn state(&self, user: UserId) -> Result<KeyState, Unavailable>;

    /// A person's copy for recovery.
    async fn recovery(&self, user: UserId) -> Result<Option<RecoveryCopy>, Unavailable>;
}
