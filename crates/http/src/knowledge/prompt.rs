//! `/api/kb-manager/knowledge-bases/{kbId}/prompt`: text that tells the model
//! when to search a base.

use actix_web::HttpResponse;
use actix_web::web::{Data, Json};
use pia_web::{Body, Caller, PathId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::KnowledgeEnabled;
use super::path::managed_base;
use crate::{Api, HttpError};

/// Returns the prompt that tells the model when to search a knowledge base.
pub(crate) async fn prompt(
    _: KnowledgeEnabled,
    caller: Caller,
    api: Data<Api>,
    id: PathId,
) -> Result<Json<KnowledgePrompt>, HttpError> {
    let base = managed_base(caller, id);
    let entry = api.run(|api| async move { api.knowledge.documents.base(base).await }).await?;
    Ok(Json(KnowledgePrompt { prompt: entry.base.prompt }))
}

/// Replaces the prompt of a knowledge base; an empty one clears it.
pub(crate) async fn set_prompt(
    _: KnowledgeEnabled,
    caller: Caller,
    api: Data<Api>,
    id: PathId,
    Body(request): Body<KnowledgePromptRequest>,
) -> Result<HttpResponse, HttpError> {
    let base = managed_base(caller, id);
    let by = Some(caller.0.user);
    api.run(
        |api| async move { api.knowledge.documents.set_prompt(by, base, request.prompt).await },
    )
    .await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Prompt of a knowledge base.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KnowledgePrompt {
    /// Text that tells the model when to search the base; absent if there is
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct KnowledgePromptRequest {
    /// Up to 8,000 characters; an empty text clears the prompt.
    #[schema(value_type = String)]
    prompt: Option<String>,
}
