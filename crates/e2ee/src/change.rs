//! Change of an account's devices and keys, and the function that carries every
//! use case out: `decide` passes a pure decision to the store, and its result to
//! the caller. A refused decision is an empty change, which the store rolls back.

use pia_kernel::{QueuedEmail, SideEffects, Timestamp, Unavailable, UserId};

use crate::account_keys::AccountKeys;
use crate::device::{Device, DeviceRow};
use crate::ports::KeyStore;
use crate::proof_key::ProofKey;
use crate::recovery_copy::RecoveryCopy;

/// Change of an account's devices and keys, applied as a whole or not at all.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// Devices in their new state, identified by `row`; a device that did not exist is
    /// created.
    pub devices: Vec<Device>,
    /// Devices that are deleted.
    pub deleted: Vec<DeviceRow>,
    /// New recovery copy; the proof key of the last one stays in place.
    pub recovery: Option<RecoveryCopy>,
    /// New proof key of the recovery copy.
    pub proof_key: Option<ProofKey>,
    /// New version of the account's key. The first version makes the account
    /// end-to-end encrypted.
    pub umk_version: Option<i32>,
    /// Side effects of the change.
    pub effects: SideEffects,
}

impl Change {
    /// Returns whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        let Self { devices, deleted, recovery, proof_key, umk_version, effects } = self;
        let devices_unchanged = devices.is_empty() && deleted.is_empty();
        let keys_unchanged = recovery.is_none() && proof_key.is_none() && umk_version.is_none();
        devices_unchanged && keys_unchanged && *effects == SideEffects::default()
    }

    pub(crate) fn device(device: Device) -> Self {
        Self { devices: vec![device], ..Self::default() }
    }

    pub(crate) fn with(mut self, effects: SideEffects) -> Self {
        self.effects = self.effects.and(effects);
        self
    }
}

/// Returns the audit entry of a change of a device.
pub(crate) fn audit_effects(
    at: Timestamp,
    user: UserId,
    device: &Device,
    action: &'static str,
) -> SideEffects {
    let object = format!("device:{}", device.row.0.as_hyphenated());
    SideEffects::of_object(at, Some(user), object, action)
}

/// Adds the device's name to the fields of an email.
pub(crate) fn with_device_name(email: QueuedEmail, device: &Device) -> QueuedEmail {
    email.with("name", &*device.name)
}

/// Decides on a change of a user's devices and keys and applies it, in one
/// transaction. `decide_change` may be called again if the transaction is repeated.
/// Returns `None` if there is no such account.
pub(crate) async fn decide<T, E>(
    store: &dyn KeyStore,
    user: UserId,
    at: Timestamp,
    decide_change: impl Fn(&AccountKeys) -> Result<(Change, T), E> + Send + Sync,
) -> Result<Option<T>, E>
where
    T: Send,
    E: From<Unavailable> + Send,
{
    let mut outcome = None;
    let mut decide_once = |account: &AccountKeys| match decide_change(account) {
        Ok((change, done)) => {
            outcome = Some(Ok(done));
            change
        }
        Err(refused) => {
            outcome = Some(Err(refused));
            Change::default()
        }
    };

    store.change(user, at, &mut decide_once).await?;
    outcome.transpose()
}
