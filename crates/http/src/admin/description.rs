//! `GET /api/admin/openapi.json`: OpenAPI document of the admin routes.

use actix_web::web::Json;
use pia_web::ApiError;
use serde_json::Value;

use crate::openapi::admin_document;

/// Returns the OpenAPI document of the admin routes.
pub(crate) async fn description() -> Result<Json<Value>, ApiError> {
    Ok(Json(admin_document().map_err(ApiError::internal)?))
}
