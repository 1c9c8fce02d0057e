//! `GET /api/admin/openapi.json`: OpenAPI document of the admin routes.

use actix_web::web::{Data, Json};
use pia_web::ApiError;
use serde_json::Value;

use crate::Api;
use crate::openapi::{admin_document, with_public_url};

/// Returns the OpenAPI document of the admin routes.
pub(crate) async fn description(api: Data<Api>) -> Result<Json<Value>, ApiError> {
    let document = admin_document().map_err(ApiError::internal)?;
    Ok(Json(with_public_url(document, &api)))
}
