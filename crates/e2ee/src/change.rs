//! Change of an account's devices and keys.

use pia_kernel::{QueuedEmail, SideEffects, Timestamp, Unavailable, UserId};

use crate::account_keys::AccountKeys;
use crate::device::{Device, DeviceRow};
use crate::ports::KeyStore;
use crate::proof_key::ProofKey;
use crate::recovery_copy::RecoveryCopy;

/// Change of an account's devices and keys, applied as a whole or not at all.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// Devices as they are from now on; whichever was not there is new.
    pub devices: Vec<Device>,
    /// Devices that nothing is stored of any more.
    pub deleted: Vec<DeviceRow>,
    /// The copy for recovery from now on; what guarded the last one stays.
    pub recovery: Option<RecoveryCopy>,
    /// Proof key that guards it from now on.
    pub proof_key: Option<ProofKey>,
    /// Version of the account's key from now on. With the first the account is
    /// end-to-end encrypted.
    pub umk_version: Option<i32>,
    /// Side effects of the change.
    pub effects: SideEffects,
}

impl Change {
    /// Returns whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        let Self { devices, deleted: forgotten, recovery, proof_key, umk_version, effects } = self;
        let stored = devices.is_empty() && forgotten.is_empty();
        let keys = recovery.is_none() && proof_key.is_none() && umk_version.is_none();
        stored && keys && *effects == SideEffects::default()
    }

    pub(crate) fn device(device: Device) -> Self {
        Self { devices: vec![device], ..Self::default() }
    }

    pub(crate) fn with(mut self, effects: SideEffects) -> Self {
        self.effects = self.effects.and(effects);
        self
    }
}

/// Audit entry of a change of a device.
pub(crate) fn audit_effects(
    at: Timestamp,
    user: UserId,
    device: &Device,
    action: &'static str,
) -> SideEffects {
    let object = format!("device:{}", device.row.0.as_hyphenated());
    SideEffects::of_object(at, Some(user), object, action)
}

/// A letter's fields: what its reader knows the device by.
pub(crate) fn with_device_name(letter: QueuedEmail, device: &Device) -> QueuedEmail {
    letter.with("name", &*device.name)
}

/// Judges how a person's devices and keys stand, and does what is judged, in
/// one step. Nothing if there is no such account.
pub(crate) async fn decide<T, E>(
    store: &dyn KeyStore,
    (user, at): (UserId, Timestamp),
    judge: impl Fn(&AccountKeys) -> Result<(Change, T), E> + Send + Sync,
) -> Result<Option<T>, E>
where
    T: Send,
    E: From<Unavailable> + Send,
{
    let mut outcome = None;
    let mut reported = |held: &AccountKeys| match judge(held) {
        Ok((change, done)) => {
            outcome = Some(Ok(done));
            change
        }
        Err(refused) => {
            outcome = Some(Err(refused));
            Change::default()
        }
    };
    store.change(user, at, &mut reported).await?;
    outcome.transpose()
}
