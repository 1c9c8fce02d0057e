//! Devices and keys.

use actix_web::http::StatusCode;
use pia_e2ee::{
    ActivateError, ApproveError, FindCopyError, FindError, KeepCopyError, KeepKeyError,
    PutProofKeyError, RegisterError, RevokeError, Violation,
};
use serde_json::json;

use pia_web::{ApiError, FieldError};

use crate::HttpError;

impl From<RegisterError> for HttpError {
    fn from(err: RegisterError) -> Self {
        Self::from(match err {
            RegisterError::Invalid(violations) => invalid(violations),
            RegisterError::OtherKeys => {
                let message = "This device is active with other keys: revoke it first, then \
                               register it again.";
                ApiError::refused(StatusCode::CONFLICT, "device_keys_differ", message)
            }
            RegisterError::Full { limit } => {
                let message = format!("An account may have {limit} devices: revoke one first.");
                ApiError::refused(StatusCode::CONFLICT, "device_limit_reached", message)
                    .with("limit", limit)
            }
            RegisterError::Gone => ApiError::unauthenticated(),
            RegisterError::Unavailable(err) => err.into(),
        })
    }
}

impl From<ApproveError> for HttpError {
    fn from(err: ApproveError) -> Self {
        Self::from(match err {
            ApproveError::Invalid(violations) => invalid(violations),
            ApproveError::NotActive => not_active("The approving device is not active."),
            ApproveError::Unknown => ApiError::nothing_of_yours(),
            ApproveError::NotPending => {
                let message = "The device does not ask to be let in, or was let in already.";
                ApiError::refused(StatusCode::CONFLICT, "device_not_pending", message)
            }
            ApproveError::Onboarding => onboarding(),
            ApproveError::Signature => {
                let message = "The signature is not the approving device's, over this approval.";
                ApiError::refused(StatusCode::BAD_REQUEST, "invalid_signature", message)
            }
            ApproveError::Gone => ApiError::unauthenticated(),
            ApproveError::Unavailable(err) => err.into(),
        })
    }
}

impl From<RevokeError> for HttpError {
    fn from(err: RevokeError) -> Self {
        Self::from(match err {
            RevokeError::Unknown => ApiError::nothing_of_yours(),
            RevokeError::Gone => ApiError::unauthenticated(),
            RevokeError::Unavailable(err) => err.into(),
        })
    }
}

impl From<FindError> for HttpError {
    fn from(err: FindError) -> Self {
        Self::from(match err {
            FindError::Unknown => ApiError::nothing_of_yours(),
            FindError::Unavailable(err) => err.into(),
        })
    }
}

impl From<KeepKeyError> for HttpError {
    fn from(err: KeepKeyError) -> Self {
        Self::from(match err {
            KeepKeyError::Invalid(violations) => invalid(violations),
            KeepKeyError::Unknown => ApiError::nothing_of_yours(),
            KeepKeyError::NotActive => not_active(
                "The device must be let in by another, or by the recovery code, before it may \
                 store a key.",
            ),
            KeepKeyError::Unproven => ApiError::sign_in_again(),
            KeepKeyError::Gone => ApiError::unauthenticated(),
            KeepKeyError::Unavailable(err) => err.into(),
        })
    }
}

impl From<FindCopyError> for HttpError {
    fn from(err: FindCopyError) -> Self {
        Self::from(match err {
            FindCopyError::NotSetUp => not_set_up(StatusCode::NOT_FOUND),
            FindCopyError::Unavailable(err) => err.into(),
        })
    }
}

impl From<KeepCopyError> for HttpError {
    fn from(err: KeepCopyError) -> Self {
        Self::from(match err {
            KeepCopyError::Invalid(violations) => invalid(violations),
            KeepCopyError::Locked => {
                let message = "The recovery key is guarded and cannot be replaced.";
                ApiError::refused(StatusCode::CONFLICT, "recovery_key_locked", message)
            }
            KeepCopyError::NoActiveDevice => none_active(),
            KeepCopyError::Unproven => ApiError::sign_in_again(),
            KeepCopyError::Gone => ApiError::unauthenticated(),
            KeepCopyError::Unavailable(err) => err.into(),
        })
    }
}

impl From<PutProofKeyError> for HttpError {
    fn from(err: PutProofKeyError) -> Self {
        Self::from(match err {
            PutProofKeyError::Invalid => {
                let message = "A proof key of version 1 is 32 bytes in padded base64.";
                let fault = json!([{ "field": "proofKey", "code": "invalid", "message": message }]);
                ApiError::refused(StatusCode::BAD_REQUEST, "invalid_proof_key", message)
                    .with("errors", fault)
            }
            PutProofKeyError::NotSetUp => not_set_up(StatusCode::CONFLICT),
            PutProofKeyError::NoActiveDevice => none_active(),
            PutProofKeyError::Conflict => {
                let message = "Another proof key is on file, and stays.";
                ApiError::refused(StatusCode::CONFLICT, "proof_key_conflict", message)
            }
            PutProofKeyError::Unproven => ApiError::sign_in_again(),
            PutProofKeyError::Gone => ApiError::unauthenticated(),
            PutProofKeyError::Unavailable(err) => err.into(),
        })
    }
}

impl From<ActivateError> for HttpError {
    fn from(err: ActivateError) -> Self {
        Self::from(match err {
            ActivateError::Invalid(violations) => invalid(violations),
            ActivateError::Unknown => ApiError::nothing_of_yours(),
            ActivateError::Onboarding => onboarding(),
            ActivateError::NotSetUp => not_set_up(StatusCode::CONFLICT),
            ActivateError::WrongProof => {
                let message = "The proof does not show that the recovery code was used.";
                ApiError::refused(StatusCode::BAD_REQUEST, "invalid_proof", message)
            }
            ActivateError::Unproven => ApiError::sign_in_again(),
            ActivateError::Gone => ApiError::unauthenticated(),
            ActivateError::Unavailable(err) => err.into(),
        })
    }
}

fn invalid(violations: Vec<Violation>) -> ApiError {
    let fault = |Violation { field, code, message }| {
        let field = str::to_owned(field);
        FieldError { field, code, message }
    };
    ApiError::invalid(violations.into_iter().map(fault).collect())
}

fn not_active(message: &str) -> ApiError {
    ApiError::refused(StatusCode::FORBIDDEN, "device_not_active", message)
}

fn none_active() -> ApiError {
    not_active("The account has no active device.")
}

/// Clients look for the words "onboarding session" too.
fn onboarding() -> ApiError {
    let message = "Invalid or expired onboarding session: register the device again.";
    ApiError::refused(StatusCode::BAD_REQUEST, "invalid_onboarding_session", message)
}

fn not_set_up(status: StatusCode) -> ApiError {
    let message = "The account has no recovery key.";
    ApiError::refused(status, "recovery_not_set_up", message)
}
