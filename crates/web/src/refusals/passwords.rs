//! HTTP errors of emailed links and password changes.

use actix_web::http::StatusCode;
use pia_identity::{
    AddressChangeError, ChangePasswordError, EmailTokenError, ResetError, VerifyError,
};

use super::identity::invalid;
use crate::ApiError;

/// Message for a link that is used, expired or unknown.
const INVALID_LINK: &str = "This link is invalid or has expired. Request a new one.";

impl From<EmailTokenError> for ApiError {
    fn from(err: EmailTokenError) -> Self {
        match err {
            EmailTokenError::NotConfigured => {
                let message = "This server doesn't send email. Ask its operator for help.";
                Self::refused(StatusCode::BAD_REQUEST, "smtp_not_configured", message)
            }
            EmailTokenError::Unavailable(err) => err.into(),
        }
    }
}

impl From<AddressChangeError> for ApiError {
    fn from(err: AddressChangeError) -> Self {
        match err {
            AddressChangeError::Invalid(violations) => invalid(violations),
            AddressChangeError::Managed => {
                let message = "Your organisation's identity provider manages your address.";
                Self::refused(StatusCode::CONFLICT, "email_managed", message)
            }
            AddressChangeError::TooMany { wait } => Self::over_budget(wait),
            AddressChangeError::InvalidToken => {
                Self::refused(StatusCode::BAD_REQUEST, "invalid_verification_token", INVALID_LINK)
            }
            AddressChangeError::Taken => {
                let message = "Another account has this address.";
                Self::refused(StatusCode::CONFLICT, "email_taken", message)
            }
            AddressChangeError::Gone => Self::unauthenticated(),
            AddressChangeError::Owner(err) => err.into(),
            AddressChangeError::Mail(err) => err.into(),
            AddressChangeError::Unavailable(err) => err.into(),
        }
    }
}

impl From<VerifyError> for ApiError {
    fn from(err: VerifyError) -> Self {
        match err {
            VerifyError::Invalid => {
                Self::refused(StatusCode::BAD_REQUEST, "invalid_verification_token", INVALID_LINK)
            }
            VerifyError::Unavailable(err) => err.into(),
        }
    }
}

impl From<ResetError> for ApiError {
    fn from(err: ResetError) -> Self {
        match err {
            ResetError::InvalidToken => {
                Self::refused(StatusCode::BAD_REQUEST, "invalid_reset_token", INVALID_LINK)
            }
            ResetError::Invalid(violations) => invalid(violations),
            ResetError::Unavailable(err) => err.into(),
        }
    }
}

impl From<ChangePasswordError> for ApiError {
    fn from(err: ChangePasswordError) -> Self {
        match err {
            ChangePasswordError::Invalid(violations) => invalid(violations),
            // Not 401: clients take that for the end of their session.
            ChangePasswordError::WrongPassword => {
                let message = "The current password is wrong.";
                Self::refused(StatusCode::FORBIDDEN, "invalid_proof", message)
            }
            ChangePasswordError::TooMany { wait } => Self::over_budget(wait),
            ChangePasswordError::NoPassword => {
                let message = "This account has no password. Sign in with your identity provider.";
                Self::refused(StatusCode::CONFLICT, "no_password", message)
            }
            ChangePasswordError::Gone => Self::unauthenticated(),
            ChangePasswordError::Unavailable(err) => err.into(),
        }
    }
}
