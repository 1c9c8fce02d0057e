//! `GET /api/ai/models`, and one of them: models that a caller may name in a
//! request.

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::web::{Data, Json, Path};
use pia_assistant::Surface;
use pia_web::{ApiError, Caller};
use serde::Serialize;
use utoipa::ToSchema;

use crate::ai::ai_caller::to_ai_caller;
use crate::{AiApi, HttpError};

/// Lists the models without calling an upstream.
pub(crate) async fn models(
    caller: Caller,
    request: HttpRequest,
    api: Data<AiApi>,
) -> Result<Json<ModelsResponse>, HttpError> {
    let models = api.gateway.models(to_ai_caller(&caller, &request)).await?;
    Ok(Json(ModelsResponse { object: "list", data: models.into_iter().map(item).collect() }))
}

/// Returns one model; the response is 404 for all that the caller may not name.
pub(crate) async fn model(
    caller: Caller,
    request: HttpRequest,
    name: Path<String>,
    api: Data<AiApi>,
) -> Result<Json<ModelItem>, HttpError> {
    let ai_caller = to_ai_caller(&caller, &request);
    let code = match ai_caller.surface {
        Surface::Desktop => "not_found",
        Surface::OpenAi => "model_not_found",
    };
    let model = api.gateway.model(ai_caller, &name).await?;
    model.map(|it| Json(item(it))).ok_or_else(|| {
        let message = "This model does not exist, or you may not use it.";
        ApiError::refused(StatusCode::NOT_FOUND, code, message).into()
    })
}

/// List of models in OpenAI's format.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModelsResponse {
    /// Always `list`.
    object: &'static str,
    /// `pia-cloud`, the model for the caller's mode, followed by the models of the
    /// caller's group.
    data: Vec<ModelItem>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct ModelItem {
    /// Value for `model`.
    id: String,
    /// Always `model`.
    object: &'static str,
    /// Time of creation, which is unknown: always 0.
    created: i64,
    owned_by: &'static str,
}

fn item(id: String) -> ModelItem {
    ModelItem { id, object: "model", created: 0, owned_by: "pia-server" }
}
