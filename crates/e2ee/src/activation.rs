//! Activation of a device with the recovery code.
//!
//! The device has registered, fetched the recovery copy, opened it with the code,
//! and wrapped the key for itself. It proves the possession of the key by an HMAC
//! (`ProofKey::proves`); without a stored proof key, the owner must
//! reauthenticate.

use pia_kernel::{QueuedEmail, ReauthenticationOutcome, Timestamp, Unavailable};

use crate::account_keys::{AccountKeys, RecoveryProofKey};
use crate::change::{Change, audit_effects, with_device_name};
use crate::device::{DeviceId, DeviceState, WrappedKey};
use crate::fields::{FieldValidator, SALT, WRAPPED};
use crate::use_cases::KeyOwner;
use crate::violation::Violation;

/// Request of a device that opened the recovery copy, not validated yet.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "named as on the wire")]
pub struct ActivationForm {
    pub device_id: Option<String>,
    pub self_wrapped_umk: Option<String>,
    pub hkdf_salt: Option<String>,
    pub proof_of_possession: Option<String>,
    pub onboarding_session_id: Option<String>,
}

/// Errors that prevent a device from being activated with the recovery code.
#[derive(Debug, thiserror::Error)]
pub enum ActivateError {
    /// The request is invalid.
    #[error("the activation is invalid")]
    Invalid(Vec<Violation>),
    /// User has no such pending device.
    #[error("the person has no such pending device")]
    Unknown,
    /// Onboarding session is expired, spent, or another device's.
    #[error("the onboarding session is invalid")]
    Onboarding,
    /// Account has no recovery copy that the proof could open.
    #[error("there is no recovery copy")]
    NotSetUp,
    /// Proof does not show that the device has the account key.
    #[error("the proof is wrong")]
    WrongProof,
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

/// Activation whose fields are valid on their own. The proof can be verified
/// only with the stored proof key.
#[derive(Debug, Clone)]
pub(crate) struct Activation {
    device: DeviceId,
    ciphertext: String,
    salt: String,
    proof: String,
    session: String,
}

impl ActivationForm {
    pub(crate) fn validate(self) -> Result<Activation, ActivateError> {
        let mut fields = FieldValidator::default();
        let device = fields.device_id("deviceId", self.device_id);
        let ciphertext = fields.bytes("selfWrappedUmk", self.self_wrapped_umk, WRAPPED);
        let salt = fields.bytes("hkdfSalt", self.hkdf_salt, SALT);
        let proof = fields.opaque("proofOfPossession", self.proof_of_possession);
        let session = fields.opaque("onboardingSessionId", self.onboarding_session_id);
        let build = move || {
            Some(Activation {
                device: device?,
                ciphertext: ciphertext?,
                salt: salt?,
                proof: proof?,
                session: session?,
            })
        };

        fields.finish(build).map_err(ActivateError::Invalid)
    }
}

impl Activation {
    /// Activates the device, which spends its onboarding session.
    pub(crate) fn decide(
        &self,
        account: &AccountKeys,
        owner: KeyOwner,
        at: Timestamp,
    ) -> Result<(Change, ()), ActivateError> {
        let device = account.device(&self.device).ok_or(ActivateError::Unknown)?;
        if !matches!(device.state, DeviceState::Pending(_)) {
            return Err(ActivateError::Unknown);
        }
        if !device.has_onboarding_session(&self.session, at) {
            return Err(ActivateError::Onboarding);
        }

        match &account.recovery {
            None => return Err(ActivateError::NotSetUp),
            Some(RecoveryProofKey::Lost) => return Err(ActivateError::WrongProof),
            Some(RecoveryProofKey::Stored(key)) if !key.proves(&self.session, &self.proof) => {
                return Err(ActivateError::WrongProof);
            }
            // Recovery was set up before proof keys existed: the device cannot prove
            // that it opened the copy, so its owner must reauthenticate.
            Some(RecoveryProofKey::Missing)
                if owner.reauthentication != ReauthenticationOutcome::Fresh =>
            {
                return Err(ActivateError::Unproven);
            }
            Some(RecoveryProofKey::Stored(_) | RecoveryProofKey::Missing) => {}
        }

        let key =
            WrappedKey::self_wrapped(&device.id, self.ciphertext.clone(), self.salt.clone(), at);
        let email =
            with_device_name(QueuedEmail::new("device-approved"), device).to_user(at, owner.user);
        let effects = audit_effects(at, owner.user, device, "device.activated").and_mail(email);

        Ok((Change::device(device.activated(key, at)).with(effects), ()))
    }
}
