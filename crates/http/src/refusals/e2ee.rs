//! HTTP errors of devices and keys.

use actix_web::http::StatusCode;
use pia_e2ee::{
    ActivateError, ApproveError, FindCopyError, FindError, PutProofKeyError, RegisterDeviceError,
    RevokeDeviceError, StoreCopyError, StoreKeyError, Violation,
};
use serde_json::json;

use pia_web::{ApiError, FieldError};

use crate::HttpError;

impl From<RegisterDeviceError> for HttpError {
    fn from(err: RegisterDeviceError) -> Self {
        Self::from(match err {
            RegisterDeviceError::Invalid(violations) => invalid(violations),
            RegisterDeviceError::OtherKeys => {
                let message = "This device is active with other keys. Revoke it first, then \
                               register it again.";
                ApiError::refused(StatusCode::CONFLICT, "device_keys_differ", message)
            }
            RegisterDeviceError::Full { limit } => {
                let message =
                    format!("An account can have at most {limit} devices. Revoke one first.");
                ApiError::refused(StatusCode::CONFLICT, "device_limit_reached", message)
                    .with("limit", limit)
            }
            RegisterDeviceError::Gone => ApiError::unauthenticated(),
            RegisterDeviceError::Unavailable(err) => err.into(),
        })
    }
}

impl From<ApproveError> for HttpError {
    fn from(err: ApproveError) -> Self {
        Self::from(match err {
            ApproveError::Invalid(violations) => invalid(violations),
            ApproveError::NotActive => not_active("The approving device is not active."),
            ApproveError::Unknown => ApiError::not_found(),
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

impl From<RevokeDeviceError> for HttpError {
    fn from(err: RevokeDeviceError) -> Self {
        Self::from(match err {
            RevokeDeviceError::Unknown => ApiError::not_found(),
            RevokeDeviceError::Gone => ApiError::unauthenticated(),
            RevokeDeviceError::Unavailable(err) => err.into(),
        })
    }
}

impl From<FindError> for HttpError {
    fn from(err: FindError) -> Self {
        Self::from(match err {
            FindError::Unknown => ApiError::not_found(),
            FindError::Unavailable(err) => err.into(),
        })
    }
}

impl From<StoreKeyError> for HttpError {
    fn from(err: StoreKeyError) -> Self {
        Self::from(match err {
            StoreKeyError::Invalid(violations) => invalid(violations),
            StoreKeyError::Unknown => ApiError::not_found(),
            StoreKeyError::NotActive => not_active(
                "The device must be let in by another, or by the recovery code, before it may \
                 store a key.",
            ),
            StoreKeyError::Unproven => ApiError::fresh_sign_in_required(),
            StoreKeyError::Gone => ApiError::unauthenticated(),
            StoreKeyError::Unavailable(err) => err.into(),
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

impl From<StoreCopyError> for HttpError {
    fn from(err: StoreCopyError) -> Self {
        Self::from(match err {
            StoreCopyError::Invalid(violations) => invalid(violations),
            StoreCopyError::Locked => {
                let message = "The recovery key is guarded and cannot be replaced.";
                ApiError::refused(StatusCode::CONFLICT, "recovery_key_locked", message)
            }
            StoreCopyError::NoActiveDevice => none_active(),
            StoreCopyError::Unproven => ApiError::fresh_sign_in_required(),
            StoreCopyError::Gone => ApiError::unauthenticated(),
            StoreCopyError::Unavailable(err) => err.into(),
        })
    }
}

impl From<PutProofKeyError> for HttpError {
    fn from(err: PutProofKeyError) -> Self {
        Self::from(match err {
            PutProofKeyError::Invalid => {
                let message = "A proof key of version 1 is 32 bytes in padded base64.";
                let errors =
                    json!([{ "field": "proofKey", "code": "invalid", "message": message }]);
                ApiError::refused(StatusCode::BAD_REQUEST, "invalid_proof_key", message)
                    .with("errors", errors)
            }
            PutProofKeyError::NotSetUp => not_set_up(StatusCode::CONFLICT),
            PutProofKeyError::NoActiveDevice => none_active(),
            PutProofKeyError::Conflict => {
                let message = "Another proof key is on file, and stays.";
                ApiError::refused(StatusCode::CONFLICT, "proof_key_conflict", message)
            }
            PutProofKeyError::Unproven => ApiError::fresh_sign_in_required(),
            PutProofKeyError::Gone => ApiError::unauthenticated(),
            PutProofKeyError::Unavailable(err) => err.into(),
        })
    }
}

impl From<ActivateError> for HttpError {
    fn from(err: ActivateError) -> Self {
        Self::from(match err {
            ActivateError::Invalid(violations) => invalid(violations),
            ActivateError::Unknown => ApiError::not_found(),
            ActivateError::Onboarding => onboarding(),
            ActivateError::NotSetUp => not_set_up(StatusCode::CONFLICT),
            ActivateError::WrongProof => {
                let message = "The proof does not show that the recovery code was used.";
                ApiError::refused(StatusCode::BAD_REQUEST, "invalid_proof", message)
            }
            ActivateError::Unproven => ApiError::fresh_sign_in_required(),
            ActivateError::Gone => ApiError::unauthenticated(),
            ActivateError::Unavailable(err) => err.into(),
        })
    }
}

fn invalid(violations: Vec<Violation>) -> ApiError {
    let to_field_error = |Violation { field, code, message }| {
        let field = str::to_owned(field);
        FieldError { field, code, message }
    };
    ApiError::invalid(violations.into_iter().map(to_field_error).collect())
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
