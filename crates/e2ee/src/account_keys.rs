//! State of an account's devices and keys.

use pia_kernel::Timestamp;

use crate::device::{Device, DeviceId};
use crate::proof_key::ProofKey;

/// State of an account's devices and keys, in the transaction that may change
/// them.
#[derive(Debug, Clone, Default)]
pub struct AccountKeys {
    /// All their devices, those that were turned away among them.
    pub devices: Vec<Device>,
    /// True if the account is end-to-end encrypted. Once set, it stays set.
    pub encrypted: bool,
    /// True if all the user's data was ever reset.
    pub was_reset: bool,
    /// Version of the account's key in use; 0 before the first.
    pub umk_version: i32,
    /// Proof that guards the recovery copy; nothing if there is no such copy.
    pub recovery: Option<RecoveryProofKey>,
}

/// Proof that guards a recovery copy.
#[derive(Debug, Clone)]
pub enum RecoveryProofKey {
    /// None.
    Missing,
    /// One by this key.
    Stored(ProofKey),
    /// One by a key that cannot be read any more: the server's master key was
    /// given up. Nothing proves anything by it.
    Lost,
}

impl AccountKeys {
    /// The device of this id.
    pub(crate) fn device(&self, id: &DeviceId) -> Option<&Device> {
        self.devices.iter().find(|it| it.id == *id)
    }

    /// The device of this id, if it has the person's key.
    pub(crate) fn active(&self, id: &DeviceId) -> Option<&Device> {
        self.device(id).filter(|it| it.is_active())
    }

    /// Returns whether any device other than this one has the user's key.
    pub(crate) fn others_active(&self, id: &DeviceId) -> bool {
        self.devices.iter().any(|it| it.is_active() && it.id != *id)
    }

    /// Reports whether every device that was let in was let in since then.
    pub(crate) fn all_activated_since(&self, then: Timestamp) -> bool {
        self.devices.iter().filter_map(|it| it.activated_at).all(|it| it >= then)
    }

    pub(crate) fn any_active(&self) -> bool {
        self.devices.iter().any(Device::is_active)
    }
}
