//! `/api/admin/usage/hours`: what was used today.

use actix_web::web::{Data, Json};
use pia_assistant::UsageHour;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{Api, HttpError};

/// Lists the 24 hours of today, each with the sums of its calls.
pub(crate) async fn list(api: Data<Api>) -> Result<Json<Vec<UsageHourItem>>, HttpError> {
    let hours = api.run(|api| async move { api.usage.hours_of_today().await }).await?;
    Ok(Json(hours.into_iter().map(UsageHourItem::from).collect()))
}

/// Sum of the calls of an hour.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsageHourItem {
    /// Hour in UTC, 0 to 23.
    hour: u32,
    /// Number of users who called.
    users: i64,
    calls: i64,
    /// Cost in millionths of a credit.
    spent_micros: i64,
    /// Calls that their upstream failed after its response had started.
    failed: i64,
    /// Mean time from the admission of a call to the end of its response, in
    /// milliseconds; absent if there is no call with a duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_millis: Option<i64>,
}

impl From<UsageHour> for UsageHourItem {
    fn from(sum: UsageHour) -> Self {
        Self {
            hour: sum.hour,
            users: sum.users,
            calls: sum.calls,
            spent_micros: sum.spent.0,
            failed: sum.failed,
            mean_millis: sum.mean_millis(),
        }
    }
}
