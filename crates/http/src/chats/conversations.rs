//! `/api/conversations`: the same chats under the names of the hosted instance.

use std::borrow::Cow;

use actix_web::HttpResponse;
use actix_web::web::{Data, Json};
use pia_kernel::Timestamp;
use pia_sync::{ChatId, StoredChat, Upload, UploadStatus, Uploaded};
use pia_web::{ApiError, Body, Caller, FieldError, Gzipped, Paging};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use super::list::{append_list_end, estimated_length, list_response};
use super::query::ChatsQuery;
use super::wire::ChatDocument;
use crate::{Api, HttpError};

/// Maximum number of chats that one call may store and delete: each needs a
/// transaction.
const MAX_CONVERSATIONS: usize = 500;

/// Lists the caller's chats with metadata, oldest change first.
pub(crate) async fn conversations(
    caller: Caller,
    api: Data<Api>,
    query: ChatsQuery,
) -> Result<HttpResponse, HttpError> {
    list_response(&caller, &api, query, |page, deleted| {
        let mut text = Vec::with_capacity(2 * estimated_length(&page));
        text.extend_from_slice(b"{\"conversations\":[");

        for (index, chat) in page.chats.into_iter().enumerate() {
            if index > 0 {
                text.push(b',');
            }
            write(chat, &mut text);
        }

        text.push(b']');

        let deleted_ids = deleted.then_some(page.deleted.as_slice());
        append_list_end(text, deleted_ids, page.next.map(Paging::format_cursor))
    })
    .await
}

/// Stores and deletes several chats, each independently.
pub(crate) async fn sync_conversations(
    caller: Caller,
    api: Data<Api>,
    Gzipped(Body(request)): Gzipped<Body<ConversationsRequest>>,
) -> Result<Json<SyncResponse>, HttpError> {
    let documents = request.conversations.unwrap_or_default();
    let deleted: Vec<_> = request.deleted.unwrap_or_default().iter().map(parse_id).collect();
    if documents.len() + deleted.len() > MAX_CONVERSATIONS {
        let message =
            format!("A request may store and delete at most {MAX_CONVERSATIONS} conversations.");
        let field = "conversations".to_owned();
        let error = FieldError { field, code: "too_many", message };
        return Err(ApiError::invalid(vec![error]).into());
    }

    let user = caller.0.user;

    let upload_outcome = api
        .run(|api| async move {
            let texts: Vec<&str> = documents.iter().map(|it| it.get()).collect();
            api.chats.upload(user, &texts, &deleted).await
        })
        .await?;
    Ok(Json(upload_outcome.into()))
}

/// Page of conversations.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "documentation")]
pub(crate) struct ConversationsResponse {
    /// Conversations, oldest change first.
    conversations: Vec<Conversation>,
    /// Ids of deleted conversations, with `includeDeleted` only.
    deleted: Option<Vec<String>>,
    has_more: bool,
    /// Cursor of the next page; absent on the last.
    next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Conversation {
    id: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// `updatedAt` if never set.
    #[schema(value_type = String, format = DateTime)]
    last_accessed_at: Timestamp,
    /// True if only the owner's devices can read the chat.
    encrypted: bool,
    /// Chat as `/api/v1/chats` returns it.
    // Never set: the document is appended as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = ChatDocument, required = true)]
    document: Option<()>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ConversationsRequest {
    /// Chats as in `PUT /api/v1/chats/{id}`; up to 500 together with `deleted`.
    #[schema(value_type = Option<Vec<ChatDocument>>)]
    conversations: Option<Vec<Box<RawValue>>>,
    /// Ids of chats to delete.
    #[schema(value_type = Option<Vec<String>>)]
    deleted: Option<Vec<Value>>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SyncResponse {
    /// Results in the order of the request: the chats, then the deletions.
    results: Vec<SyncResult>,
    #[schema(value_type = String, format = DateTime)]
    server_timestamp: Timestamp,
}

#[derive(Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SyncResult {
    /// Id of the chat; absent if the request had no valid one.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// `stored`, `conflict` (the stored chat is newer), `deleted` or `refused`.
    status: &'static str,
    /// Stored change time, of a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    updated_at: Option<Timestamp>,
    /// Error code as of `PUT /api/v1/chats/{id}`, of a refused chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
    /// Invalid field, of a refused chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<Cow<'static, str>>,
    /// Message for people, of a refused chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// Appends the document to its metadata as it is.
fn write(chat: StoredChat, text: &mut Vec<u8>) {
    let metadata = Conversation {
        id: chat.id.to_string(),
        created_at: chat.created_at,
        updated_at: chat.updated_at,
        last_accessed_at: chat.accessed_at.unwrap_or(chat.updated_at),
        encrypted: chat.encrypted,
        document: None,
    };
    let mut object = serde_json::to_vec(&metadata).unwrap_or_default();
    object.pop();
    text.extend_from_slice(&object);
    text.extend_from_slice(b",\"document\":");
    text.extend_from_slice(&chat.into_document());
    text.push(b'}');
}

fn parse_id(text: &Value) -> Option<ChatId> {
    Uuid::try_parse(text.as_str()?).ok().map(ChatId)
}

impl From<Upload> for SyncResponse {
    fn from(upload: Upload) -> Self {
        let results = upload.results.into_iter().map(Into::into).collect();
        Self { results, server_timestamp: upload.at }
    }
}

impl From<Uploaded> for SyncResult {
    fn from(Uploaded { id, status }: Uploaded) -> Self {
        let refused = |error, field, message| Self {
            status: "refused",
            error: Some(error),
            field,
            message: Some(message),
            ..Self::default()
        };

        let result = match status {
            UploadStatus::Stored => Self { status: "stored", ..Self::default() },
            UploadStatus::Deleted => Self { status: "deleted", ..Self::default() },
            UploadStatus::Conflict(at) => {
                Self { status: "conflict", updated_at: Some(at), ..Self::default() }
            }
            UploadStatus::E2eeRequired => {
                let message = "This account is end-to-end encrypted. Send the chat encrypted.";
                refused("e2ee_required", None, message.to_owned())
            }
            UploadStatus::Full { limit } => {
                let message = format!("An account may have {limit} chats.");
                refused("quota_exceeded", None, message)
            }
            UploadStatus::OutOfStorage(storage) => {
                let message = format!("An account may store {} bytes.", storage.limit);
                refused("quota_exceeded", None, message)
            }
            UploadStatus::Unreadable(violation) => {
                refused("validation_failed", Some(violation.field), violation.message)
            }
        };

        Self { id: id.map(|it| it.to_string()), ..result }
    }
}
