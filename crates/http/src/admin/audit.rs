//! `/api/admin/audit`: search in the audit log, and its export.
//!
//! Both take the same query. The list is a page with a cursor, and the export
//! walks all pages while it streams, so that its memory does not depend on the
//! size of the log. The console calls `export_audit_log` too.

use std::error::Error;
use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::http::header::CONTENT_DISPOSITION;
use actix_web::web::{Data, Json, Query};
use bytes::Bytes;
use futures_util::stream;
use pia_kernel::{
    AuditFilter, AuditLog, AuditRecord, AuditSide, Cursor, PageRequest, Timestamp, UserId,
};
use pia_web::{ApiError, FieldError, Paging};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use super::time_order::parse_order;
use crate::{Api, HttpError};

/// Number of entries that an export loads at once.
const EXPORT_PAGE: u16 = 500;

/// Lists the entries of the audit log, newest first.
pub(crate) async fn list(
    api: Data<Api>,
    Query(query): Query<AuditQuery>,
    Paging(request): Paging,
) -> Result<Json<AuditPage>, HttpError> {
    let filter = AuditFilter::try_from(query)?;
    let entries =
        api.run(|api| async move { api.audit.page(&filter, request.and_one_more()).await }).await?;
    let page = request.into_page(entries, cursor);
    Ok(Json(AuditPage {
        items: page.items.into_iter().map(Into::into).collect(),
        next_cursor: page.next.map(Paging::format_cursor),
    }))
}

/// Streams the entries of the audit log, newest first, as lines of JSON.
pub(crate) async fn export(
    api: Data<Api>,
    Query(query): Query<AuditQuery>,
) -> Result<HttpResponse, HttpError> {
    Ok(export_audit_log(&api, query.try_into()?))
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct AuditQuery {
    /// Entries in which this user is on either side.
    user: Option<Uuid>,
    /// Entries of this action: `Group.Created`.
    action: Option<String>,
    /// Entries of this time and later.
    #[schema(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
    /// Entries before this time.
    #[schema(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
    /// `created` for the oldest entry first; `-created`, the default, for the newest.
    sort: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditPage {
    /// Newest first, unless the oldest is requested first.
    items: Vec<AuditItem>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AuditItem {
    id: String,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    action: String,
    /// Object of the action, if that is no person: `group:…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    /// Request that caused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    /// Members that the action changed, each with its value `before` and
    /// `after`; a value that was not there is absent.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Box<RawValue>>,
    /// Person who acted; absent if nobody is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<AuditedPerson>,
    /// Person whom it happened to, if that is somebody else.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<AuditedPerson>,
}

#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AuditedPerson {
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    /// IP address that they called from.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<String>,
    /// True if the person's account was deleted, and what identified them.
    #[serde(skip_serializing_if = "is_false")]
    forgotten: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Export in progress.
struct Export {
    log: Arc<dyn AuditLog>,
    filter: AuditFilter,
    after: Option<Cursor>,
    is_done: bool,
}

/// Streams the selected entries of the audit log, in their order, as lines of
/// JSON.
pub fn export_audit_log(api: &Api, filter: AuditFilter) -> HttpResponse {
    let log = Arc::clone(&api.audit);
    let export = Export { log, filter, after: None, is_done: false };
    HttpResponse::Ok()
        .content_type("application/jsonl")
        .insert_header((CONTENT_DISPOSITION, "attachment; filename=\"audit.jsonl\""))
        .streaming(stream::try_unfold(export, Export::next))
}

fn cursor(entry: &AuditRecord) -> Cursor {
    Cursor { at: entry.at, id: entry.id }
}

impl Export {
    /// Loads the next entries and formats each as a line. An error closes the
    /// connection before the response is complete.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, Box<dyn Error>> {
        if self.is_done {
            return Ok(None);
        }

        let page = PageRequest { after: self.after, limit: EXPORT_PAGE };
        let entries = self.log.page(&self.filter, page).await?;
        self.after = entries.last().map(cursor);
        self.is_done = entries.len() < usize::from(EXPORT_PAGE);
        let mut lines = Vec::new();
        for entry in entries {
            serde_json::to_writer(&mut lines, &AuditItem::from(entry))?;
            lines.push(b'\n');
        }

        Ok(Some((lines.into(), self)))
    }
}

impl TryFrom<AuditQuery> for AuditFilter {
    type Error = ApiError;

    fn try_from(query: AuditQuery) -> Result<Self, ApiError> {
        let AuditQuery { user, action, since, until, sort } = query;
        // PostgreSQL compares no text with a NUL.
        if action.as_ref().is_some_and(|it| it.contains('\0')) {
            let message = "There is no such action.".to_owned();
            let field = "action".to_owned();
            return Err(ApiError::invalid(vec![FieldError { field, code: "invalid", message }]));
        }

        let order = parse_order(sort.as_deref())?;
        Ok(Self { user: user.map(UserId), action, object: None, since, until, order })
    }
}

impl From<AuditRecord> for AuditItem {
    fn from(entry: AuditRecord) -> Self {
        let AuditRecord { id, at, action, object, request, changes, actor, subject } = entry;
        Self {
            id: id.to_string(),
            at,
            action,
            object,
            request_id: request,
            changes: changes.and_then(|it| RawValue::from_string(it).ok()),
            actor: format_side(actor),
            subject: format_side(subject),
        }
    }
}

fn format_side(side: AuditSide) -> Option<AuditedPerson> {
    match side {
        AuditSide::Nobody => None,
        AuditSide::Forgotten => Some(AuditedPerson { forgotten: true, ..Default::default() }),
        AuditSide::Known(party) => Some(AuditedPerson {
            user_id: party.user.map(|it| it.to_string()),
            address: party.address.map(|it| it.to_string()),
            user_agent: party.agent,
            forgotten: false,
        }),
    }
}
