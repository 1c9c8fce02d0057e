//! Key that a device wraps for itself: the account's first key, or a copy of it.
//! A device that is already active replaces its own copy, which changes nothing
//! for others; only the first key of an account activates a device here.

use pia_kernel::{QueuedEmail, ReauthenticationOutcome, SideEffects, Timestamp, Unavailable};

use crate::account_keys::AccountKeys;
use crate::change::{Change, audit_effects, with_device_name};
use crate::device::{Device, DeviceId, DeviceState, WrappedKey};
use crate::fields::{FieldValidator, SALT, WRAPPED};
use crate::use_cases::KeyOwner;
use crate::violation::Violation;

/// First version of an account's key.
const FIRST_UMK: i32 = 1;

/// Key that a device wrapped for itself, not validated yet.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "named as on the wire")]
pub struct KeyForm {
    pub device_id: Option<String>,
    pub ciphertext: Option<String>,
    pub hkdf_salt: Option<String>,
    pub wrap_version: Option<i64>,
}

/// Errors that prevent a device's own key from being stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreKeyError {
    /// The request is invalid.
    #[error("the wrapped key is invalid")]
    Invalid(Vec<Violation>),
    /// User has no such device.
    #[error("the person has no such device")]
    Unknown,
    /// Device is not active.
    #[error("the device is not active")]
    NotActive,
    /// Caller's session alone does not suffice here.
    #[error("a proof of the owner is required")]
    Unproven,
    /// Account no longer exists.
    #[error("no such account")]
    Gone,
    /// Dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Key that a device wrapped for itself.
#[derive(Debug, Clone)]
pub(crate) struct OwnKey {
    device: DeviceId,
    ciphertext: String,
    salt: String,
}

impl KeyForm {
    /// Validates the key of the device in the path.
    pub(crate) fn validate(self, device: &DeviceId) -> Result<OwnKey, StoreKeyError> {
        let mut fields = FieldValidator::default();
        let named_device = self.device_id.and_then(|id| fields.device_id("deviceId", Some(id)));
        if named_device.is_some_and(|it| it != *device) {
            let message = "`deviceId` must be the device in the path.";
            let violation = Violation::new("deviceId", "mismatch", message);
            return Err(StoreKeyError::Invalid(vec![violation]));
        }

        let ciphertext = fields.bytes("ciphertext", self.ciphertext, WRAPPED);
        let salt = fields.bytes("hkdfSalt", self.hkdf_salt, SALT);
        // Checked only: with one known version, there is nothing to store.
        let _known = fields.version("wrapVersion", self.wrap_version, &[1]);
        let build =
            || Some(OwnKey { device: device.clone(), ciphertext: ciphertext?, salt: salt? });

        fields.finish(build).map_err(StoreKeyError::Invalid)
    }
}

impl OwnKey {
    /// Replaces the device's key. The first device of an account that is not
    /// encrypted yet is activated with it, which encrypts the account. After a
    /// reset this requires reauthentication, since the first device then decides
    /// which devices follow.
    pub(crate) fn decide(
        &self,
        account: &AccountKeys,
        owner: KeyOwner,
        at: Timestamp,
    ) -> Result<(Change, ()), StoreKeyError> {
        let device = account.device(&self.device).ok_or(StoreKeyError::Unknown)?;
        let key =
            WrappedKey::self_wrapped(&device.id, self.ciphertext.clone(), self.salt.clone(), at);
        let email =
            with_device_name(QueuedEmail::new("device-approved"), device).to_user(at, owner.user);

        match &device.state {
            DeviceState::Active(_) => {
                let effects =
                    audit_effects(at, owner.user, device, "device.key_stored").and_mail(email);
                let updated_device =
                    Device { state: DeviceState::Active(key), ..device.with_last_seen(at) };
                Ok((Change::device(updated_device).with(effects), ()))
            }
            DeviceState::Pending(_) if !account.encrypted && !account.any_active() => {
                if account.was_reset && owner.reauthentication != ReauthenticationOutcome::Fresh {
                    return Err(StoreKeyError::Unproven);
                }
                let effects = audit_effects(at, owner.user, device, "device.activated")
                    .and_mail(email)
                    .and(SideEffects::audit(at, owner.user, "account.encrypted"));
                let change = Change {
                    umk_version: Some(FIRST_UMK),
                    ..Change::device(device.activated(key, at))
                };
                Ok((change.with(effects), ()))
            }
            DeviceState::Pending(_) | DeviceState::Revoked => Err(StoreKeyError::NotActive),
        }
    }
}
