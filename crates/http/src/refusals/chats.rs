//! HTTP errors of stored chats.

use actix_web::http::StatusCode;
use pia_sync::{
    ChatViolation, DeleteChatError, GetChatError, ParseChatError, PutChatError, UploadError,
};

use pia_web::{ApiError, FieldError};

use super::sync::out_of_storage;
use crate::HttpError;

impl From<ParseChatError> for HttpError {
    fn from(err: ParseChatError) -> Self {
        Self::from(match err {
            ParseChatError::Malformed { line, column } => {
                let message = format!("The chat is not valid JSON (line {line}, column {column}).");
                ApiError::refused(StatusCode::BAD_REQUEST, "malformed_json", message)
            }
            ParseChatError::Invalid(ChatViolation { field, code, message }) => {
                ApiError::invalid(vec![FieldError { field: field.into_owned(), code, message }])
            }
        })
    }
}

impl From<PutChatError> for HttpError {
    fn from(err: PutChatError) -> Self {
        Self::from(match err {
            PutChatError::Unreadable(err) => HttpError::from(err).into(),
            PutChatError::E2eeRequired => {
                let message = "This account is end-to-end encrypted. Send the chat encrypted.";
                ApiError::refused(StatusCode::FORBIDDEN, "e2ee_required", message)
            }
            // Not 404, which clients would take for missing support of stored
            // chats; nor 409, on which they create a new version.
            PutChatError::Deleted => {
                let message = "The chat was deleted after this version was written.";
                ApiError::refused(StatusCode::GONE, "chat_deleted", message)
            }
            PutChatError::Full { limit, current } => {
                let message = "You have reached the maximum number of chats. Delete some first.";
                ApiError::refused(StatusCode::CONFLICT, "quota_exceeded", message)
                    .with("resource", "chats")
                    .with("limit", limit)
                    .with("current", current)
            }
            PutChatError::OutOfStorage(storage) => out_of_storage(storage),
            PutChatError::Gone => ApiError::unauthenticated(),
            PutChatError::Unavailable(err) => err.into(),
        })
    }
}

impl From<DeleteChatError> for HttpError {
    fn from(err: DeleteChatError) -> Self {
        Self::from(match err {
            DeleteChatError::Gone => ApiError::unauthenticated(),
            DeleteChatError::Unavailable(err) => err.into(),
        })
    }
}

impl From<GetChatError> for HttpError {
    fn from(err: GetChatError) -> Self {
        Self::from(match err {
            GetChatError::Unknown => ApiError::not_found(),
            GetChatError::Unavailable(err) => err.into(),
        })
    }
}

impl From<UploadError> for HttpError {
    fn from(err: UploadError) -> Self {
        Self::from(match err {
            UploadError::Gone => ApiError::unauthenticated(),
            UploadError::Unavailable(err) => err.into(),
        })
    }
}
