//! HTTP errors of synchronisation.

use actix_web::http::StatusCode;
use pia_kernel::StorageUse;
use pia_sync::{MAX_CHANGES_PER_PUSH, PullError, PushError, QuotaExceeded, SupportError};

use pia_web::{ApiError, FieldError};

use crate::HttpError;

impl From<PushError> for HttpError {
    fn from(err: PushError) -> Self {
        Self::from(match err {
            PushError::E2eeRequired => e2ee_required(),
            PushError::OverQuota(QuotaExceeded { channel, limit, current }) => {
                over_quota(channel.name(), limit, current)
            }
            PushError::OutOfStorage(storage) => out_of_storage(storage),
            PushError::TooMany => {
                let message = format!(
                    "A push can contain at most {MAX_CHANGES_PER_PUSH} changes. Split it up."
                );
                ApiError::invalid(vec![FieldError {
                    field: String::new(),
                    code: "too_many_items",
                    message,
                }])
            }
            PushError::Gone => ApiError::unauthenticated(),
            PushError::Unavailable(err) => err.into(),
        })
    }
}

impl From<PullError> for HttpError {
    fn from(err: PullError) -> Self {
        Self::from(match err {
            PullError::Gone => ApiError::unauthenticated(),
            PullError::Unavailable(err) => err.into(),
        })
    }
}

impl From<SupportError> for HttpError {
    fn from(err: SupportError) -> Self {
        Self::from(match err {
            SupportError::Gone => ApiError::unauthenticated(),
            SupportError::Unavailable(err) => err.into(),
        })
    }
}

/// Returns the error for plaintext in an end-to-end encrypted account.
fn e2ee_required() -> ApiError {
    let message = "This account is end-to-end encrypted. Send encrypted items.";
    ApiError::refused(StatusCode::FORBIDDEN, "e2ee_required", message)
}

/// Returns the error for a change that would exceed the account's storage.
pub(super) fn out_of_storage(storage: StorageUse) -> ApiError {
    let message = "Your storage is full. Delete chats or items first.";
    ApiError::refused(StatusCode::CONFLICT, "quota_exceeded", message)
        .with("resource", "storage")
        .with("limit", storage.limit)
        .with("current", storage.current)
}

/// Returns the error for an item beyond the maximum number of an account.
fn over_quota(resource: &str, limit: u32, current: u32) -> ApiError {
    let message = format!("There may be {limit} {resource}, and there are {current}.");
    ApiError::refused(StatusCode::CONFLICT, "quota_exceeded", message)
        .with("resource", resource)
        .with("limit", limit)
        .with("current", current)
}
