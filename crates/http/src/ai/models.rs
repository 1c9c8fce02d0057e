//! `GET /api/ai/models`: what a caller may name as the `model` of a request.

use actix_web::HttpRequest;
use actix_web::web::{Data, Json};
use pia_web::{ApiError, Caller};
use serde::Serialize;
use utoipa::ToSchema;

use crate::AiApi;
use crate::ai::asker::asker;

/// In the shape of OpenAI's list of models.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModelsResponse {
    /// Always `list`.
    object: &'static str,
    /// `pia-cloud`, which is the model for the caller's mode, and then what the
    /// caller's group may choose from.
    data: Vec<ModelItem>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct ModelItem {
    /// What goes into `model`.
    id: String,
    /// Always `model`.
    object: &'static str,
    /// When it was made, which is not known: always 0.
    created: i64,
    owned_by: &'static str,
}

/// Asks no upstream.
pub(crate) async fn models(
    caller: Caller,
    request: HttpRequest,
    api: Data<AiApi>,
) -> Result<Json<ModelsResponse>, ApiError> {
    let models = api.gateway.models(asker(&caller, &request)).await?;
    let item = |id| ModelItem { id, object: "model", created: 0, owned_by: "pia-server" };
    Ok(Json(ModelsResponse { object: "list", data: models.into_iter().map(item).collect() }))
}
