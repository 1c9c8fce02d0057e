//! HTTP errors of second factors.

use actix_web::http::StatusCode;
use pia_identity::{ConfirmError, EnrolError, FactorChangeError, FactorSignInError, OwnerError};

use crate::{ApiError, FieldError};

impl From<FactorSignInError> for ApiError {
    fn from(err: FactorSignInError) -> Self {
        match err {
            FactorSignInError::Over => {
                let message = "This sign-in has expired. Enter your password again.";
                Self::refused(StatusCode::UNAUTHORIZED, "invalid_mfa_token", message)
            }
            FactorSignInError::WrongCode => wrong_code(StatusCode::UNAUTHORIZED),
            FactorSignInError::TooMany { wait } => Self::over_budget(wait),
            FactorSignInError::Unavailable(err) => err.into(),
        }
    }
}

impl From<EnrolError> for ApiError {
    fn from(err: EnrolError) -> Self {
        match err {
            EnrolError::AlreadyOn => {
                let message = "A second factor is already on. Turn it off first.";
                Self::refused(StatusCode::CONFLICT, "mfa_already_enabled", message)
            }
            EnrolError::Owner(OwnerError::Missing) => {
                // No other proof can exist yet.
                let message = "`password` is required: the account's password.";
                missing("password", message)
            }
            EnrolError::Owner(err) => err.into(),
            EnrolError::Gone => Self::unauthenticated(),
            EnrolError::Unavailable(err) => err.into(),
        }
    }
}

impl From<ConfirmError> for ApiError {
    fn from(err: ConfirmError) -> Self {
        match err {
            ConfirmError::NotPending => {
                let message = "No authenticator app is being set up, or it took too long: begin \
                               again.";
                Self::refused(StatusCode::CONFLICT, "mfa_not_begun", message)
            }
            // Not 401: clients take that for the end of their session.
            ConfirmError::WrongCode => wrong_code(StatusCode::BAD_REQUEST),
            ConfirmError::TooMany { wait } => Self::over_budget(wait),
            ConfirmError::Unavailable(err) => err.into(),
        }
    }
}

impl From<FactorChangeError> for ApiError {
    fn from(err: FactorChangeError) -> Self {
        match err {
            FactorChangeError::NotOn => {
                let message = "No second factor is on.";
                Self::refused(StatusCode::CONFLICT, "mfa_not_enabled", message)
            }
            FactorChangeError::WrongProof => wrong_proof(),
            FactorChangeError::TooMany { wait } => Self::over_budget(wait),
            FactorChangeError::Gone => Self::unauthenticated(),
            FactorChangeError::Unavailable(err) => err.into(),
        }
    }
}

impl From<OwnerError> for ApiError {
    fn from(err: OwnerError) -> Self {
        match err {
            OwnerError::Missing => {
                missing("", "One of `password`, `code` or `recoveryCode` is required.")
            }
            OwnerError::SignInAgain => Self::fresh_sign_in_required(),
            OwnerError::Wrong => wrong_proof(),
            OwnerError::WrongPasskey => {
                let message = "The passkey was not accepted. Use one of this account.";
                Self::refused(StatusCode::FORBIDDEN, "invalid_passkey", message)
            }
            OwnerError::TooMany { wait } => Self::over_budget(wait),
            OwnerError::Unavailable(err) => err.into(),
        }
    }
}

fn missing(field: &str, message: &str) -> ApiError {
    let field = field.to_owned();
    let message = message.to_owned();
    ApiError::invalid(vec![FieldError { field, code: "required", message }])
}

fn wrong_proof() -> ApiError {
    let message = "The password or the code is wrong, or the code was used before.";
    ApiError::refused(StatusCode::FORBIDDEN, "invalid_proof", message)
}

fn wrong_code(status: StatusCode) -> ApiError {
    let message = "The code is wrong, or was used before.";
    ApiError::refused(status, "invalid_mfa_code", message)
}
