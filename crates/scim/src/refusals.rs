//! Statuses of the use cases' errors. Codes that SCIM defines become the
//! `scimType` of a response.

use actix_web::http::StatusCode;
use pia_identity::{RoleError, ScimUserError};
use pia_kernel::Unavailable;
use pia_policy::GroupError;
use pia_web::ApiError;

/// [`ApiError`] of this surface.
pub(crate) struct ScimError(pub(crate) ApiError);

impl From<Unavailable> for ScimError {
    fn from(err: Unavailable) -> Self {
        Self(err.into())
    }
}

impl From<ScimUserError> for ScimError {
    fn from(err: ScimUserError) -> Self {
        let message = err.to_string();
        let refused = |status, code| ApiError::refused(status, code, &message);
        Self(match err {
            ScimUserError::Invalid(_) => refused(StatusCode::BAD_REQUEST, "invalidValue"),
            ScimUserError::Taken(_) => refused(StatusCode::CONFLICT, "uniqueness"),
            ScimUserError::Unknown => not_found(),
            ScimUserError::Stale => stale(),
            ScimUserError::Privileged => refused(StatusCode::BAD_REQUEST, "mutability"),
            ScimUserError::Suspended => refused(StatusCode::FORBIDDEN, "free_tier_suspended"),
            ScimUserError::SeatsTaken { .. } => {
                refused(StatusCode::FORBIDDEN, "user_limit_reached")
            }
            ScimUserError::Role(RoleError::LastAdmin) => {
                refused(StatusCode::CONFLICT, "last_admin")
            }
            ScimUserError::Role(_) => refused(StatusCode::FORBIDDEN, "admin_limit_reached"),
            ScimUserError::Unavailable(err) => err.into(),
        })
    }
}

impl From<GroupError> for ScimError {
    fn from(err: GroupError) -> Self {
        let message = err.to_string();
        let refused = |status, code| ApiError::refused(status, code, &message);
        Self(match err {
            GroupError::Name(_)
            | GroupError::Settings(_)
            | GroupError::UnknownAccount
            | GroupError::ExternalId => refused(StatusCode::BAD_REQUEST, "invalidValue"),
            GroupError::NameTaken | GroupError::ExternalIdTaken => {
                refused(StatusCode::CONFLICT, "uniqueness")
            }
            GroupError::Unknown => not_found(),
            GroupError::IsDefault => refused(StatusCode::BAD_REQUEST, "mutability"),
            GroupError::InUse(_) => refused(StatusCode::CONFLICT, "group_in_use"),
            GroupError::Unavailable(err) => err.into(),
        })
    }
}

/// Returns the error for a resource that does not exist.
pub(crate) fn not_found() -> ApiError {
    ApiError::refused(StatusCode::NOT_FOUND, "not_found", "There is no such resource.")
}

/// Returns the error for a write that expects another version.
pub(crate) fn stale() -> ApiError {
    let message = "The resource is not the version that `If-Match` names.";
    ApiError::refused(StatusCode::PRECONDITION_FAILED, "precondition_failed", message)
}

/// Returns the error of a request with this SCIM error type.
pub(crate) fn invalid(scim_type: &'static str, message: impl std::fmt::Display) -> ApiError {
    ApiError::refused(StatusCode::BAD_REQUEST, scim_type, message)
}
