//! `/api/admin/plugins`.

use actix_web::HttpResponse;
use actix_web::http::header::ETag;
use actix_web::web::{Data, Json};
use pia_kernel::{GroupId, GroupSelection, PluginId, Timestamp};
use pia_policy::{PluginContent, PluginDraft, PluginEntry, PluginPackage, PublishedPlugin};
use pia_web::{Body, Caller, PathId, RawBody};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::personas::{EntryGroupsRequest, EntryId, required};
use super::row_version::{ExpectedVersion, row_tag};
use crate::auth::Done;
use crate::{Api, HttpError};

/// Lists the plugins: built-in ones, then by name.
pub(crate) async fn list(api: Data<Api>) -> Result<Json<Vec<PluginListItem>>, HttpError> {
    let entries = api.run(|api| async move { api.plugins.list().await }).await?;
    Ok(Json(entries.into_iter().map(Into::into).collect()))
}

/// Returns a plugin.
pub(crate) async fn show(api: Data<Api>, PathId(id): PathId) -> Result<HttpResponse, HttpError> {
    let plugin = api.run(|api| async move { api.plugins.find(PluginId(id)).await }).await?;
    let tag = ETag(row_tag(plugin.updated_at));
    Ok(HttpResponse::Ok().insert_header(tag).json(PluginResponse::from(plugin)))
}

/// Lists the ids of a plugin's groups.
pub(crate) async fn groups(
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Vec<EntryId>>, HttpError> {
    let groups = api.run(|api| async move { api.plugins.groups_of(PluginId(id)).await }).await?;
    Ok(Json(groups.iter().map(|it| EntryId(it.to_string())).collect()))
}

/// Creates a plugin.
pub(crate) async fn create(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<PluginRequest>,
) -> Result<HttpResponse, HttpError> {
    let by = caller.0.user;
    let draft = request.into();
    let plugin = api.run(|api| async move { api.plugins.create(by, draft).await }).await?;
    let tag = ETag(row_tag(plugin.updated_at));
    let created = PluginCreated { id: plugin.id.to_string() };
    Ok(HttpResponse::Created().insert_header(tag).json(created))
}

/// Replaces the contents of a plugin.
pub(crate) async fn replace(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    ExpectedVersion(expected): ExpectedVersion,
    Body(request): Body<PluginRequest>,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    let draft = request.into();
    api.run(|api| async move { api.plugins.replace(by, PluginId(id), draft, expected).await })
        .await?;
    Ok(Json(Done::success()))
}

/// Deletes a plugin and its files.
pub(crate) async fn delete(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    api.run(|api| async move { api.plugins.delete(by, PluginId(id)).await }).await?;
    Ok(Json(Done::success()))
}

/// Assigns a plugin to exactly these groups.
pub(crate) async fn assign(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<EntryGroupsRequest>,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    let groups = required("groupIds", request.group_ids)?.into_iter().map(GroupId).collect();
    let groups = GroupSelection::Exactly(groups);
    api.run(|api| async move { api.plugins.assign(by, PluginId(id), groups).await }).await?;
    Ok(Json(Done::success()))
}

/// Stores a signed cabinet as the package of a plugin.
pub(crate) async fn upload_package(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    body: RawBody,
) -> Result<Json<PackageResponse>, HttpError> {
    let by = caller.0.user;
    let file = body.into_bytes();
    let PluginPackage { hash, size } = api
        .run(|api| async move { api.plugins.upload_package(by, PluginId(id), file).await })
        .await?;
    Ok(Json(PackageResponse { cab_hash: hash, cab_size: size }))
}

/// Stores an image as the icon of a plugin.
pub(crate) async fn upload_icon(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    body: RawBody,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    let image = Some(body.into_bytes());
    api.run(|api| async move { api.plugins.upload_icon(by, PluginId(id), image).await }).await?;
    Ok(Json(Done::success()))
}

/// Removes the icon of a plugin.
pub(crate) async fn remove_icon(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    api.run(|api| async move { api.plugins.upload_icon(by, PluginId(id), None).await }).await?;
    Ok(Json(Done::success()))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PluginRequest {
    /// `mcp_server`, `builtin_tool_pack` or `rest_api`.
    #[schema(value_type = String)]
    kind: Option<String>,
    /// Up to 255 characters.
    #[schema(value_type = String)]
    name: Option<String>,
    /// Up to 2,000 characters.
    description: Option<String>,
    /// JSON object as a text, which clients read; `{}` if omitted.
    config_json: Option<String>,
    /// Up to 50 characters; 1.0.0 if omitted.
    version: Option<String>,
    /// If omitted, a new plugin is active and an updated one stays as it is.
    is_active: Option<bool>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PluginCreated {
    id: String,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PluginResponse {
    id: String,
    kind: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    config_json: String,
    version: String,
    /// True if the plugin is part of the client.
    is_built_in: bool,
    is_active: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_url: Option<String>,
    /// SHA-256 of the package, as 64 lower-case hex digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    cab_hash: Option<String>,
    /// Size of the package in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    cab_size: Option<u64>,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PluginListItem {
    #[serde(flatten)]
    plugin: PluginResponse,
    /// Number of groups that have the plugin.
    group_count: u64,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PackageResponse {
    /// SHA-256 of the file, as 64 lower-case hex digits.
    cab_hash: String,
    /// Size in bytes.
    cab_size: u64,
}

impl From<PluginRequest> for PluginDraft {
    fn from(request: PluginRequest) -> Self {
        let PluginRequest { kind, name, description, config_json, version, is_active } = request;
        Self { kind, name, description, config_json, version, is_active }
    }
}

impl From<PublishedPlugin> for PluginResponse {
    fn from(plugin: PublishedPlugin) -> Self {
        let PluginContent { kind, name, description, config_json, version } = plugin.content;
        let (cab_hash, cab_size) = plugin.package.map(|it| (it.hash, it.size)).unzip();
        Self {
            id: plugin.id.to_string(),
            kind,
            name,
            description,
            config_json,
            version,
            is_built_in: plugin.is_built_in,
            is_active: plugin.is_active,
            icon_url: plugin.icon_url,
            cab_hash,
            cab_size,
            updated_at: plugin.updated_at,
        }
    }
}

impl From<PluginEntry> for PluginListItem {
    fn from(PluginEntry { plugin, group_count }: PluginEntry) -> Self {
        Self { plugin: plugin.into(), group_count }
    }
}
