//! `/api/admin/assignments/schedules`: schedules of all users, without their inputs.

use actix_web::web::{Data, Json, Query};
use pia_assignments::{ScheduleEntry, SkipReason};
use pia_kernel::{Timestamp, UserId};
use pia_web::Paging;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{Api, HttpError};

/// Lists the schedules of all users, or of one, newest first, without their inputs.
pub(crate) async fn list(
    api: Data<Api>,
    Query(query): Query<AdminScheduleQuery>,
    Paging(page): Paging,
) -> Result<Json<AdminSchedulePage>, HttpError> {
    let user = query.user.map(UserId);
    let page = api
        .run(|api| async move { api.assignments.administration.schedules(user, page).await })
        .await?;
    Ok(Json(AdminSchedulePage {
        items: page.items.into_iter().map(Into::into).collect(),
        next_cursor: page.next.map(Paging::format_cursor),
    }))
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct AdminScheduleQuery {
    /// Schedules of this user.
    user: Option<Uuid>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdminSchedulePage {
    /// Schedules, newest first.
    items: Vec<AdminSchedule>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Schedule of a user, without its input.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AdminSchedule {
    #[schema(format = Uuid)]
    id: String,
    #[schema(format = Uuid)]
    user_id: String,
    skill_name: String,
    cron: String,
    time_zone: String,
    is_active: bool,
    /// Next time.
    #[schema(value_type = String, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    next_at: Option<Timestamp>,
    /// Last time.
    #[schema(value_type = String, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    last_at: Option<Timestamp>,
    /// Assignment that was handed over at the last time.
    #[schema(value_type = String, format = Uuid)]
    #[serde(skip_serializing_if = "Option::is_none")]
    last_assignment_id: Option<String>,
    /// Reason why none was: `missed`, `too_many_assignments`, `skill_not_granted`,
    /// `input_refused` or `unreadable`.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_skip: Option<&'static str>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<ScheduleEntry> for AdminSchedule {
    fn from(schedule: ScheduleEntry) -> Self {
        let outcome = schedule.last.map(|it| it.outcome);
        Self {
            id: schedule.id.to_string(),
            user_id: schedule.user.to_string(),
            skill_name: schedule.skill,
            cron: schedule.cron,
            time_zone: schedule.time_zone,
            is_active: schedule.next_at.is_some(),
            next_at: schedule.next_at,
            last_at: schedule.last.map(|it| it.due_at),
            last_assignment_id: outcome.and_then(Result::ok).map(|it| it.to_string()),
            last_skip: outcome.and_then(Result::err).map(SkipReason::code),
            created_at: schedule.created_at,
        }
    }
}
