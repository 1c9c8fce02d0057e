//! `/api/admin/assignments`: assignments of all users, their queue and workers.

use actix_web::web::{Data, Json, Query};
use pia_assignments::{Assignment, Worker};
use pia_kernel::{AssignmentId, Timestamp};
use pia_web::{Caller, ClientId, OptionalBody};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::assignments::AssignmentsQuery;
use crate::{Api, HttpError};

/// Lists the assignments of all users, newest first.
pub(crate) async fn list(
    api: Data<Api>,
    Query(query): Query<AssignmentsQuery>,
) -> Result<Json<AdminAssignments>, HttpError> {
    let (skip, limit) = query.bounds();
    let list = api
        .run(|api| async move { api.assignments.administration.list(skip, limit).await })
        .await?;
    Ok(Json(AdminAssignments(list.into_iter().map(Into::into).collect())))
}

/// Ends an unfinished assignment.
pub(crate) async fn terminate(
    caller: Caller,
    api: Data<Api>,
    ClientId(id): ClientId,
    OptionalBody(request): OptionalBody<TerminationRequest>,
) -> Result<Json<TerminationResponse>, HttpError> {
    // An invalid id names nothing to end, as an unknown one does.
    let Some(id) = id else { return Ok(Json(TerminationResponse { changed: false })) };
    let by = Some(caller.0.user);
    let changed = api
        .run(|api| async move {
            api.assignments
                .administration
                .terminate(by, AssignmentId(id), request.reason.as_deref())
                .await
        })
        .await?;
    Ok(Json(TerminationResponse { changed }))
}

/// Returns the state of the queue, and the workers.
pub(crate) async fn queue(api: Data<Api>) -> Result<Json<AssignmentQueue>, HttpError> {
    let (queue, workers) = api
        .run(|api| async move {
            Ok::<_, pia_kernel::Unavailable>((
                api.assignments.administration.queue().await?,
                api.assignments.administration.workers().await?,
            ))
        })
        .await?;
    Ok(Json(AssignmentQueue {
        enabled: api.assignments.is_enabled,
        queued: queue.queued,
        running: queue.running,
        oldest_queued_at: queue.oldest_queued_at,
        workers: workers.into_iter().map(Into::into).collect(),
    }))
}

/// Assignment of a user, without contents and error message.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdminAssignment {
    #[schema(format = Uuid)]
    id: String,
    #[schema(format = Uuid)]
    user_id: String,
    skill_name: String,
    mode: String,
    /// `Queued`, `Running`, `Completed`, `Failed` or `Cancelled`.
    status: &'static str,
    step_count: i32,
    tokens_spent: i64,
    tokens_abandoned: i64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<String>,
}

/// Assignments of all users, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AdminAssignments(Vec<AdminAssignment>);

#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct TerminationRequest {
    /// Reason, which the user reads; cut to 1,024 characters.
    reason: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TerminationResponse {
    /// False if there was nothing to end.
    changed: bool,
}

/// State of the queue, and the workers.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AssignmentQueue {
    /// True if assignments are accepted.
    enabled: bool,
    queued: i64,
    running: i64,
    #[schema(value_type = String, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_queued_at: Option<Timestamp>,
    workers: Vec<AssignmentWorker>,
}

/// Worker that is alive.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AssignmentWorker {
    #[schema(format = Uuid)]
    id: String,
    /// Name of its machine.
    host: String,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    /// Number of assignments that it works on.
    runs: i64,
}

impl From<Assignment> for AdminAssignment {
    fn from(it: Assignment) -> Self {
        Self {
            id: it.id.to_string(),
            user_id: it.user.to_string(),
            skill_name: it.skill,
            mode: it.mode,
            status: it.status.name(),
            step_count: it.step_count,
            tokens_spent: it.tokens_spent,
            tokens_abandoned: it.tokens_abandoned,
            created_at: it.created_at,
            updated_at: it.updated_at,
            started_at: it.started_at,
            completed_at: it.completed_at,
            error_code: it.error_code,
        }
    }
}

impl From<Worker> for AssignmentWorker {
    fn from(worker: Worker) -> Self {
        let Worker { id, host, started_at, runs, alive_until: _ } = worker;
        Self { id: id.0.to_string(), host, started_at, runs }
    }
}
