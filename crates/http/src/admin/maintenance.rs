//! `/api/admin/maintenance`: last runs of the maintenance tasks.

use std::collections::HashMap;

use actix_web::web::{Data, Json};
use pia_kernel::{MaintenanceKind, MaintenanceRun, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{Api, HttpError};

/// Lists the maintenance tasks, each with the last run of any instance.
pub(crate) async fn list(api: Data<Api>) -> Result<Json<Vec<MaintenanceTaskResponse>>, HttpError> {
    let runs = api.run(|api| async move { api.maintenance.last_runs().await }).await?;
    let mut last_runs: HashMap<_, _> = runs.into_iter().collect();
    let tasks = MaintenanceKind::ALL.into_iter();
    Ok(Json(tasks.map(|it| MaintenanceTaskResponse::new(it, last_runs.remove(&it))).collect()))
}

/// Maintenance task with the last run of any instance.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MaintenanceTaskResponse {
    /// Name: `sessions`, `emails` …
    task: &'static str,
    /// `not_run`, `running`, `completed`, or `failed` until a run succeeds.
    status: &'static str,
    /// Start of the last run.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    /// End of the last run that ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<Timestamp>,
    /// Error of the last run that ended, unless it succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Host and process of the instance that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
}

impl MaintenanceTaskResponse {
    fn new(task: MaintenanceKind, run: Option<MaintenanceRun>) -> Self {
        let status = match &run {
            None => "not_run",
            Some(it) if it.error.is_some() => "failed",
            Some(it) if it.is_unfinished() => "running",
            Some(_) => "completed",
        };
        let started_at = run.as_ref().map(|it| it.started_at);
        let finished_at = run.as_ref().and_then(|it| it.finished_at);
        let (error, instance) = run.map(|it| (it.error, it.instance)).unzip();

        Self {
            task: task.name(),
            status,
            started_at,
            finished_at,
            error: error.flatten(),
            instance,
        }
    }
}
