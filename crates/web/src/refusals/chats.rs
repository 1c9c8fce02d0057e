//! Stored chats.

use actix_web::http::StatusCode;
use pia_sync::{
    ChatFault, DeleteChatError, GetChatError, PutChatError, UnreadableChat, UploadError,
};

use crate::{ApiError, FieldError};

impl From<UnreadableChat> for ApiError {
    fn from(err: UnreadableChat) -> Self {
        match err {
            UnreadableChat::Malformed { line, column } => {
                let message =
                    format!("The chat is not well-formed JSON (line {line}, column {column}).");
                Self::refused(StatusCode::BAD_REQUEST, "malformed_json", message)
            }
            UnreadableChat::Invalid(ChatFault { field, code, message }) => {
                Self::invalid(vec![FieldError { field: field.into_owned(), code, message }])
            }
        }
    }
}

impl From<PutChatError> for ApiError {
    fn from(err: PutChatError) -> Self {
        match err {
            PutChatError::Unreadable(err) => err.into(),
            PutChatError::E2eeRequired => {
                let message = "The account is end-to-end encrypted: send the chat encrypted.";
                Self::refused(StatusCode::FORBIDDEN, "e2ee_required", message)
            }
            // Not 404, by which clients would take it that no chat can be
            // stored here; nor 409, of which they make a new version.
            PutChatError::Deleted => {
                let message = "The chat was deleted after this version of it was written.";
                Self::refused(StatusCode::GONE, "chat_deleted", message)
            }
            PutChatError::Full { limit, current } => {
                let message = "There are as many chats as an account may have: delete some first.";
                Self::refused(StatusCode::CONFLICT, "quota_exceeded", message)
                    .with("resource", "chats")
                    .with("limit", limit)
                    .with("current", current)
            }
            PutChatError::OutOfStorage(storage) => Self::out_of_storage(storage),
            PutChatError::Gone => Self::unauthenticated(),
            PutChatError::Unavailable(err) => err.into(),
        }
    }
}

impl From<DeleteChatError> for ApiError {
    fn from(err: DeleteChatError) -> Self {
        match err {
            DeleteChatError::Gone => Self::unauthenticated(),
            DeleteChatError::Unavailable(err) => err.into(),
        }
    }
}

impl From<GetChatError> for ApiError {
    fn from(err: GetChatError) -> Self {
        match err {
            GetChatError::Unknown => Self::nothing_of_yours(),
            GetChatError::Unavailable(err) => err.into(),
        }
    }
}

impl From<UploadError> for ApiError {
    fn from(err: UploadError) -> Self {
        match err {
            UploadError::Gone => Self::unauthenticated(),
            UploadError::Unavailable(err) => err.into(),
        }
    }
}
