//! `/health`: whether the process answers.

use actix_web::web::Json;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HealthResponse {
    status: &'static str,
}

/// Asks nothing of anybody: who restarts a process because its database is
/// away only makes things worse.
pub(crate) async fn health() -> Json<HealthResponse> {
    Json(HealthResponse { status: "healthy" })
}
