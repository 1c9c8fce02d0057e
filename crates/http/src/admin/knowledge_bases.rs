//! `/api/admin/knowledge-bases`, and the bases of a managed persona.

use actix_web::HttpResponse;
use actix_web::web::{Data, Json};
use pia_kernel::{GroupId, GroupSelection, KnowledgeBaseId, PersonaId, Timestamp};
use pia_knowledge::{BaseAccess, BaseDraft, BaseRef, KnowledgeBaseEntry, KnowledgeError};
use pia_web::{ApiError, Body, Caller, FieldError, PathId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::personas::{EntryGroupsRequest, EntryId, required};
use crate::auth::Done;
use crate::knowledge::{KnowledgeDocument, KnowledgeStats};
use crate::{Api, HttpError};

/// Lists the knowledge bases, by name.
pub(crate) async fn list(api: Data<Api>) -> Result<Json<Vec<KnowledgeBaseResponse>>, HttpError> {
    let entries = api.run(|api| async move { api.knowledge.bases.list().await }).await?;
    Ok(Json(entries.into_iter().map(Into::into).collect()))
}

/// Returns a knowledge base.
pub(crate) async fn show(
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<KnowledgeBaseResponse>, HttpError> {
    let entry =
        api.run(|api| async move { api.knowledge.bases.find(KnowledgeBaseId(id)).await }).await?;
    Ok(Json(entry.into()))
}

/// Returns the numbers of a knowledge base.
pub(crate) async fn stats(
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<KnowledgeStats>, HttpError> {
    let stats =
        api.run(|api| async move { api.knowledge.documents.stats(any_base(id)).await }).await?;
    Ok(Json(stats.into()))
}

/// Lists the documents of a knowledge base, by title.
pub(crate) async fn documents(
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Vec<KnowledgeDocument>>, HttpError> {
    let list =
        api.run(|api| async move { api.knowledge.documents.list(any_base(id)).await }).await?;
    Ok(Json(list.into_iter().map(Into::into).collect()))
}

/// Creates a knowledge base that a group owns.
pub(crate) async fn create(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<KnowledgeBaseRequest>,
) -> Result<HttpResponse, HttpError> {
    let by = Some(caller.0.user);
    let draft = BaseDraft { name: request.name, owner: request.group_id.map(GroupId) };
    let base =
        api.run(|api| async move {
            api.knowledge.bases.create(by, draft).await.map_err(creation_error)
        })
        .await?;
    Ok(HttpResponse::Created().json(KnowledgeBaseCreated { id: base.id.to_string() }))
}

/// Renames a knowledge base.
pub(crate) async fn rename(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<KnowledgeBaseNameRequest>,
) -> Result<Json<Done>, HttpError> {
    let by = Some(caller.0.user);
    api.run(|api| async move {
        api.knowledge.bases.rename(by, KnowledgeBaseId(id), request.name).await
    })
    .await?;
    Ok(Json(Done::success()))
}

/// Deletes a knowledge base with its documents.
pub(crate) async fn delete(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, HttpError> {
    let by = Some(caller.0.user);
    api.run(|api| async move { api.knowledge.bases.delete(by, KnowledgeBaseId(id)).await }).await?;
    Ok(Json(Done::success()))
}

/// Replaces the groups that a knowledge base is shared with, beside its owner.
pub(crate) async fn share(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<EntryGroupsRequest>,
) -> Result<Json<Done>, HttpError> {
    let by = Some(caller.0.user);
    let groups = required("groupIds", request.group_ids)?.into_iter().map(GroupId).collect();
    let groups = GroupSelection::Exactly(groups);
    api.run(|api| async move { api.knowledge.bases.share(by, KnowledgeBaseId(id), groups).await })
        .await?;
    Ok(Json(Done::success()))
}

/// Lists the knowledge bases of a managed persona.
pub(crate) async fn of_persona(
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Vec<EntryId>>, HttpError> {
    let bound =
        api.run(|api| async move { api.knowledge.bases.list_bound(PersonaId(id)).await }).await?;
    Ok(Json(bound.iter().map(|it| EntryId(it.to_string())).collect()))
}

/// Replaces the knowledge bases of a managed persona, which the persona's chats search.
pub(crate) async fn bind(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<PersonaBasesRequest>,
) -> Result<Json<Done>, HttpError> {
    let by = Some(caller.0.user);
    let ids = required("knowledgeBaseIds", request.knowledge_base_ids)?
        .into_iter()
        .map(KnowledgeBaseId)
        .collect();
    api.run(|api| async move { api.knowledge.bases.bind(by, PersonaId(id), ids).await }).await?;
    Ok(Json(Done::success()))
}

/// New knowledge base.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KnowledgeBaseRequest {
    /// Up to 100 characters, unique on the server.
    #[schema(value_type = String)]
    name: Option<String>,
    /// Group that owns the base, and whose quotas its documents count against.
    #[schema(value_type = Uuid)]
    group_id: Option<Uuid>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct KnowledgeBaseNameRequest {
    /// Up to 100 characters, unique on the server.
    #[schema(value_type = String)]
    name: Option<String>,
}

/// All knowledge bases that are to be bound to the persona.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PersonaBasesRequest {
    #[schema(value_type = Vec<Uuid>)]
    knowledge_base_ids: Option<Vec<Uuid>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KnowledgeBaseCreated {
    #[schema(format = Uuid)]
    id: String,
}

/// Knowledge base with its groups.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KnowledgeBaseResponse {
    #[schema(format = Uuid)]
    id: String,
    name: String,
    /// Group that owns the base.
    #[schema(format = Uuid)]
    group_id: String,
    /// Groups that the base is shared with, beside its owner.
    #[schema(value_type = Vec<Uuid>)]
    shared_group_ids: Vec<String>,
    document_count: i64,
    /// Text that tells the model when to search the base.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

fn any_base(id: Uuid) -> BaseRef {
    BaseRef { access: BaseAccess::Server, id: KnowledgeBaseId(id) }
}

/// Returns the error of creating a base, whose one group is its owner.
fn creation_error(err: KnowledgeError) -> HttpError {
    match err {
        KnowledgeError::UnknownGroup(_) => {
            let field = "groupId".to_owned();
            let message = err.to_string();
            ApiError::invalid(vec![FieldError { field, code: "unknown", message }]).into()
        }
        err => err.into(),
    }
}

impl From<KnowledgeBaseEntry> for KnowledgeBaseResponse {
    fn from(entry: KnowledgeBaseEntry) -> Self {
        let KnowledgeBaseEntry { base, document_count, shared_with, .. } = entry;
        Self {
            id: base.id.to_string(),
            name: base.name,
            group_id: base.owner.to_string(),
            shared_group_ids: shared_with.iter().map(ToString::to_string).collect(),
            document_count,
            prompt: base.prompt,
            created_at: base.created_at,
        }
    }
}
