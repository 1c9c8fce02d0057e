//! State of an account's devices and keys.

use pia_kernel::Timestamp;

use crate::device::{Device, DeviceId};
use crate::proof_key::ProofKey;

/// State of an account's devices and keys, in the transaction that may change
/// them.
#[derive(Debug, Clone, Default)]
pub struct AccountKeys {
    /// All devices of the account, including the revoked ones, in no order.
    pub devices: Vec<Device>,
    /// True if the account is end-to-end encrypted. Once set, it stays set.
    pub encrypted: bool,
    /// True if all the user's data was ever reset, which requires reauthentication for the
    /// next first key.
    pub was_reset: bool,
    /// Version of the account's key in use; 0 before the first.
    pub umk_version: i32,
    /// Proof key that guards the recovery copy; `None` if there is no such copy.
    pub recovery: Option<RecoveryProofKey>,
}

/// State of the proof key that guards a recovery copy.
#[derive(Debug, Clone)]
pub enum RecoveryProofKey {
    /// Recovery copy has no proof key.
    Missing,
    /// Proof key of the recovery copy.
    Stored(ProofKey),
    /// Proof key that can no longer be decrypted, because the server's master key
    /// was abandoned. No proof is accepted.
    Lost,
}

impl AccountKeys {
    /// Returns the device with this id.
    pub(crate) fn device(&self, id: &DeviceId) -> Option<&Device> {
        self.devices.iter().find(|it| it.id == *id)
    }

    /// Returns the device with this id, if it is active.
    pub(crate) fn active(&self, id: &DeviceId) -> Option<&Device> {
        self.device(id).filter(|it| it.is_active())
    }

    /// Returns whether any device other than this one has the user's key.
    pub(crate) fn others_active(&self, id: &DeviceId) -> bool {
        self.devices.iter().any(|it| it.is_active() && it.id != *id)
    }

    /// Returns whether every active device was activated at or after the given time.
    pub(crate) fn all_activated_since(&self, since: Timestamp) -> bool {
        self.devices.iter().filter_map(|it| it.activated_at).all(|it| it >= since)
    }

    pub(crate) fn any_active(&self) -> bool {
        self.devices.iter().any(Device::is_active)
    }
}
