//! `GET /api/ai/templates`: the built-in templates.

use actix_web::web::Json;
use pia_assistant::templates as built_in;
use pia_web::Caller;
use serde::Serialize;
use utoipa::ToSchema;

/// Lists the templates without their prompts, which are internal.
pub(crate) async fn templates(_: Caller) -> Json<TemplatesResponse> {
    let items = built_in().iter().map(|it| TemplateItem {
        id: it.id.to_string(),
        name: it.name,
        description: it.description,
    });
    Json(TemplatesResponse(items.collect()))
}

#[derive(Serialize, ToSchema)]
pub(crate) struct TemplateItem {
    /// GUID that never changes.
    id: String,
    name: &'static str,
    description: &'static str,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct TemplatesResponse(Vec<TemplateItem>);
