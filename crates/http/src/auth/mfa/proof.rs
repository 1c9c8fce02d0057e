//! Proof that the caller is the account's owner.
//!
//! Bodies of dangerous requests contain a `FreshProofRequest`. `proof_if_any` is for
//! requests where a recent sign-in suffices, `proof` for those that always need
//! one. What a proof is worth is decided by `Reauthenticator` of `identity`.

use pia_identity::{FactorAnswer, ReauthProof};
use pia_kernel::Secret;
use pia_web::{ApiError, FieldError};
use serde::Deserialize;
use utoipa::ToSchema;

/// One of three proofs.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FreshProofRequest {
    #[schema(value_type = Option<String>)]
    pub(crate) password: Option<Secret<String>>,
    /// Six-digit code of the authenticator app.
    #[schema(value_type = Option<String>)]
    pub(crate) code: Option<Secret<String>>,
    #[schema(value_type = Option<String>)]
    pub(crate) recovery_code: Option<Secret<String>>,
}

impl FreshProofRequest {
    /// Parses the proof, if there is one.
    pub(crate) fn proof_if_any(self) -> Result<Option<ReauthProof>, ApiError> {
        if self.password.is_none() && self.code.is_none() && self.recovery_code.is_none() {
            return Ok(None);
        }
        self.proof().map(Some)
    }

    pub(crate) fn proof(self) -> Result<ReauthProof, ApiError> {
        fresh_proof(self.password, self.code, self.recovery_code)?.ok_or_else(|| {
            body_error("required", "One of `password`, `code` or `recoveryCode` is required.")
        })
    }
}

/// Parses the proof of a body: at most one of the three fields.
pub(crate) fn fresh_proof(
    password: Option<Secret<String>>,
    code: Option<Secret<String>>,
    recovery_code: Option<Secret<String>>,
) -> Result<Option<ReauthProof>, ApiError> {
    match (password, code, recovery_code) {
        (None, None, None) => Ok(None),
        (Some(password), None, None) => Ok(Some(ReauthProof::Password(password))),
        (None, code, recovery_code) => {
            Ok(Some(ReauthProof::Factor(factor_answer(code, recovery_code)?)))
        }
        (Some(_), _, _) => {
            Err(body_error("invalid", "Send only one of `password`, `code` and `recoveryCode`."))
        }
    }
}

/// Parses the second factor: exactly one of the two fields.
pub(crate) fn factor_answer(
    code: Option<Secret<String>>,
    recovery_code: Option<Secret<String>>,
) -> Result<FactorAnswer, ApiError> {
    match (code, recovery_code) {
        (Some(code), None) => Ok(FactorAnswer::Code(code)),
        (None, Some(code)) => Ok(FactorAnswer::RecoveryCode(code)),
        (None, None) => Err(body_error("required", "Either `code` or `recoveryCode` is required.")),
        (Some(_), Some(_)) => {
            Err(body_error("invalid", "Send either `code` or `recoveryCode`, not both."))
        }
    }
}

/// Returns an error of the body itself, without a field.
fn body_error(code: &'static str, message: &str) -> ApiError {
    let field = String::new();
    let message = message.to_owned();
    ApiError::invalid(vec![FieldError { field, code, message }])
}
