//! HTTP errors of the administration of accounts.

use actix_web::http::StatusCode;
use pia_identity::{AccountSecurityError, InviteError, RoleError};

use super::identity::invalid;
use crate::ApiError;

impl From<RoleError> for ApiError {
    fn from(err: RoleError) -> Self {
        match err {
            RoleError::Unknown => Self::not_found(),
            RoleError::LastAdmin => {
                let message = "This is the last active administrator. Make another account an \
                               administrator first.";
                Self::refused(StatusCode::CONFLICT, "last_admin", message)
            }
            RoleError::AdminsTaken { limit } => {
                let message = "The licence allows no further administrator.";
                Self::refused(StatusCode::FORBIDDEN, "admin_limit_reached", message)
                    .with("limit", limit)
            }
            RoleError::SeatsTaken { limit } => {
                let message = "This server has reached its licensed number of accounts.";
                Self::refused(StatusCode::FORBIDDEN, "user_limit_reached", message)
                    .with("limit", limit)
            }
            RoleError::Unavailable(err) => err.into(),
        }
    }
}

impl From<AccountSecurityError> for ApiError {
    fn from(err: AccountSecurityError) -> Self {
        match err {
            AccountSecurityError::Unknown => Self::not_found(),
            AccountSecurityError::NoFactor => {
                let message = "No second factor is on.";
                Self::refused(StatusCode::CONFLICT, "mfa_not_enabled", message)
            }
            AccountSecurityError::Unavailable(err) => err.into(),
        }
    }
}

impl From<InviteError> for ApiError {
    fn from(err: InviteError) -> Self {
        match err {
            InviteError::Invalid(violation) => invalid(vec![violation]),
            InviteError::NoSuchGroup => {
                let message = "There is no such group.";
                Self::refused(StatusCode::BAD_REQUEST, "group_not_found", message)
            }
            InviteError::Unavailable(err) => err.into(),
        }
    }
}
