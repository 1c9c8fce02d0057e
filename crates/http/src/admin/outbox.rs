//! `/api/admin/outbox`: emails that wait or failed, without their contents.

use actix_web::web::{Data, Json, Query};
use pia_kernel::{MailId, Timestamp};
use pia_outbox::{MailRecord, MailState};
use pia_web::{ApiError, Caller, FieldError, OptionalBody, Paging, PathId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time_order::parse_order;
use crate::auth::Done;
use crate::auth::mfa::FreshProofRequest;
use crate::{Api, HttpError};

/// Lists the emails that wait or failed, newest first, without their contents.
pub(crate) async fn list(
    api: Data<Api>,
    Query(query): Query<OutboxQuery>,
    Paging(page): Paging,
) -> Result<Json<OutboxPage>, HttpError> {
    let state = query.state.as_deref().map(parse_state).transpose()?;
    let order = parse_order(query.sort.as_deref())?;
    let page = api.run(|api| async move { api.mails.list(None, state, order, page).await }).await?;
    let now = api.clock.now();
    Ok(Json(OutboxPage {
        items: page.items.into_iter().map(|it| OutboxItem::new(it, now)).collect(),
        next_cursor: page.next.map(Paging::format_cursor),
    }))
}

/// Queues an email to the caller that tests the mail server.
pub(crate) async fn send_test(caller: Caller, api: Data<Api>) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    api.run(|api| async move { api.mails.send_test(by).await }).await?;
    Ok(Json(Done::success()))
}

/// Sends an email now that waits for its next attempt.
pub(crate) async fn retry(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    api.run(|api| async move { api.mails.retry(by, MailId(id)).await }).await?;
    Ok(Json(Done::success()))
}

/// Deletes an email that is not being sent.
pub(crate) async fn discard(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    OptionalBody(request): OptionalBody<FreshProofRequest>,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    api.require_owner(caller.0, request.proof_if_any()?).await?;
    api.run(|api| async move { api.mails.discard(by, MailId(id)).await }).await?;
    Ok(Json(Done::success()))
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct OutboxQuery {
    /// `waiting`, `postponed` or `failed`.
    state: Option<String>,
    /// `created` for the oldest entry first; `-created`, the default, for the newest.
    sort: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutboxPage {
    /// Newest first, unless the oldest is requested first.
    items: Vec<OutboxItem>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Email in the outbox, without its subject, text and links.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct OutboxItem {
    id: String,
    /// Name of its template: `password-reset`.
    template: String,
    /// Account that it is for, if it is for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    /// Address of the recipient; absent if it was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// `waiting` for the first attempt, `postponed` to another one, or `failed`.
    state: &'static str,
    /// True while an attempt is in progress.
    is_sending: bool,
    #[schema(value_type = String, format = DateTime)]
    queued_at: Timestamp,
    /// Number of attempts.
    attempts: u32,
    /// Time of the next attempt; absent if it failed.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    next_attempt_at: Option<Timestamp>,
    /// Time at which it was abandoned.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_at: Option<Timestamp>,
    /// Reason why the last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

fn parse_state(name: &str) -> Result<MailState, ApiError> {
    MailState::ALL.into_iter().find(|it| it.name() == name).ok_or_else(|| {
        let message = format!("Choose one of {}.", MailState::ALL.map(MailState::name).join(", "));
        ApiError::invalid(vec![FieldError { field: "state".to_owned(), code: "unknown", message }])
    })
}

impl OutboxItem {
    fn new(mail: MailRecord, now: Timestamp) -> Self {
        Self {
            id: mail.id.to_string(),
            state: mail.state().name(),
            is_sending: mail.is_claimed(now),
            next_attempt_at: mail.failed_at.is_none().then_some(mail.due_at),
            template: mail.template,
            user_id: mail.user.map(|it| it.to_string()),
            address: mail.address,
            queued_at: mail.queued_at,
            attempts: mail.tries,
            failed_at: mail.failed_at,
            failure: mail.failure,
        }
    }
}
