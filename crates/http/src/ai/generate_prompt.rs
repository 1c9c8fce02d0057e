//! `POST /api/ai/generate-prompt`: drafting of a prompt from a description.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use pia_web::{Body, Caller};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ai::ai_caller::to_ai_caller;
use crate::ai::provenance::AI_GENERATED;
use crate::{AiApi, HttpError};

/// Drafts the prompt of a template from a description.
pub(crate) async fn generate_prompt(
    caller: Caller,
    request: HttpRequest,
    api: Data<AiApi>,
    Body(body): Body<GeneratePromptBody>,
) -> Result<HttpResponse, HttpError> {
    let description = body.style_description.unwrap_or_default();
    let prompt = api.drafting.prompt(to_ai_caller(&caller, &request), &description).await?;
    Ok(HttpResponse::Ok().insert_header(AI_GENERATED).json(GeneratePromptResponse { prompt }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GeneratePromptBody {
    /// Style of the texts; at most 4000 UTF-16 code units.
    #[schema(value_type = String)]
    style_description: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct GeneratePromptResponse {
    /// Prompt for a custom template.
    prompt: String,
}
