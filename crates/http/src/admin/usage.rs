//! `/api/admin/usage`: what was used, and its export.

use actix_web::HttpResponse;
use actix_web::http::header::CONTENT_DISPOSITION;
use actix_web::web::{Data, Json, Query};
use pia_assistant::{UsageGrouping, UsageRange, UsageSubject, UsageSum};
use pia_kernel::GroupId;
use pia_web::{ApiError, Caller, FieldError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::usage_csv::usage_csv;
use crate::{Api, HttpError};

/// Maximum number of subjects in a JSON response.
const MAX_ITEMS: u32 = 1000;
/// Maximum number of subjects in an export.
const MAX_ROWS: u32 = 100_000;

/// Returns calls, tokens and credits by day, group, model or user. Managers of an
/// organisation get those of their group.
pub(crate) async fn list(
    caller: Caller,
    api: Data<Api>,
    Query(query): Query<UsageQuery>,
) -> Result<Json<UsageResponse>, HttpError> {
    let (range, by) = parse(&api, &query)?;
    let group = caller.0.visible_group();
    let sums =
        api.run(|api| async move { api.usage.sums(range, by, group, MAX_ITEMS).await }).await?;
    Ok(Json(UsageResponse {
        from: range.first_day().to_string(),
        to: range.last_day().to_string(),
        by: by.name(),
        items: sums.into_iter().map(UsageItem::from).collect(),
    }))
}

/// Returns calls, tokens and credits by day, group, model or user, as CSV.
pub(crate) async fn export(
    caller: Caller,
    api: Data<Api>,
    Query(query): Query<UsageQuery>,
) -> Result<HttpResponse, HttpError> {
    let (range, by) = parse(&api, &query)?;
    export_usage(&api, range, by, caller.0.visible_group()).await
}

/// Returns the sums as a CSV file, of one group or of all.
pub async fn export_usage(
    api: &Data<Api>,
    range: UsageRange,
    by: UsageGrouping,
    group: Option<GroupId>,
) -> Result<HttpResponse, HttpError> {
    let sums =
        api.run(|api| async move { api.usage.sums(range, by, group, MAX_ROWS).await }).await?;
    let from = range.first_day();
    let to = range.last_day();
    let file = format!("attachment; filename=\"usage-by-{}-{from}-{to}.csv\"", by.name());
    Ok(HttpResponse::Ok()
        .content_type("text/csv; charset=utf-8")
        .insert_header((CONTENT_DISPOSITION, file))
        .body(usage_csv(by, &sums)))
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct UsageQuery {
    /// First day in UTC: `2026-01-31`. Without it, 30 days are summed.
    #[schema(value_type = Option<String>, format = Date)]
    from: Option<String>,
    /// Last day, at most 366 days in all. Without it, today.
    #[schema(value_type = Option<String>, format = Date)]
    to: Option<String>,
    /// `day`, `group`, `model` or `user`; without it, `day`.
    by: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsageResponse {
    /// First day in UTC.
    #[schema(value_type = String, format = Date)]
    from: String,
    /// Last day.
    #[schema(value_type = String, format = Date)]
    to: String,
    /// `day`, `group`, `model` or `user`.
    by: &'static str,
    /// Days in order, others by their cost, highest first; at most 1,000.
    items: Vec<UsageItem>,
}

/// Sum of calls. It has the members of one subject: a day, a group, a model or a user.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsageItem {
    #[schema(value_type = Option<String>, format = Date)]
    #[serde(skip_serializing_if = "Option::is_none")]
    day: Option<String>,
    /// Group of the callers at the time of their calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    group_id: Option<String>,
    /// Absent if the group was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    group_name: Option<String>,
    /// Type of the model's provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Caller; a pseudonym if the account was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    /// Absent if the account was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    calls: i64,
    /// Cost in millionths of a credit.
    spent_micros: i64,
    /// Number of users who called; only of a day of all groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    users: Option<i64>,
    /// Calls that their upstream failed after its response had started; none of
    /// the following members is known of a user.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<i64>,
    /// Prompt tokens, cached ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_input_tokens: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens: Option<i64>,
    /// Mean time from the admission of a call to the end of its response, in
    /// milliseconds; absent if there is no call with a duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_millis: Option<i64>,
}

fn parse(api: &Api, query: &UsageQuery) -> Result<(UsageRange, UsageGrouping), HttpError> {
    let range = api.usage.range(query.from.as_deref(), query.to.as_deref())?;
    let name = query.by.as_deref().unwrap_or(UsageGrouping::Day.name());
    let by = UsageGrouping::from_name(name).ok_or_else(|| {
        let names = UsageGrouping::ALL.map(UsageGrouping::name).join(", ");
        let message = format!("Choose one of {names}.");
        ApiError::invalid(vec![FieldError { field: "by".to_owned(), code: "unknown", message }])
    })?;
    Ok((range, by))
}

impl From<UsageSum> for UsageItem {
    fn from(sum: UsageSum) -> Self {
        let details = sum.details;
        let item = Self {
            calls: sum.calls,
            spent_micros: sum.spent.0,
            users: sum.users,
            failed: details.map(|it| it.failed),
            input_tokens: details.map(|it| it.input_tokens),
            cached_input_tokens: details.map(|it| it.cached_input_tokens),
            output_tokens: details.map(|it| it.output_tokens),
            mean_millis: details.and_then(|it| it.mean_millis()),
            ..Self::default()
        };

        match sum.subject {
            UsageSubject::Day(day) => Self { day: Some(day.to_string()), ..item },
            UsageSubject::Group { id, name } => {
                Self { group_id: Some(id.to_string()), group_name: name, ..item }
            }
            UsageSubject::Model { provider, name } => {
                Self { provider: Some(provider), model: Some(name), ..item }
            }
            UsageSubject::User { id, email } => {
                Self { user_id: Some(id.to_string()), email, ..item }
            }
        }
    }
}
