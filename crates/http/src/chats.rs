//! `/api/v1/chats`: chats as stored by devices.

mod conversations;
mod list;
mod query;
mod wire;

use actix_web::http::StatusCode;
use actix_web::http::header::ContentType;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use pia_sync::{ChatId, ChatPutOutcome};
use pia_web::{Caller, ClientId, Gzipped, PathId, RawBody};

use crate::{Api, HttpError};

pub(crate) use conversations::{
    ConversationsRequest, ConversationsResponse, SyncResponse, conversations, sync_conversations,
};
pub(crate) use list::{ChatsResponse, list_chats};
pub(crate) use query::PARAMETERS;
pub(crate) use wire::ChatDocument;

/// Stores a chat. If the stored one is newer, the response contains that one,
/// for clients to merge with theirs.
pub(crate) async fn put_chat(
    caller: Caller,
    request: HttpRequest,
    api: Data<Api>,
    ClientId(id): ClientId,
    Gzipped(body): Gzipped<RawBody>,
) -> Result<HttpResponse, HttpError> {
    RawBody::expect_json(&request)?;
    let user = caller.0.user;
    let document = body.into_bytes();
    let outcome =
        api.run(|api| async move { api.chats.put(user, id.map(ChatId), document).await }).await?;
    Ok(match outcome {
        ChatPutOutcome::Created(document) => json(StatusCode::CREATED, document),
        ChatPutOutcome::Replaced(document) => json(StatusCode::OK, document),
        ChatPutOutcome::Newer(stored) => json(StatusCode::CONFLICT, stored.into_document()),
    })
}

/// Returns a chat with its messages.
pub(crate) async fn get_chat(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<HttpResponse, HttpError> {
    let user = caller.0.user;
    let chat = api.run(|api| async move { api.chats.get(user, ChatId(id)).await }).await?;
    Ok(json(StatusCode::OK, chat.into_document()))
}

/// Deletes a chat. One that does not exist counts as deleted, and so does an id
/// that no chat can have.
pub(crate) async fn delete_chat(
    caller: Caller,
    api: Data<Api>,
    ClientId(id): ClientId,
) -> Result<HttpResponse, HttpError> {
    let user = caller.0.user;
    if let Some(id) = id {
        api.run(|api| async move { api.chats.delete(user, ChatId(id)).await }).await?;
    }
    Ok(HttpResponse::NoContent().finish())
}

fn json(status: StatusCode, text: Vec<u8>) -> HttpResponse {
    HttpResponse::build(status).insert_header(ContentType::json()).body(text)
}
