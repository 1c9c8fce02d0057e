//! HTTP errors of accounts and sessions.

use actix_web::http::StatusCode;
use pia_identity::{
    AccountChangeError, AccountError, BrowserSignInError, RefreshError, RegisterError, RevokeError,
    SignInError, Violation,
};
use serde_json::json;

use crate::{ApiError, FieldError};

impl From<Violation> for FieldError {
    fn from(violation: Violation) -> Self {
        let Violation { field, code, message } = violation;
        Self { field: field.to_owned(), code, message }
    }
}

pub(super) fn invalid(violations: Vec<Violation>) -> ApiError {
    ApiError::invalid(violations.into_iter().map(Into::into).collect())
}

impl From<RegisterError> for ApiError {
    fn from(err: RegisterError) -> Self {
        match err {
            RegisterError::Invalid(violations) => invalid(violations),
            RegisterError::Closed => {
                let message = "Registration is closed on this server.";
                Self::refused(StatusCode::FORBIDDEN, "registration_closed", message)
            }
            RegisterError::Suspended => Self::suspended(),
            RegisterError::EmailTaken => {
                let message = "An account with this email already exists. Sign in instead.";
                Self::refused(StatusCode::CONFLICT, "email_exists", message)
            }
            RegisterError::SeatsTaken { limit } => {
                let message = "This server has reached its licensed number of accounts.";
                Self::refused(StatusCode::FORBIDDEN, "user_limit_reached", message)
                    .with("limit", limit)
            }
            RegisterError::Unavailable(err) => err.into(),
        }
    }
}

impl From<SignInError> for ApiError {
    fn from(err: SignInError) -> Self {
        match err {
            SignInError::WrongCredentials => {
                let message = "The email address or the password is wrong.";
                Self::refused(StatusCode::UNAUTHORIZED, "invalid_credentials", message)
            }
            SignInError::TooMany { wait } => Self::over_budget(wait),
            SignInError::NotVerified => {
                let message = "Confirm your email address first: open the link in the email that we sent you.";
                Self::refused(StatusCode::FORBIDDEN, "email_not_verified", message)
            }
            SignInError::FactorNeeded { challenge } => {
                let message = "This account has a second factor: enter a code of its \
                               authenticator app, or a recovery code.";
                Self::refused(StatusCode::UNAUTHORIZED, "mfa_required", message)
                    .with("mfaToken", challenge.expose().as_str())
                    .with("methods", json!(["totp", "recovery_code"]))
            }
            SignInError::Unavailable(err) => err.into(),
        }
    }
}

impl From<BrowserSignInError> for ApiError {
    fn from(err: BrowserSignInError) -> Self {
        match err {
            BrowserSignInError::Password(err) => err.into(),
            BrowserSignInError::Factor(err) => err.into(),
            BrowserSignInError::Passkey(err) => err.into(),
            BrowserSignInError::Code(err) => err.into(),
            BrowserSignInError::NoRole => {
                let message = "This account has no administrative role.";
                Self::refused(StatusCode::FORBIDDEN, "forbidden", message)
            }
            BrowserSignInError::FactorRequired => {
                let message = "Set up an authenticator app for this account first.";
                Self::refused(StatusCode::FORBIDDEN, "second_factor_required", message)
            }
            BrowserSignInError::Unavailable(err) => err.into(),
        }
    }
}

impl From<RefreshError> for ApiError {
    fn from(err: RefreshError) -> Self {
        match err {
            // The same response for both: a thief must not learn of the
            // detection.
            RefreshError::Invalid | RefreshError::Reused => {
                let message = "Your session has ended. Sign in again.";
                Self::refused(StatusCode::UNAUTHORIZED, "invalid_refresh_token", message)
            }
            RefreshError::Unavailable(err) => err.into(),
        }
    }
}

impl From<RevokeError> for ApiError {
    fn from(err: RevokeError) -> Self {
        match err {
            RevokeError::Unknown => Self::not_found(),
            RevokeError::Gone => Self::unauthenticated(),
            RevokeError::Unavailable(err) => err.into(),
        }
    }
}

impl From<AccountError> for ApiError {
    fn from(err: AccountError) -> Self {
        match err {
            AccountError::Gone => Self::unauthenticated(),
            AccountError::Unavailable(err) => err.into(),
        }
    }
}

impl From<AccountChangeError> for ApiError {
    fn from(err: AccountChangeError) -> Self {
        match err {
            AccountChangeError::Invalid(violations) => invalid(violations),
            AccountChangeError::Gone => Self::unauthenticated(),
            AccountChangeError::Unavailable(err) => err.into(),
        }
    }
}
