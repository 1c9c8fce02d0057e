//! `GET /api/v1/chats`: all chats of a user, page by page.
//!
//! Stored chats are JSON already. The response is put together as text around them,
//! so that no chat is parsed; `conversations.rs` does the same with other metadata.

use actix_web::HttpResponse;
use actix_web::http::header::{ContentType, ETAG};
use actix_web::web::Data;
use pia_sync::{ChatId, ChatListOutcome, ChatPage};
use pia_web::{Caller, Paging};
use utoipa::ToSchema;

use super::query::ChatsQuery;
use super::wire::ChatDocument;
use crate::{Api, HttpError};

/// Lists the caller's chats with their messages, oldest change first.
pub(crate) async fn list_chats(
    caller: Caller,
    api: Data<Api>,
    query: ChatsQuery,
) -> Result<HttpResponse, HttpError> {
    list_response(&caller, &api, query, |page, deleted| {
        let mut text = Vec::with_capacity(estimated_length(&page));
        text.extend_from_slice(b"{\"chats\":[");

        for (index, chat) in page.chats.into_iter().enumerate() {
            if index > 0 {
                text.push(b',');
            }
            text.extend_from_slice(&chat.into_document());
        }

        text.push(b']');

        let deleted_ids = deleted.then_some(page.deleted.as_slice());
        append_list_end(text, deleted_ids, page.next.map(Paging::format_cursor))
    })
    .await
}

/// Returns a page of a list as formatted by `format`, or that nothing has
/// changed.
pub(super) async fn list_response(
    caller: &Caller,
    api: &Data<Api>,
    ChatsQuery { list_request, unless }: ChatsQuery,
    format: impl FnOnce(ChatPage, bool) -> Vec<u8>,
) -> Result<HttpResponse, HttpError> {
    let user = caller.0.user;
    let page =
        match api.run(|api| async move { api.chats.list(user, list_request, unless).await }).await?
        {
            ChatListOutcome::Unchanged(version) => {
                let tag = format!("W/\"{}\"", list_request.tag(&version));
                return Ok(HttpResponse::NotModified().insert_header((ETAG, tag)).finish());
            }
            ChatListOutcome::Page(page) => page,
        };

    let mut response = HttpResponse::Ok();
    if list_request.after.is_none() {
        response.insert_header((ETAG, format!("W/\"{}\"", list_request.tag(&page.version))));
    }

    Ok(response.insert_header(ContentType::json()).body(format(page, list_request.deleted)))
}

/// Page of chats.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", example = json!({
    "chats": [],
    "deleted": ["0199f0e0-0000-7000-8000-00000000000b"],
    "hasMore": true,
    "nextCursor": "1785575642183774.0199f0e000007000800000000000000b",
}))]
#[expect(dead_code, reason = "documentation")]
pub(crate) struct ChatsResponse {
    /// Chats, oldest change first.
    chats: Vec<ChatDocument>,
    /// Ids of deleted chats, with `includeDeleted` only.
    deleted: Option<Vec<String>>,
    has_more: bool,
    /// Cursor of the next page; absent on the last.
    next_cursor: Option<String>,
}

/// Returns the estimated length of a page.
pub(super) fn estimated_length(page: &ChatPage) -> usize {
    let chats: usize = page.chats.iter().map(|it| it.text.len() + 256).sum();
    chats + page.deleted.len() * 40 + 256
}

/// Appends what follows the chats: the ids of deleted ones, if requested, and
/// the cursor of the next page.
pub(super) fn append_list_end(
    mut text: Vec<u8>,
    deleted_ids: Option<&[ChatId]>,
    next: Option<String>,
) -> Vec<u8> {
    if let Some(deleted_ids) = deleted_ids {
        let ids: Vec<_> = deleted_ids.iter().map(|it| format!("\"{it}\"")).collect();
        text.extend_from_slice(format!(",\"deleted\":[{}]", ids.join(",")).as_bytes());
    }
    text.extend_from_slice(format!(",\"hasMore\":{}", next.is_some()).as_bytes());
    if let Some(next) = next {
        text.extend_from_slice(format!(",\"nextCursor\":\"{next}\"").as_bytes());
    }
    text.push(b'}');
    text
}
