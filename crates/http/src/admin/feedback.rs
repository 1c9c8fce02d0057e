//! `/api/admin/ai-feedback`.

use actix_web::HttpResponse;
use actix_web::http::header::ETag;
use actix_web::web::{Data, Json, Query};
use pia_kernel::{FeedbackId, Timestamp};
use pia_policy::{FeedbackChange, FeedbackEntry, FeedbackFilter, FeedbackStatus, Rating};
use pia_web::{ApiError, Body, Caller, FieldError, Paging, PathId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::row_version::{ExpectedVersion, row_tag};
use super::time_order::parse_order;
use crate::{Api, HttpError};

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FeedbackPage {
    /// Newest first.
    items: Vec<FeedbackResponse>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Report on an answer. Keys that the client sent beside the known ones are in
/// `extension`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FeedbackResponse {
    id: String,
    user_id: String,
    /// `new`, `triaged` or `closed`.
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    message_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_id: Option<String>,
    /// `up` or `down`.
    rating: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer_text: Option<String>,
    pii_tokenized: bool,
    privacy_concern: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    answered_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    reported_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    app_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    locale: Option<String>,
    #[schema(value_type = Object)]
    extension: Map<String, Value>,
    #[schema(value_type = String, format = DateTime)]
    received_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

/// Changes of a report: what is omitted stays.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct TriageRequest {
    /// `new`, `triaged` or `closed`.
    status: Option<String>,
    /// Up to 4,000 characters; an empty text removes the note.
    note: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct FilterQuery {
    /// `new`, `triaged` or `closed`.
    status: Option<String>,
    /// `up` or `down`.
    rating: Option<String>,
    /// `created` for the oldest entry first; `-created`, the default, for the newest.
    sort: Option<String>,
}

/// Lists the reports on answers, newest first.
pub(crate) async fn list(
    api: Data<Api>,
    Query(query): Query<FilterQuery>,
    Paging(page): Paging,
) -> Result<Json<FeedbackPage>, HttpError> {
    let filter = FeedbackFilter {
        status: query.status.as_deref().map(parse_status).transpose()?,
        rating: query.rating.as_deref().map(parse_rating).transpose()?,
        user: None,
        order: parse_order(query.sort.as_deref())?,
    };
    let page = api.run(|api| async move { api.feedback.page(filter, page).await }).await?;
    Ok(Json(FeedbackPage {
        items: page.items.into_iter().map(Into::into).collect(),
        next_cursor: page.next.map(Paging::format_cursor),
    }))
}

/// Returns a report on an answer.
pub(crate) async fn show(api: Data<Api>, PathId(id): PathId) -> Result<HttpResponse, HttpError> {
    let entry = api.run(|api| async move { api.feedback.find(FeedbackId(id)).await }).await?;
    Ok(to_response(entry))
}

/// Changes state and note of a report; an omitted field stays unchanged.
pub(crate) async fn triage(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    ExpectedVersion(expected): ExpectedVersion,
    Body(request): Body<TriageRequest>,
) -> Result<HttpResponse, HttpError> {
    let by = caller.0.user;
    let status = request.status.as_deref().map(parse_status).transpose()?;
    let change = FeedbackChange { status, note: request.note };
    let entry = api
        .run(|api| async move { api.feedback.triage(by, FeedbackId(id), change, expected).await })
        .await?;
    Ok(to_response(entry))
}

fn to_response(entry: FeedbackEntry) -> HttpResponse {
    let tag = ETag(row_tag(entry.updated_at));
    HttpResponse::Ok().insert_header(tag).json(FeedbackResponse::from(entry))
}

fn parse_status(name: &str) -> Result<FeedbackStatus, ApiError> {
    let names = FeedbackStatus::ALL.map(FeedbackStatus::name);
    FeedbackStatus::from_name(name).ok_or_else(|| unknown("status", &names))
}

fn parse_rating(name: &str) -> Result<Rating, ApiError> {
    Rating::from_name(name).ok_or_else(|| unknown("rating", &Rating::ALL.map(Rating::name)))
}

fn unknown(field: &str, names: &[&str]) -> ApiError {
    let message = format!("Choose one of {}.", names.join(", "));
    ApiError::invalid(vec![FieldError { field: field.to_owned(), code: "unknown", message }])
}

impl From<FeedbackEntry> for FeedbackResponse {
    fn from(entry: FeedbackEntry) -> Self {
        let FeedbackEntry { id, user, report, received_at, status, note, updated_at } = entry;
        Self {
            id: id.to_string(),
            user_id: user.to_string(),
            status: status.name(),
            note,
            message_id: report.message_id.to_string(),
            chat_id: report.chat_id.map(|it| it.to_string()),
            rating: report.rating.name(),
            comment: report.comment,
            answer_text: report.answer_text,
            pii_tokenized: report.pii_tokenized,
            privacy_concern: report.privacy_concern,
            model: report.model,
            answered_at: report.answered_at,
            reported_at: report.reported_at,
            app_version: report.app_version,
            locale: report.locale,
            extension: report.extension,
            received_at,
            updated_at,
        }
    }
}
