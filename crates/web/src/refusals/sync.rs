//! Keeping devices in step.

use actix_web::http::StatusCode;
use pia_kernel::StorageUse;
use pia_sync::{MOST_IN_A_PUSH, PullError, PushError, SupportError};

use crate::{ApiError, FieldError};

impl From<PushError> for ApiError {
    fn from(err: PushError) -> Self {
        match err {
            PushError::E2eeRequired => Self::e2ee_required(),
            PushError::OverQuota { channel, limit, current } => {
                Self::over_quota(channel.name(), limit, current)
            }
            PushError::OutOfStorage(storage) => Self::out_of_storage(storage),
            PushError::TooMany => {
                let message =
                    format!("A push holds at most {MOST_IN_A_PUSH} changes: send several.");
                Self::invalid(vec![FieldError {
                    field: String::new(),
                    code: "too_many_items",
                    message,
                }])
            }
            PushError::Gone => Self::unauthenticated(),
            PushError::Unavailable(err) => err.into(),
        }
    }
}

impl From<PullError> for ApiError {
    fn from(err: PullError) -> Self {
        match err {
            PullError::Gone => Self::unauthenticated(),
            PullError::Unavailable(err) => err.into(),
        }
    }
}

impl From<SupportError> for ApiError {
    fn from(err: SupportError) -> Self {
        match err {
            SupportError::Gone => Self::unauthenticated(),
            SupportError::Unavailable(err) => err.into(),
        }
    }
}

impl ApiError {
    /// What is plain text is not stored for an account that is end-to-end
    /// encrypted.
    pub(crate) fn e2ee_required() -> Self {
        let message = "The account is end-to-end encrypted: send what is encrypted.";
        Self::refused(StatusCode::FORBIDDEN, "e2ee_required", message)
    }

    /// The account stores as many bytes as it may.
    pub(crate) fn out_of_storage(storage: StorageUse) -> Self {
        let message = "There is no storage left for it: delete chats or items first.";
        Self::refused(StatusCode::CONFLICT, "quota_exceeded", message)
            .with("resource", "storage")
            .with("limit", storage.limit)
            .with("current", storage.current)
    }

    /// There are as many of something as there may be.
    pub(crate) fn over_quota(resource: &str, limit: u32, current: u32) -> Self {
        let message = format!("There may be {limit} {resource}, and there are {current}.");
        Self::refused(StatusCode::CONFLICT, "quota_exceeded", message)
            .with("resource", resource)
            .with("limit", limit)
            .with("current", current)
    }
}
