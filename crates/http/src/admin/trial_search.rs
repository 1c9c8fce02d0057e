//! `/api/admin/knowledge-bases/{id}/search`: trial of the search that chats make in a
//! knowledge base.

use actix_web::web::{Data, Json};
use pia_identity::Role;
use pia_kernel::KnowledgeBaseId;
use pia_knowledge::{BaseAccess, BaseRef, Passage, Question};
use pia_web::{Body, Caller, PathId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::knowledge::switched_off;
use crate::{Api, HttpError};

/// Returns the passages of a base that a model would read, best first. Managers search
/// the bases of their group.
pub(crate) async fn search(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<TrialSearchRequest>,
) -> Result<Json<Vec<PassageResponse>>, HttpError> {
    let id = KnowledgeBaseId(id);
    let is_admin = caller.0.role == Role::Admin;
    let access = if is_admin { BaseAccess::Server } else { BaseAccess::Group(caller.0.group) };

    let passages = api
        .run(|api| async move {
            api.knowledge.documents.base(BaseRef { access, id }).await?;
            let retrieval = api.knowledge.retrieval.as_ref().ok_or_else(switched_off)?;
            let question = Question { bases: vec![id], text: request.question };
            Ok::<_, HttpError>(retrieval.search(question).await?)
        })
        .await?;

    Ok(Json(passages.into_iter().map(Into::into).collect()))
}

/// Question of a trial search.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct TrialSearchRequest {
    /// Text as a member would ask it. Its first 4,000 bytes are searched for.
    question: String,
}

/// Passage that a model would read.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PassageResponse {
    /// Document that is cited.
    #[schema(format = Uuid)]
    document_id: String,
    /// Title of the document.
    title: String,
    /// Source of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_uri: Option<String>,
    /// Headings above the passage.
    path: String,
    /// Text, with what surrounds it in the document.
    text: String,
    /// Cosine similarity with the question.
    similarity: f32,
}

impl From<Passage> for PassageResponse {
    fn from(passage: Passage) -> Self {
        Self {
            document_id: passage.document.to_string(),
            title: passage.title,
            source_uri: passage.source_uri,
            path: passage.path,
            text: passage.text,
            similarity: passage.similarity,
        }
    }
}
