//! `/api/kb-manager/knowledge-bases`: bases of a manager's group.

use actix_web::web::{Data, Json};
use pia_knowledge::KnowledgeBaseEntry;
use pia_web::{Caller, PathId};
use serde::Serialize;
use utoipa::ToSchema;

use super::path::{managed_base, managed_by};
use super::{KnowledgeEnabled, KnowledgeStats};
use crate::{Api, HttpError};

/// Lists the knowledge bases of the caller's group, by name.
pub(crate) async fn bases(
    _: KnowledgeEnabled,
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<Vec<KnowledgeBaseItem>>, HttpError> {
    let entries = api
        .run(|api| async move { api.knowledge.documents.bases(managed_by(caller)).await })
        .await?;
    Ok(Json(entries.into_iter().map(Into::into).collect()))
}

/// Returns the numbers of a knowledge base.
pub(crate) async fn stats(
    _: KnowledgeEnabled,
    caller: Caller,
    api: Data<Api>,
    id: PathId,
) -> Result<Json<KnowledgeStats>, HttpError> {
    let base = managed_base(caller, id);
    Ok(Json(api.run(|api| async move { api.knowledge.documents.stats(base).await }).await?.into()))
}

/// Knowledge base of the caller's group.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KnowledgeBaseItem {
    #[schema(format = Uuid)]
    id: String,
    name: String,
    document_count: i64,
    /// True if other groups search it, too.
    shared: bool,
    /// True if a prompt tells the model when to search it.
    has_prompt: bool,
}

impl From<KnowledgeBaseEntry> for KnowledgeBaseItem {
    fn from(entry: KnowledgeBaseEntry) -> Self {
        Self {
            id: entry.base.id.to_string(),
            name: entry.base.name,
            document_count: entry.document_count,
            shared: !entry.shared_with.is_empty(),
            has_prompt: entry.base.prompt.is_some(),
        }
    }
}
