//! `/api/assignments`: long tasks that users hand over and collect later.

mod wire;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::LOCATION;
use actix_web::web::{Data, Json, Query};
use pia_assignments::{
    AssignmentAdministration, Assignments, CollectionOutcome, Schedules, Webhooks,
};
use pia_kernel::AssignmentId;
use pia_web::{ApiError, Body, Caller, PathId};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{Api, HttpError};

pub(crate) use wire::{
    AssignmentAccepted, AssignmentList, AssignmentRequest, AssignmentResponse, SkillItem,
};

const DEFAULT_ITEMS: i64 = 50;
const MAX_ITEMS: i64 = 200;

/// Lists the skills that are granted to the caller.
pub(crate) async fn skills(
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<Vec<SkillItem>>, HttpError> {
    if !api.assignments.is_enabled {
        return Ok(Json(Vec::new()));
    }
    let skills = api
        .run(|api| async move { api.assignments.assignments.operators(caller.0.user).await })
        .await?;
    Ok(Json(skills.into_iter().map(Into::into).collect()))
}

/// Hands over a long task, whose result is collected later.
pub(crate) async fn enqueue(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<AssignmentRequest>,
) -> Result<HttpResponse, HttpError> {
    api.assignments.check_enabled()?;
    let AssignmentRequest { skill_name, input_json } = request;
    let skill = skill_name.unwrap_or_default();
    let input = input_json.unwrap_or_default();
    let id = api
        .run(|api| async move {
            api.assignments.assignments.enqueue(caller.0.user, &skill, input).await
        })
        .await?
        .to_string();
    let location = (LOCATION, format!("/api/assignments/{id}"));
    Ok(HttpResponse::Accepted().insert_header(location).json(AssignmentAccepted { id }))
}

/// Lists the caller's assignments, newest first, without their contents.
pub(crate) async fn list(
    caller: Caller,
    api: Data<Api>,
    Query(query): Query<AssignmentsQuery>,
) -> Result<Json<AssignmentList>, HttpError> {
    let (skip, limit) = query.bounds();
    let list = api
        .run(
            |api| async move { api.assignments.assignments.list(caller.0.user, skip, limit).await },
        )
        .await?;
    Ok(Json(AssignmentList(list.into_iter().map(Into::into).collect())))
}

/// Returns an assignment with its contents and events.
pub(crate) async fn show(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<AssignmentResponse>, HttpError> {
    let id = AssignmentId(id);
    let details = api
        .run(|api| async move { api.assignments.assignments.load(caller.0.user, id).await })
        .await?;
    Ok(Json(details.ok_or_else(ApiError::not_found)?.into()))
}

/// Cancels an unfinished assignment.
pub(crate) async fn cancel(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<HttpResponse, HttpError> {
    let id = AssignmentId(id);
    let result = api
        .run(|api| async move { api.assignments.assignments.cancel(caller.0.user, id).await })
        .await?;
    if result { Ok(HttpResponse::NoContent().finish()) } else { Err(ApiError::not_found().into()) }
}

/// Deletes the server's copy of an ended assignment's contents.
pub(crate) async fn collect(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<HttpResponse, HttpError> {
    let id = AssignmentId(id);
    let result = api
        .run(|api| async move { api.assignments.assignments.collect(caller.0.user, id).await })
        .await?;
    match result {
        CollectionOutcome::Done => Ok(HttpResponse::NoContent().finish()),
        CollectionOutcome::Unfinished => {
            let message = "The assignment has not ended.";
            let status = StatusCode::CONFLICT;
            let code = "assignment_unfinished";
            Err(ApiError::refused(status, code, message).into())
        }
        CollectionOutcome::NotFound => Err(ApiError::not_found().into()),
    }
}

/// Use cases of assignments.
#[derive(Clone)]
pub struct AssignmentsApi {
    /// Assignments of users.
    pub assignments: Assignments,
    /// Schedules of users.
    pub schedules: Schedules,
    /// Administration of assignments and operators.
    pub administration: AssignmentAdministration,
    /// Webhooks of operators.
    pub webhooks: Webhooks,
    /// True if assignments are accepted. Those of before can be read in any case.
    pub is_enabled: bool,
}

impl AssignmentsApi {
    /// Refuses what hands assignments over while they are off.
    pub(crate) fn check_enabled(&self) -> Result<(), ApiError> {
        if self.is_enabled {
            return Ok(());
        }
        let message = "Assignments are switched off on this server.";
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let code = "assignments_disabled";
        Err(ApiError::refused(status, code, message).without_retry())
    }
}

/// Part of a list: `?skip=0&limit=50`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct AssignmentsQuery {
    /// Number of entries that are left out. 0 by default.
    skip: Option<i64>,
    /// Maximum number of entries: 50 by default, at most 200.
    limit: Option<i64>,
}

impl AssignmentsQuery {
    /// Returns both numbers within their bounds.
    pub(crate) fn bounds(&self) -> (u32, u32) {
        let skip = self.skip.unwrap_or_default().clamp(0, i64::from(i32::MAX));
        let limit = self.limit.unwrap_or(DEFAULT_ITEMS).clamp(1, MAX_ITEMS);
        let number = |it: i64| u32::try_from(it).unwrap_or_default();
        (number(skip), number(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_clamped() {
        let bounds = |skip, limit| AssignmentsQuery { skip, limit }.bounds();

        assert_eq!(bounds(None, None), (0, 50));
        assert_eq!(bounds(Some(-1), Some(0)), (0, 1));
        assert_eq!(bounds(Some(7), Some(200)), (7, 200));
        assert_eq!(bounds(Some(i64::MAX), Some(i64::MAX)), (2_147_483_647, 200));
    }
}
