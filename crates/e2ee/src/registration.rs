//! Registration of devices that ask for approval: the first step of every device.
//!
//! A device registers as pending with an onboarding session of ten minutes. It
//! becomes active by `approval.rs` (another device), by `activation.rs` (the
//! recovery code), or, as the account's first device, by `own_key.rs`.
//! Registering again while pending renews the session, and sends no second email
//! if the keys are the same.

use pia_kernel::{QueuedEmail, SideEffects, Timestamp, Unavailable, UserId};
use uuid::Uuid;

use crate::account_keys::AccountKeys;
use crate::change::{Change, audit_effects, with_device_name};
use crate::device::{Device, DeviceId, DeviceRow, DeviceState, OnboardingSession};
use crate::fields::FieldValidator;
use crate::violation::Violation;

/// Maximum number of devices per user, not counting revoked ones.
pub(crate) const MAX_DEVICES: usize = 50;
/// Maximum length of a name in UTF-16 code units.
const MAX_NAME_CHARS: usize = 200;
/// Maximum length of a version in UTF-16 code units.
const MAX_VERSION_CHARS: usize = 200;

/// Self-description of a device that registers, not validated yet.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "named as on the wire")]
pub struct DeviceForm {
    pub device_id: Option<String>,
    pub device_name: Option<String>,
    pub agreement_public_key: Option<String>,
    pub signing_public_key: Option<String>,
    pub os_version: Option<String>,
    pub app_version: Option<String>,
}

/// Result of a registration.
#[derive(Debug, Clone)]
pub struct RegisteredDevice {
    /// Onboarding session of the device, valid for ten minutes.
    pub onboarding: String,
    /// Random bytes, which no client uses.
    pub challenge: String,
    /// True if the device is to create the account's key because no other
    /// device has one.
    pub is_first: bool,
}

/// Errors that prevent a device from being registered.
#[derive(Debug, thiserror::Error)]
pub enum RegisterDeviceError {
    /// The self-description is invalid.
    #[error("the device's registration is invalid")]
    Invalid(Vec<Violation>),
    /// Device is active with keys other than the registered ones.
    #[error("the device is active with other keys")]
    OtherKeys,
    /// Account has its maximum number of devices.
    #[error("the account has the maximum of {limit} devices")]
    Full {
        /// Maximum number of devices.
        limit: usize,
    },
    /// Account no longer exists.
    #[error("no such account")]
    Gone,
    /// Dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Valid registration of a device.
#[derive(Debug, Clone)]
pub(crate) struct Registration {
    id: DeviceId,
    name: String,
    agreement_key: String,
    signing_key: String,
    os_version: Option<String>,
    app_version: Option<String>,
}

impl DeviceForm {
    pub(crate) fn validate(self) -> Result<Registration, RegisterDeviceError> {
        let mut fields = FieldValidator::default();
        let id = fields.device_id("deviceId", self.device_id);
        let name = fields.line("deviceName", self.device_name, MAX_NAME_CHARS);
        let agreement_key = fields.public_key("agreementPublicKey", self.agreement_public_key);
        let signing_key = fields.public_key("signingPublicKey", self.signing_public_key);
        let os_version = fields.optional_line("osVersion", self.os_version, MAX_VERSION_CHARS);
        let app_version = fields.optional_line("appVersion", self.app_version, MAX_VERSION_CHARS);
        let build = move || {
            Some(Registration {
                id: id?,
                name: name?,
                agreement_key: agreement_key?,
                signing_key: signing_key?,
                os_version,
                app_version,
            })
        };

        fields.finish(build).map_err(RegisterDeviceError::Invalid)
    }
}

impl Registration {
    /// Registers the device as pending with `session`. An active device stays
    /// active; a revoked one may register again.
    ///
    /// The keys of an active device verify its approvals, and its wrapped key
    /// depends on them: a token alone does not suffice to replace them.
    pub(crate) fn decide(
        &self,
        account: &AccountKeys,
        session: &OnboardingSession,
        user: UserId,
        at: Timestamp,
    ) -> Result<(Change, IsFirst), RegisterDeviceError> {
        let is_first = IsFirst(!account.encrypted && !account.others_active(&self.id));
        let known_device = account.device(&self.id);
        if let Some(active) = known_device.filter(|it| it.is_active()) {
            if !self.has_keys_of(active) {
                return Err(RegisterDeviceError::OtherKeys);
            }
            return Ok((Change::device(self.update_device(active, at)), is_first));
        }

        let other_devices =
            account.devices.iter().filter(|it| !it.is_revoked() && it.id != self.id).count();
        if other_devices >= MAX_DEVICES {
            return Err(RegisterDeviceError::Full { limit: MAX_DEVICES });
        }

        let mut device =
            known_device.map_or_else(|| self.new_device(at), |it| self.update_device(it, at));
        device.state = DeviceState::Pending(session.clone());
        let is_repeated = known_device.is_some_and(|it| !it.is_revoked() && self.has_keys_of(it));
        let effects = if is_repeated {
            SideEffects::default()
        } else {
            registration_effects(user, at, &device, account)
        };

        Ok((Change::device(device).with(effects), is_first))
    }

    fn has_keys_of(&self, device: &Device) -> bool {
        device.agreement_key == self.agreement_key && device.signing_key == self.signing_key
    }

    /// Returns a known device with its new self-description.
    fn update_device(&self, known: &Device, at: Timestamp) -> Device {
        Device {
            row: known.row,
            state: known.state.clone(),
            created_at: known.created_at,
            activated_at: known.activated_at,
            revoked_at: known.revoked_at,
            ..self.new_device(at)
        }
    }

    /// Creates a device without a session or a key; `decide` sets its state to pending.
    fn new_device(&self, at: Timestamp) -> Device {
        Device {
            row: DeviceRow(Uuid::now_v7()),
            id: self.id.clone(),
            name: self.name.clone(),
            state: DeviceState::Revoked,
            agreement_key: self.agreement_key.clone(),
            signing_key: self.signing_key.clone(),
            os_version: self.os_version.clone(),
            app_version: self.app_version.clone(),
            created_at: at,
            activated_at: None,
            revoked_at: None,
            seen_at: at,
        }
    }
}

/// Flag that is set for the first device that could have the user's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IsFirst(pub(crate) bool);

/// Returns the audit entry of a registration, and an email to the owner if the
/// account is encrypted.
fn registration_effects(
    user: UserId,
    at: Timestamp,
    device: &Device,
    account: &AccountKeys,
) -> SideEffects {
    let effects = audit_effects(at, user, device, "device.registered");
    if !account.encrypted {
        return effects;
    }
    effects
        .and_mail(with_device_name(QueuedEmail::new("device-registered"), device).to_user(at, user))
}

impl RegisteredDevice {
    pub(crate) fn new(
        session: OnboardingSession,
        challenge: String,
        IsFirst(is_first): IsFirst,
    ) -> Self {
        Self { onboarding: session.text, challenge, is_first }
    }
}

#[cfg(test)]
mod tests;
