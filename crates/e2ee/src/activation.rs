//! A device that comes in by the recovery code.

use pia_kernel::{QueuedEmail, Reauthentication, Timestamp, Unavailable, UserId};

use crate::account_keys::{AccountKeys, RecoveryProofKey};
use crate::change::{Change, audit_effects, with_device_name};
use crate::device::{DeviceId, DeviceState, WrappedKey};
use crate::fields::{FieldValidator, SALT, WRAPPED};
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
    #[error("the activation is not good")]
    Invalid(Vec<Violation>),
    /// No such device asks to be let in.
    #[error("the person has no such pending device")]
    Unknown,
    /// The session is over, spent, or another device's.
    #[error("the onboarding session is not good")]
    Onboarding,
    /// Account has no recovery copy that the proof could open.
    #[error("there is no recovery copy")]
    NotSetUp,
    /// Proof does not show that the device has the account key.
    #[error("the proof is wrong")]
    WrongProof,
    /// The caller holds a session, and that is not enough here.
    #[error("a proof of the owner is needed")]
    Unproven,
    /// The account is no more.
    #[error("there is no such account")]
    Gone,
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// An activation whose parts are good each for itself; of the proof only a key
/// that is on file can tell.
#[derive(Debug, Clone)]
pub(crate) struct Activation {
    device: DeviceId,
    wrapped: (String, String),
    proof: String,
    session: String,
}

impl ActivationForm {
    pub(crate) fn validate(self) -> Result<Activation, ActivateError> {
        let mut fields = FieldValidator::default();
        let device = fields.device_id("deviceId", self.device_id);
        let wrapped = fields.bytes("selfWrappedUmk", self.self_wrapped_umk, WRAPPED);
        let salt = fields.bytes("hkdfSalt", self.hkdf_salt, SALT);
        let proof = fields.opaque("proofOfPossession", self.proof_of_possession);
        let session = fields.opaque("onboardingSessionId", self.onboarding_session_id);
        let read = move || {
            let wrapped = (wrapped?, salt?);
            Some(Activation { device: device?, wrapped, proof: proof?, session: session? })
        };
        fields.finish(read).map_err(ActivateError::Invalid)
    }
}

impl Activation {
    /// Lets the device in, which spends its session.
    pub(crate) fn decide(
        &self,
        held: &AccountKeys,
        (user, at): (UserId, Timestamp),
        owner: Reauthentication,
    ) -> Result<(Change, ()), ActivateError> {
        let device = held.device(&self.device).ok_or(ActivateError::Unknown)?;
        if !matches!(device.state, DeviceState::Pending(_)) {
            return Err(ActivateError::Unknown);
        }
        if !device.has_onboarding_session(&self.session, at) {
            return Err(ActivateError::Onboarding);
        }
        match &held.recovery {
            None => return Err(ActivateError::NotSetUp),
            Some(RecoveryProofKey::Lost) => return Err(ActivateError::WrongProof),
            Some(RecoveryProofKey::Stored(key)) if !key.proves(&self.session, &self.proof) => {
                return Err(ActivateError::WrongProof);
            }
            // Recovery was set up before there were proofs: the device cannot
            // show that it opened the copy, so its owner shows who they are.
            Some(RecoveryProofKey::Missing) if owner != Reauthentication::Fresh => {
                return Err(ActivateError::Unproven);
            }
            Some(RecoveryProofKey::Stored(_) | RecoveryProofKey::Missing) => {}
        }
        let key = WrappedKey::self_wrapped(&device.id, self.wrapped.clone(), at);
        let letter =
            with_device_name(QueuedEmail::new("device-approved"), device).to_user(at, user);
        let effects = audit_effects(at, user, device, "device.activated").and_mail(letter);
        Ok((Change::device(device.activated(key, at)).with(effects), ()))
    }
}
