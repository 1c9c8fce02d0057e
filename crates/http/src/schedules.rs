//! `/api/assignments/schedules`: assignments that are handed over at recurring
//! times.

use actix_web::HttpResponse;
use actix_web::web::{Data, Json};
use pia_assignments::{CatchUp, Schedule, ScheduleDraft, SkipReason};
use pia_kernel::{ScheduleId, Timestamp};
use pia_web::{ApiError, Body, Caller, FieldError, PathId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Api, HttpError};

/// Lists the caller's schedules, oldest first.
pub(crate) async fn list(
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<Vec<ScheduleItem>>, HttpError> {
    let list =
        api.run(|api| async move { api.assignments.schedules.list(caller.0.user).await }).await?;
    Ok(Json(list.into_iter().map(Into::into).collect()))
}

/// Creates a schedule, which hands the same assignment over at recurring times.
pub(crate) async fn create(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<ScheduleRequest>,
) -> Result<HttpResponse, HttpError> {
    api.assignments.check_enabled()?;
    let draft = request.draft()?;
    let created = api
        .run(|api| async move { api.assignments.schedules.create(caller.0.user, draft).await })
        .await?;
    Ok(HttpResponse::Created().json(ScheduleItem::from(created)))
}

/// Replaces a schedule.
pub(crate) async fn update(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<ScheduleRequest>,
) -> Result<Json<ScheduleItem>, HttpError> {
    let draft = request.draft()?;
    if draft.is_active {
        api.assignments.check_enabled()?;
    }
    let schedule = api
        .run(|api| async move {
            api.assignments.schedules.update(caller.0.user, ScheduleId(id), draft).await
        })
        .await?;
    Ok(Json(schedule.into()))
}

/// Deletes a schedule; assignments that it handed over go on.
pub(crate) async fn delete(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<HttpResponse, HttpError> {
    let user = caller.0.user;
    let is_deleted = api
        .run(|api| async move { api.assignments.schedules.delete(user, ScheduleId(id)).await })
        .await?;
    if is_deleted {
        Ok(HttpResponse::NoContent().finish())
    } else {
        Err(ApiError::not_found().into())
    }
}

/// Schedule that the caller writes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScheduleRequest {
    /// Name of a skill that is granted to the caller, in any case.
    #[schema(value_type = String)]
    skill_name: Option<String>,
    /// Input of each assignment, as for `POST /api/assignments`.
    #[schema(value_type = String)]
    input_json: Option<String>,
    /// Minute, hour, day of the month, month and day of the week: `0 9 * * MON`.
    #[schema(value_type = String)]
    cron: Option<String>,
    /// IANA id of a time zone. UTC by default.
    time_zone: Option<String>,
    /// Rule for times at which nothing could be handed over, since no server ran:
    /// `once` hands one assignment over later, the default; `skip` waits for the
    /// next time.
    catch_up: Option<String>,
    /// False while nothing is handed over. True by default.
    is_active: Option<bool>,
}

/// Schedule.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScheduleItem {
    #[schema(format = Uuid)]
    id: String,
    skill_name: String,
    input_json: String,
    cron: String,
    time_zone: &'static str,
    /// `once` or `skip`.
    catch_up: &'static str,
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
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl ScheduleRequest {
    fn draft(self) -> Result<ScheduleDraft, HttpError> {
        let catch_up = self
            .catch_up
            .as_deref()
            .map_or(Some(CatchUp::Once), CatchUp::from_name)
            .ok_or_else(unknown_catch_up)?;

        Ok(ScheduleDraft {
            skill: self.skill_name.unwrap_or_default(),
            input: self.input_json.unwrap_or_default(),
            cron: self.cron.unwrap_or_default(),
            time_zone: self.time_zone.unwrap_or_else(|| "UTC".to_owned()),
            catch_up,
            is_active: self.is_active.unwrap_or(true),
        })
    }
}

fn unknown_catch_up() -> ApiError {
    ApiError::invalid(vec![FieldError {
        field: "catchUp".to_owned(),
        code: "invalid",
        message: "Expected once or skip.".to_owned(),
    }])
}

impl From<Schedule> for ScheduleItem {
    fn from(schedule: Schedule) -> Self {
        let outcome = schedule.last.map(|it| it.outcome);
        Self {
            id: schedule.id.to_string(),
            skill_name: schedule.skill,
            input_json: schedule.input,
            cron: schedule.recurrence.cron().to_owned(),
            time_zone: schedule.recurrence.zone(),
            catch_up: schedule.catch_up.name(),
            is_active: schedule.next_at.is_some(),
            next_at: schedule.next_at,
            last_at: schedule.last.map(|it| it.due_at),
            last_assignment_id: outcome.and_then(Result::ok).map(|it| it.to_string()),
            last_skip: outcome.and_then(Result::err).map(SkipReason::code),
            created_at: schedule.created_at,
            updated_at: schedule.updated_at,
        }
    }
}
