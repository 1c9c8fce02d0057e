//! Approval of a device by an active one, without the recovery code.
//!
//! The active device wraps the account's key for the new device's agreement key,
//! and signs a message that names the onboarding session (`Approval::payload`).
//! The server verifies the signature (ECDSA on P-256, over SHA-256), so that a
//! stolen session of the account alone activates nothing, and stores it as a
//! `DeviceApproval`.

use pia_kernel::{QueuedEmail, Timestamp, Unavailable, UserId};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

use crate::account_keys::AccountKeys;
use crate::change::{Change, audit_effects, with_device_name};
use crate::device::{Device, DeviceApproval, DeviceId, DeviceState, WrappedKey};
use crate::fields::{FieldValidator, PUBLIC_KEY, SALT, SIGNATURE, WRAPPED, bytes};
use crate::violation::Violation;

/// Supported versions of the signed payload.
const KNOWN_VERSIONS: &[i16] = &[1, 2];

/// Request of a device that approves another, not validated yet.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "named as on the wire")]
pub struct ApprovalForm {
    pub onboarding_session_id: Option<String>,
    pub target_device_id: Option<String>,
    pub wrapped_umk: Option<String>,
    pub hkdf_salt: Option<String>,
    pub approver_signature: Option<String>,
    pub signature_version: Option<i64>,
    pub approver_device_id: Option<String>,
}

/// Errors that prevent a device from being approved by another one.
#[derive(Debug, thiserror::Error)]
pub enum ApproveError {
    /// The request is invalid.
    #[error("the approval is invalid")]
    Invalid(Vec<Violation>),
    /// Approving device is not active.
    #[error("the approving device isn't active")]
    NotActive,
    /// User has no such device.
    #[error("the person has no such device")]
    Unknown,
    /// Device has not requested approval.
    #[error("the device is not pending")]
    NotPending,
    /// Onboarding session is expired, spent, or another device's.
    #[error("the onboarding session is invalid")]
    Onboarding,
    /// Signature is not the approving device's signature of this payload.
    #[error("the signature is invalid")]
    Signature,
    /// Account no longer exists.
    #[error("no such account")]
    Gone,
    /// Dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Approval whose fields are valid on their own.
#[derive(Debug, Clone)]
pub(crate) struct Approval {
    session: String,
    target: DeviceId,
    wrapped: String,
    salt: String,
    signature: String,
    version: i16,
    approver: DeviceId,
}

impl ApprovalForm {
    pub(crate) fn validate(self) -> Result<Approval, ApproveError> {
        let mut fields = FieldValidator::default();
        let session = fields.opaque("onboardingSessionId", self.onboarding_session_id);
        let target = fields.device_id("targetDeviceId", self.target_device_id);
        let wrapped = fields.bytes("wrappedUmk", self.wrapped_umk, WRAPPED);
        let salt = fields.bytes("hkdfSalt", self.hkdf_salt, SALT);
        let signature = fields.bytes("approverSignature", self.approver_signature, SIGNATURE);
        let version = fields.version("signatureVersion", self.signature_version, KNOWN_VERSIONS);
        let approver = fields.device_id("approverDeviceId", self.approver_device_id);
        let build = move || {
            Some(Approval {
                session: session?,
                target: target?,
                wrapped: wrapped?,
                salt: salt?,
                signature: signature?,
                version: version?,
                approver: approver?,
            })
        };

        fields.finish(build).map_err(ApproveError::Invalid)
    }
}

impl Approval {
    /// Activates the target device, which spends its onboarding session.
    pub(crate) fn decide(
        &self,
        account: &AccountKeys,
        user: UserId,
        at: Timestamp,
    ) -> Result<(Change, ()), ApproveError> {
        let approver = account.active(&self.approver).ok_or(ApproveError::NotActive)?;
        let target = account.device(&self.target).ok_or(ApproveError::Unknown)?;
        if !matches!(target.state, DeviceState::Pending(_)) {
            return Err(ApproveError::NotPending);
        }
        if !target.has_onboarding_session(&self.session, at) {
            return Err(ApproveError::Onboarding);
        }
        if !self.is_signed_by(approver, target) {
            return Err(ApproveError::Signature);
        }

        let email = with_device_name(QueuedEmail::new("device-approved"), target).to_user(at, user);
        let effects = audit_effects(at, user, target, "device.approved").and_mail(email);
        let devices = vec![target.activated(self.key(at), at), approver.with_last_seen(at)];

        Ok((Change { devices, effects, ..Change::default() }, ()))
    }

    fn key(&self, at: Timestamp) -> WrappedKey {
        let approval = DeviceApproval {
            signature: self.signature.clone(),
            version: self.version,
            onboarding: self.session.clone(),
        };

        WrappedKey {
            ciphertext: self.wrapped.clone(),
            salt: self.salt.clone(),
            created_by: self.approver.clone(),
            created_at: at,
            approved: Some(approval),
        }
    }

    fn is_signed_by(&self, approver: &Device, target: &Device) -> bool {
        let key = bytes(&approver.signing_key, PUBLIC_KEY);
        let signature = bytes(&self.signature, SIGNATURE);
        let (Some(key), Some(signature)) = (key, signature) else { return false };
        let payload = self.payload(&target.agreement_key);
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key);
        key.verify(payload.as_bytes(), &signature).is_ok()
    }

    /// Returns the signed message, with every part as it was sent.
    fn payload(&self, target_key: &str) -> String {
        let Self { session, wrapped, salt, .. } = self;
        let target = self.target.as_str();
        match self.version {
            // The first version leaves the wrapped key and its salt unsigned.
            1 => format!("{session}:{target}:{target_key}"),
            _ => format!("pia-approval-v2:{session}:{target}:{target_key}:{wrapped}:{salt}"),
        }
    }
}

#[cfg(test)]
mod tests;
