//! `/health`: liveness of the process.

use actix_web::web::Json;
use serde::Serialize;
use utoipa::ToSchema;

/// Reports that the process is alive without checking its dependencies: a
/// restart because of an unreachable database would only make things worse.
pub(crate) async fn health() -> Json<HealthResponse> {
    Json(HealthResponse { status: "healthy" })
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HealthResponse {
    status: &'static str,
}
