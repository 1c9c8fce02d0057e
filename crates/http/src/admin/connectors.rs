//! `/api/admin/connectors`: connectors and their tokens.

use actix_web::HttpResponse;
use actix_web::web::{Data, Json};
use pia_assignments::Skill;
use pia_kernel::{ConnectorId, GroupId, GroupSelection, Secret, Timestamp};
use pia_pods::{Connector, ConnectorDraft, ConnectorTokenId, McpEndpoint, Provisioned, ValidToken};
use pia_web::{ApiError, Body, Caller, FieldError, PathId, PathPart, null_as_default};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::personas::{EntryGroupsRequest, required};
use crate::auth::Done;
use crate::{Api, HttpError};

/// Lists the connectors with their tokens and groups.
pub(crate) async fn list(api: Data<Api>) -> Result<Json<Vec<ConnectorResponse>>, HttpError> {
    let list = api.run(|api| async move { api.connectors.list().await }).await?;
    Ok(Json(list.into_iter().map(Into::into).collect()))
}

/// Creates a connector with a token, and an operator if its pods run a skill.
pub(crate) async fn create(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<ConnectorRequest>,
) -> Result<HttpResponse, HttpError> {
    let ConnectorRequest { name, group_ids, operator_skill: skill, mcp } = request;
    if skill.as_ref().is_some_and(|it| !Skill::is_name(it)) {
        let message = "Use 1 to 100 letters, digits, hyphens, dots and underscores.".to_owned();
        let field = "operatorSkill".to_owned();
        return Err(ApiError::invalid(vec![FieldError { field, code: "invalid", message }]).into());
    }

    let groups = group_ids.into_iter().map(GroupId).collect();
    let by = Some(caller.0.user);
    let endpoint = mcp
        .map(|McpServerRequest { url, token }| McpEndpoint { url, token: token.map(Secret::new) });
    let draft = ConnectorDraft { name, groups, skill, mcp: endpoint };
    let created = api.run(|api| async move { api.connectors.create(by, draft).await }).await?;

    Ok(HttpResponse::Created().json(ConnectorCreatedResponse::from(created)))
}

/// Creates a further token of a connector.
pub(crate) async fn issue_token(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<HttpResponse, HttpError> {
    let by = Some(caller.0.user);
    let issued =
        api.run(|api| async move { api.connectors.issue_token(by, ConnectorId(id)).await }).await?;
    Ok(HttpResponse::Created().json(ConnectorCreatedResponse::from(issued)))
}

/// Revokes all tokens of a connector; its pods are disconnected.
pub(crate) async fn revoke_tokens(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, HttpError> {
    let by = Some(caller.0.user);
    api.run(|api| async move { api.connectors.revoke_tokens(by, ConnectorId(id), None).await })
        .await?;
    Ok(Json(Done::success()))
}

/// Revokes a token of a connector; the pods that connected with it are disconnected.
pub(crate) async fn revoke_token(
    caller: Caller,
    api: Data<Api>,
    PathPart { id, part }: PathPart,
) -> Result<Json<Done>, HttpError> {
    let by = Some(caller.0.user);
    let token = Some(ConnectorTokenId(part));
    api.run(|api| async move { api.connectors.revoke_tokens(by, ConnectorId(id), token).await })
        .await?;
    Ok(Json(Done::success()))
}

/// Replaces the groups that a connector, and its operator, are granted to.
pub(crate) async fn grant(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<EntryGroupsRequest>,
) -> Result<Json<Done>, HttpError> {
    let by = Some(caller.0.user);
    let groups = required("groupIds", request.group_ids)?.into_iter().map(GroupId).collect();
    let groups = GroupSelection::Exactly(groups);
    api.run(|api| async move { api.connectors.grant(by, ConnectorId(id), groups).await }).await?;
    Ok(Json(Done::success()))
}

/// Deletes a connector with its tokens and its operator.
pub(crate) async fn delete(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, HttpError> {
    let by = Some(caller.0.user);
    api.run(|api| async move { api.connectors.delete(by, ConnectorId(id)).await }).await?;
    Ok(Json(Done::success()))
}

/// Connector to be created.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConnectorRequest {
    /// Name, up to 100 characters, unique in any case.
    name: String,
    /// Groups whose members may use its pods.
    #[serde(default, deserialize_with = "null_as_default")]
    group_ids: Vec<Uuid>,
    /// Name of the skill that its pods run. An operator is created for it.
    operator_skill: Option<String>,
    /// MCP server whose tools it brings, instead of pods.
    mcp: Option<McpServerRequest>,
}

/// MCP server that this server connects to.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct McpServerRequest {
    /// URL of its streamable HTTP transport.
    url: String,
    /// Bearer token, which is stored sealed and never returned.
    token: Option<String>,
}

/// Connector with a token that was just created.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConnectorCreatedResponse {
    #[schema(format = Uuid)]
    connector_id: String,
    #[schema(format = Uuid)]
    #[serde(skip_serializing_if = "Option::is_none")]
    operator_id: Option<String>,
    /// Token with which pods connect. It is shown once. Missing for an MCP server.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[schema(value_type = Vec<Uuid>)]
    granted_group_ids: Vec<String>,
    /// Number of active accounts in these groups.
    resolved_member_count: i64,
}

/// Valid token of a connector.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConnectorTokenResponse {
    /// Id with which it is revoked.
    #[schema(format = Uuid)]
    id: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

/// Connector with its groups.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConnectorResponse {
    #[schema(format = Uuid)]
    id: String,
    name: String,
    #[schema(format = Uuid)]
    #[serde(skip_serializing_if = "Option::is_none")]
    operator_id: Option<String>,
    #[schema(value_type = Vec<Uuid>)]
    group_ids: Vec<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Valid tokens, the oldest first.
    tokens: Vec<ConnectorTokenResponse>,
    /// Expiry of the token that lasts longest. Missing if none is valid.
    #[schema(value_type = String, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    token_expires_at: Option<Timestamp>,
    /// URL of the MCP server whose tools it brings.
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp_url: Option<String>,
}

impl From<Provisioned> for ConnectorCreatedResponse {
    fn from(provisioned: Provisioned) -> Self {
        Self {
            connector_id: provisioned.connector.to_string(),
            operator_id: provisioned.operator.map(|it| it.to_string()),
            token: provisioned.token.map(Secret::reveal),
            granted_group_ids: provisioned.groups.iter().map(ToString::to_string).collect(),
            resolved_member_count: provisioned.member_count,
        }
    }
}

impl From<ValidToken> for ConnectorTokenResponse {
    fn from(token: ValidToken) -> Self {
        let ValidToken { hash, created_at, expires_at } = token;
        Self { id: hash.id().0.to_string(), created_at, expires_at }
    }
}

impl From<Connector> for ConnectorResponse {
    fn from(connector: Connector) -> Self {
        Self {
            token_expires_at: connector.token_expires_at(),
            tokens: connector.tokens.into_iter().map(Into::into).collect(),
            id: connector.id.to_string(),
            name: connector.name,
            operator_id: connector.operator.map(|it| it.to_string()),
            group_ids: connector.groups.iter().map(ToString::to_string).collect(),
            created_at: connector.created_at,
            mcp_url: connector.mcp_url,
        }
    }
}
