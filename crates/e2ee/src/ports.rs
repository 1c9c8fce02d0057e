//! Store of devices and keys, implemented by `storage-e2ee`: `keys.rs` changes and
//! reads one account, `device_reader.rs` lists the devices of all accounts.

use async_trait::async_trait;
use pia_kernel::{PageRequest, SortCursor, Timestamp, Unavailable, UserId};

use crate::account_keys::AccountKeys;
use crate::change::Change;
use crate::device::{Device, DeviceId};
use crate::directory::{DeviceEntry, DeviceFilter};
use crate::recovery_copy::RecoveryCopy;

/// Store of devices and keys.
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// Applies the change that `decide_change` decides on, with its effects,
    /// atomically. Returns whether the account exists; if not, `decide_change`
    /// is not called.
    ///
    /// Concurrent changes of one user are serialised: each is decided on the
    /// state that the last one left. An empty change leaves no trace.
    async fn change(
        &self,
        user: UserId,
        at: Timestamp,
        decide_change: DecideChange<'_>,
    ) -> Result<bool, Unavailable>;

    /// Returns all devices of a user, in the order of their first registration.
    async fn devices(&self, user: UserId) -> Result<Vec<Device>, Unavailable>;

    /// Returns a device of this user, revoked or not; `None` if there is none with this id.
    async fn device(&self, user: UserId, id: &DeviceId) -> Result<Option<Device>, Unavailable>;

    /// Returns the public state of an account's keys.
    async fn state(&self, user: UserId) -> Result<KeyState, Unavailable>;

    /// Returns a user's recovery copy; `None` if recovery is not set up.
    async fn recovery(&self, user: UserId) -> Result<Option<RecoveryCopy>, Unavailable>;
}

/// Decides on a change of a user's devices and keys, from their current state.
/// It may be called more than once; the last result counts.
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

/// Reader of the devices of all accounts, without their keys.
#[async_trait]
pub trait DeviceReader: Send + Sync {
    /// Loads up to `page.limit` of the selected devices, in their order.
    async fn page(
        &self,
        filter: &DeviceFilter,
        now: Timestamp,
        page: PageRequest<SortCursor>,
    ) -> Result<Vec<DeviceEntry>, Unavailable>;
}
