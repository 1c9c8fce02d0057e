//! Uploads of several chats.
//!
//! Each is stored in a transaction of its own, and its result does not affect the
//! others; only an account that is gone, or a store that does not answer, ends an
//! upload early. Chats stored until then stay stored.

use pia_kernel::{StorageUse, Timestamp, Unavailable, UserId};

use super::{
    ChatId, ChatPutOutcome, ChatViolation, Chats, DeleteChatError, NewChat, ParseChatError,
    PutChatError,
};

/// Result of an upload of several chats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// Server's time at the end of the upload.
    pub at: Timestamp,
    /// Results in the order of the request: the chats, then the deletions.
    pub results: Vec<Uploaded>,
}

/// Result for one chat of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uploaded {
    /// Id of the chat; `None` if it could not be read.
    pub id: Option<ChatId>,
    /// Status of the chat.
    pub status: UploadStatus,
}

/// Status of one chat of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadStatus {
    /// Chat was stored.
    Stored,
    /// The stored chat is newer, and was not replaced; carries its time of change.
    Conflict(Timestamp),
    /// Chat is deleted: by this call, or after this version was written.
    Deleted,
    /// The account accepts only encrypted chats.
    E2eeRequired,
    /// User has the maximum number of chats.
    Full {
        /// Maximum number of chats.
        limit: u32,
    },
    /// User's storage would be exceeded.
    OutOfStorage(StorageUse),
    /// Body is not a chat.
    Unreadable(ChatViolation),
}

/// Errors that prevent the remaining chats from being stored.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// The account was deleted after the gates let its owner pass.
    #[error("no such account")]
    Gone,
    /// The store did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

impl Chats {
    /// Stores chats and deletes others, each independently. An unreadable id
    /// in `deleted` is reported in the results.
    pub async fn upload(
        &self,
        user: UserId,
        documents: &[impl AsRef<str> + Sync],
        deleted: &[Option<ChatId>],
    ) -> Result<Upload, UploadError> {
        let mut results = Vec::with_capacity(documents.len() + deleted.len());
        for document in documents {
            results.push(match NewChat::parse(document.as_ref().as_bytes()) {
                Ok(chat) => {
                    let id = Some(chat.id);
                    Uploaded { id, status: self.upload_one(user, chat).await? }
                }
                Err(err) => {
                    let id = NewChat::id_of(document.as_ref().as_bytes());
                    Uploaded { id, status: UploadStatus::Unreadable(violation(err)) }
                }
            });
        }

        for id in deleted {
            let status = match id {
                Some(id) => {
                    self.delete(user, *id).await?;
                    UploadStatus::Deleted
                }
                None => UploadStatus::Unreadable(ChatViolation {
                    field: "id".into(),
                    code: "invalid",
                    message: "An id must be a GUID.".to_owned(),
                }),
            };
            results.push(Uploaded { id: *id, status });
        }

        Ok(Upload { at: self.clock.now(), results })
    }

    async fn upload_one(&self, user: UserId, chat: NewChat) -> Result<UploadStatus, UploadError> {
        Ok(match self.store_chat(user, chat).await {
            Ok(ChatPutOutcome::Created(_) | ChatPutOutcome::Replaced(_)) => UploadStatus::Stored,
            Ok(ChatPutOutcome::Newer(stored)) => UploadStatus::Conflict(stored.updated_at),
            Err(PutChatError::Unreadable(err)) => UploadStatus::Unreadable(violation(err)),
            Err(PutChatError::Deleted) => UploadStatus::Deleted,
            Err(PutChatError::E2eeRequired) => UploadStatus::E2eeRequired,
            Err(PutChatError::Full { limit, .. }) => UploadStatus::Full { limit },
            Err(PutChatError::OutOfStorage(storage)) => UploadStatus::OutOfStorage(storage),
            Err(PutChatError::Gone) => return Err(UploadError::Gone),
            Err(PutChatError::Unavailable(err)) => return Err(err.into()),
        })
    }
}

fn violation(err: ParseChatError) -> ChatViolation {
    match err {
        ParseChatError::Invalid(violation) => violation,
        ParseChatError::Malformed { .. } => {
            let message = "The chat is no JSON.".to_owned();
            ChatViolation { field: "".into(), code: "invalid", message }
        }
    }
}

impl From<DeleteChatError> for UploadError {
    fn from(err: DeleteChatError) -> Self {
        match err {
            DeleteChatError::Gone => Self::Gone,
            DeleteChatError::Unavailable(err) => Self::Unavailable(err),
        }
    }
}
