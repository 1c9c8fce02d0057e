//! `/api/admin/managed-personas`.

use actix_web::HttpResponse;
use actix_web::http::header::ETag;
use actix_web::web::{Data, Json};
use pia_kernel::{GroupId, GroupSelection, PersonaId, PluginId, Timestamp};
use pia_policy::{PersonaContent, PersonaDraft, PersonaEntry, PublishedPersona};
use pia_web::{ApiError, Body, Caller, FieldError, PathId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::row_version::{ExpectedVersion, row_tag};
use crate::auth::Done;
use crate::{Api, HttpError};

/// Lists the managed personas, by name.
pub(crate) async fn list(api: Data<Api>) -> Result<Json<Vec<PersonaSummary>>, HttpError> {
    let entries = api.run(|api| async move { api.personas.list().await }).await?;
    Ok(Json(entries.into_iter().map(Into::into).collect()))
}

/// Returns a managed persona.
pub(crate) async fn show(api: Data<Api>, PathId(id): PathId) -> Result<HttpResponse, HttpError> {
    let persona = api.run(|api| async move { api.personas.find(PersonaId(id)).await }).await?;
    let tag = ETag(row_tag(persona.updated_at));
    Ok(HttpResponse::Ok().insert_header(tag).json(PersonaResponse::from(persona)))
}

/// Lists the groups of a managed persona.
pub(crate) async fn groups(
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Vec<EntryId>>, HttpError> {
    let groups = api.run(|api| async move { api.personas.groups_of(PersonaId(id)).await }).await?;
    Ok(Json(groups.iter().map(|it| EntryId(it.to_string())).collect()))
}

/// Lists the plugins of a managed persona.
pub(crate) async fn plugins(
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Vec<EntryId>>, HttpError> {
    let plugins =
        api.run(|api| async move { api.personas.plugins_of(PersonaId(id)).await }).await?;
    Ok(Json(plugins.iter().map(|it| EntryId(it.to_string())).collect()))
}

/// Creates a managed persona.
pub(crate) async fn create(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<PersonaRequest>,
) -> Result<HttpResponse, HttpError> {
    let by = caller.0.user;
    let draft = request.into();
    let persona = api.run(|api| async move { api.personas.create(by, draft).await }).await?;
    let tag = ETag(row_tag(persona.updated_at));
    let created = PersonaCreated { id: persona.id.to_string() };
    Ok(HttpResponse::Created().insert_header(tag).json(created))
}

/// Replaces a managed persona; an omitted field is cleared, but for `isActive`.
pub(crate) async fn replace(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    ExpectedVersion(expected): ExpectedVersion,
    Body(request): Body<PersonaRequest>,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    let draft = request.into();
    api.run(|api| async move { api.personas.replace(by, PersonaId(id), draft, expected).await })
        .await?;
    Ok(Json(Done::success()))
}

/// Deletes a managed persona.
pub(crate) async fn delete(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    api.run(|api| async move { api.personas.delete(by, PersonaId(id)).await }).await?;
    Ok(Json(Done::success()))
}

/// Replaces the groups of a managed persona.
pub(crate) async fn assign(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<EntryGroupsRequest>,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    let groups = required("groupIds", request.group_ids)?.into_iter().map(GroupId).collect();
    let groups = GroupSelection::Exactly(groups);
    api.run(|api| async move { api.personas.assign(by, PersonaId(id), groups).await }).await?;
    Ok(Json(Done::success()))
}

/// Replaces the plugins of a managed persona.
pub(crate) async fn bind(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<PersonaPluginsRequest>,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    let plugins = required("pluginIds", request.plugin_ids)?.into_iter().map(PluginId).collect();
    api.run(|api| async move { api.personas.bind(by, PersonaId(id), plugins).await }).await?;
    Ok(Json(Done::success()))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PersonaRequest {
    /// Up to 255 characters.
    #[schema(value_type = String)]
    name: Option<String>,
    /// Line under the name, of up to 280 characters.
    tagline: Option<String>,
    /// Instructions for the model, of up to 20,000 characters.
    #[schema(value_type = String)]
    system_prompt: Option<String>,
    /// Up to 5,000 characters.
    guardrails: Option<String>,
    /// Up to 5,000 characters.
    output_format: Option<String>,
    /// Up to 16 subjects.
    expertise: Option<Vec<String>>,
    /// `assistant`, `analyst`, `creative`, `visionary`, `explainer` or
    /// `custom`.
    archetype: Option<String>,
    /// Type by which a group's settings choose the model.
    model_type: Option<String>,
    emoji: Option<String>,
    /// `#RRGGBB`.
    accent_color: Option<String>,
    /// 0 none, 1 tools that read, 2 all; 2 if omitted.
    tool_scope: Option<i32>,
    /// 0 (none) to 5; the model's own if omitted.
    reasoning_effort: Option<i32>,
    /// 1.
    schema_version: Option<i32>,
    /// If omitted, a new persona is active and an updated one stays as it is.
    is_active: Option<bool>,
}

/// Id of a group, plugin or knowledge base.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EntryId(pub(super) String);

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PersonaCreated {
    id: String,
}

/// Persona with all that administrators may change.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PersonaResponse {
    id: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tagline: Option<String>,
    system_prompt: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    guardrails: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_format: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expertise: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    archetype: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    emoji: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accent_color: Option<String>,
    tool_scope: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<i32>,
    schema_version: i32,
    is_active: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PersonaSummary {
    id: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tagline: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    archetype: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    emoji: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accent_color: Option<String>,
    is_active: bool,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// Number of groups that have the persona.
    group_count: u64,
    /// Number of plugins that are bound to it.
    plugin_count: u64,
}

/// All groups that are to have an entry.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EntryGroupsRequest {
    #[schema(value_type = Vec<Uuid>)]
    pub(super) group_ids: Option<Vec<Uuid>>,
}

/// All plugins that are to be bound to the persona.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PersonaPluginsRequest {
    #[schema(value_type = Vec<Uuid>)]
    plugin_ids: Option<Vec<Uuid>>,
}

/// Returns the ids of a list; a missing list must not clear the stored one.
pub(super) fn required(field: &str, ids: Option<Vec<Uuid>>) -> Result<Vec<Uuid>, ApiError> {
    ids.ok_or_else(|| {
        let message = format!("{field} is required.");
        ApiError::invalid(vec![FieldError { field: field.to_owned(), code: "required", message }])
    })
}

impl From<PersonaRequest> for PersonaDraft {
    fn from(request: PersonaRequest) -> Self {
        Self {
            name: request.name,
            tagline: request.tagline,
            system_prompt: request.system_prompt,
            guardrails: request.guardrails,
            output_format: request.output_format,
            expertise: request.expertise,
            archetype: request.archetype,
            model_type: request.model_type,
            emoji: request.emoji,
            accent_color: request.accent_color,
            tool_scope: request.tool_scope,
            reasoning_effort: request.reasoning_effort,
            schema_version: request.schema_version,
            is_active: request.is_active,
        }
    }
}

impl From<PublishedPersona> for PersonaResponse {
    fn from(persona: PublishedPersona) -> Self {
        let PublishedPersona { id, content, is_active, created_at, updated_at } = persona;
        let PersonaContent { name, tagline, system_prompt, .. } = content;
        Self {
            id: id.to_string(),
            name,
            tagline,
            system_prompt,
            guardrails: content.guardrails,
            output_format: content.output_format,
            expertise: content.expertise,
            archetype: content.archetype,
            model_type: content.model_type,
            emoji: content.emoji,
            accent_color: content.accent_color,
            tool_scope: content.tool_scope,
            reasoning_effort: content.reasoning_effort,
            schema_version: content.schema_version,
            is_active,
            created_at,
            updated_at,
        }
    }
}

impl From<PersonaEntry> for PersonaSummary {
    fn from(entry: PersonaEntry) -> Self {
        let PersonaEntry { persona, group_count, plugin_count } = entry;
        let content = persona.content;
        Self {
            id: persona.id.to_string(),
            name: content.name,
            tagline: content.tagline,
            archetype: content.archetype,
            model_type: content.model_type,
            emoji: content.emoji,
            accent_color: content.accent_color,
            is_active: persona.is_active,
            updated_at: persona.updated_at,
            group_count,
            plugin_count,
        }
    }
}
