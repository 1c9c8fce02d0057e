//! HTTP errors of passkeys.

use actix_web::http::StatusCode;
use pia_identity::{
    PasskeyAddError, PasskeyChangeError, PasskeyOptionsError, PasskeyRemoveError,
    PasskeySignInError,
};
use serde_json::json;

use super::identity::invalid;
use crate::{ApiError, FieldError};

impl From<PasskeyOptionsError> for ApiError {
    fn from(err: PasskeyOptionsError) -> Self {
        match err {
            PasskeyOptionsError::Off => passkeys_disabled(),
            PasskeyOptionsError::ProofNeeded => {
                let message = "One of `password`, `code` or `recoveryCode` is required.".to_owned();
                let field = String::new();
                Self::invalid(vec![FieldError { field, code: "required", message }])
            }
            PasskeyOptionsError::SessionTooOld => {
                let message = "Sign in again, and add the passkey within ten minutes.";
                Self::refused(StatusCode::FORBIDDEN, "fresh_sign_in_required", message)
            }
            PasskeyOptionsError::WrongProof => {
                let message = "The password or the code is wrong, or the code was used before.";
                Self::refused(StatusCode::FORBIDDEN, "invalid_proof", message)
            }
            PasskeyOptionsError::TooMany { wait } => Self::over_budget(wait),
            PasskeyOptionsError::Full { limit } => too_many_passkeys(limit),
            PasskeyOptionsError::Gone => Self::unauthenticated(),
            PasskeyOptionsError::Unavailable(err) => err.into(),
        }
    }
}

impl From<PasskeyAddError> for ApiError {
    fn from(err: PasskeyAddError) -> Self {
        match err {
            PasskeyAddError::Off => passkeys_disabled(),
            PasskeyAddError::Name(violation) => Self::invalid(vec![violation.into()]),
            PasskeyAddError::Over => {
                let message = "No passkey is being added, or it took too long: begin again.";
                invalid_credential("challengeToken", message)
            }
            PasskeyAddError::Malformed { field } => {
                let message = format!("`{field}` is not what browsers send.");
                invalid_credential(&field, &message)
            }
            PasskeyAddError::Refused => {
                let message = "The authenticator's answer is not one to what it was asked.";
                invalid_credential("credential", message)
            }
            PasskeyAddError::Known => invalid_credential(
                "credential",
                "This passkey has already been added. Use another one.",
            ),
            PasskeyAddError::Full { limit } => too_many_passkeys(limit),
            PasskeyAddError::Gone => Self::unauthenticated(),
            PasskeyAddError::Unavailable(err) => err.into(),
        }
    }
}

impl From<PasskeyChangeError> for ApiError {
    fn from(err: PasskeyChangeError) -> Self {
        match err {
            PasskeyChangeError::Name(violation) => invalid(vec![violation]),
            PasskeyChangeError::Unknown => Self::not_found(),
            PasskeyChangeError::Unavailable(err) => err.into(),
        }
    }
}

impl From<PasskeyRemoveError> for ApiError {
    fn from(err: PasskeyRemoveError) -> Self {
        match err {
            PasskeyRemoveError::Unknown => Self::not_found(),
            PasskeyRemoveError::Unavailable(err) => err.into(),
        }
    }
}

impl From<PasskeySignInError> for ApiError {
    fn from(err: PasskeySignInError) -> Self {
        match err {
            PasskeySignInError::Off => passkeys_disabled(),
            // One response for all reasons, so that forgeries learn nothing.
            PasskeySignInError::Refused => {
                let message = "The passkey was not accepted. Try again.";
                Self::refused(StatusCode::UNAUTHORIZED, "invalid_passkey", message)
            }
            PasskeySignInError::Unavailable(err) => err.into(),
        }
    }
}

fn passkeys_disabled() -> ApiError {
    let message = "Passkeys can't be used at this server's address. Its operator must set an \
                   https address with a host name (Server:PublicUrl).";
    ApiError::refused(StatusCode::CONFLICT, "passkeys_unavailable", message)
}

fn too_many_passkeys(limit: usize) -> ApiError {
    let message = format!("An account can have at most {limit} passkeys. Remove one first.");
    ApiError::refused(StatusCode::CONFLICT, "passkey_limit_reached", message).with("limit", limit)
}

/// Error for an invalid credential. It is not 401, which clients take for the end of their
/// session.
fn invalid_credential(field: &str, message: &str) -> ApiError {
    let errors = json!([{ "field": field, "code": "invalid", "message": message }]);
    ApiError::refused(StatusCode::BAD_REQUEST, "invalid_passkey_response", message)
        .with("errors", errors)
}
