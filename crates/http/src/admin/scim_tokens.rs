//! `/api/admin/scim-tokens`.

use actix_web::HttpResponse;
use actix_web::web::{Data, Json};
use pia_identity::{CreatedScimToken, ScimScope, ScimTokenEntry, ScimTokenOptions};
use pia_kernel::{ScimTokenId, Timestamp};
use pia_web::{ApiError, Body, Caller, PathId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::auth::Done;

/// Lists the SCIM tokens, oldest first.
pub(crate) async fn list(api: Data<Api>) -> Result<Json<Vec<ScimTokenResponse>>, ApiError> {
    let entries = api.run(|api| async move { api.scim_tokens.list().await }).await?;
    Ok(Json(entries.into_iter().map(Into::into).collect()))
}

/// Creates a SCIM token, which is returned this once.
pub(crate) async fn create(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<ScimTokenRequest>,
) -> Result<HttpResponse, ApiError> {
    let by = caller.0.user;
    let ScimTokenRequest { name, scopes, expires_at } = request;
    let options = ScimTokenOptions { name, scopes, expires_at };
    let CreatedScimToken { entry, token } =
        api.run(|api| async move { api.scim_tokens.create(by, options).await }).await?;
    let created = ScimTokenCreated { entry: entry.into(), token: token.expose().clone() };
    Ok(HttpResponse::Created().json(created))
}

/// Revokes a SCIM token at once.
pub(crate) async fn revoke(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, ApiError> {
    let by = caller.0.user;
    api.run(|api| async move { api.scim_tokens.revoke(by, ScimTokenId(id)).await }).await?;
    Ok(Json(Done::success()))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScimTokenRequest {
    /// Up to 200 characters.
    #[schema(value_type = String)]
    name: Option<String>,
    /// `users`, `groups`; both if omitted.
    scopes: Option<Vec<String>>,
    /// Within two years; a year from now if omitted.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
}

/// Token with which an identity provider manages users and groups.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScimTokenResponse {
    id: String,
    name: String,
    /// `users`, `groups`.
    scopes: Vec<&'static str>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    /// Time of the last request, to the minute; absent before the first.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    used_at: Option<Timestamp>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ScimTokenCreated {
    #[serde(flatten)]
    entry: ScimTokenResponse,
    /// The token, which is returned this once.
    token: String,
}

impl From<ScimTokenEntry> for ScimTokenResponse {
    fn from(entry: ScimTokenEntry) -> Self {
        Self {
            id: entry.id.to_string(),
            name: entry.name,
            scopes: entry.scopes.into_iter().map(ScimScope::name).collect(),
            created_at: entry.created_at,
            expires_at: entry.expires_at,
            used_at: entry.used_at,
        }
    }
}
