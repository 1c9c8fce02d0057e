//! `GET /api/ai/templates`: the built-in templates.

use actix_web::web::Json;
use pia_assistant::templates as built_in;
use pia_web::Caller;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(crate) struct TemplateItem {
    /// A GUID that never changes.
    id: String,
    name: &'static str,
    description: &'static str,
}

/// Without the prompts, which are the server's own.
pub(crate) async fn templates(_: Caller) -> Json<Vec<TemplateItem>> {
    let items = built_in().iter().map(|it| TemplateItem {
        id: it.id.to_string(),
        name: it.name,
        description: it.description,
    });
    Json(items.collect())
}
