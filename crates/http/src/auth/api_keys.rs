//! `/auth/api-keys`: keys with which scripts call the AI proxy.

use actix_web::web::{Data, Json};
use pia_identity::{ApiKeyEntry, ApiKeyOptions, CreatedApiKey, KeyScope};
use pia_kernel::{ApiKeyId, Secret, Timestamp};
use pia_web::{ApiError, Body, Caller, PathId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::auth::Done;
use crate::auth::mfa::fresh_proof;

/// Lists the caller's API keys.
pub(crate) async fn api_keys(
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<ApiKeysResponse>, ApiError> {
    let user = caller.0.user;
    let entries = api.run(|api| async move { api.identity.api_keys.list(user).await }).await?;
    Ok(Json(ApiKeysResponse { items: entries.into_iter().map(Into::into).collect() }))
}

/// Creates an API key for the AI proxy.
pub(crate) async fn create_api_key(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<ApiKeyRequest>,
) -> Result<Json<CreatedApiKeyResponse>, ApiError> {
    let ApiKeyRequest { name, scopes, expires_at, weekly_credits, password, code, recovery_code } =
        request;
    let proof = fresh_proof(password, code, recovery_code)?;
    let options = ApiKeyOptions { name, scopes, expires_at, weekly_credits };
    let session_ref = caller.session_ref()?;
    let created_key = api
        .run(|api| async move { api.identity.api_keys.create(session_ref, options, proof).await })
        .await?;
    Ok(Json(created_key.into()))
}

/// Revokes an API key.
pub(crate) async fn revoke_api_key(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, ApiError> {
    let session_ref = caller.session_ref()?;
    api.run(|api| async move { api.identity.api_keys.revoke(session_ref, ApiKeyId(id)).await })
        .await?;
    Ok(Json(Done::success()))
}

/// Properties of the key, and one of three proofs.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiKeyRequest {
    /// Name for the owner to recognise the script by; up to 64 characters.
    #[schema(value_type = String)]
    name: Option<String>,
    /// Scopes: `ai`, which is also the default.
    scopes: Option<Vec<String>>,
    /// Expiry time; a key without one does not expire.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// Budget in whole credits per calendar week; 0 for no limit beside the owner's.
    weekly_credits: Option<i64>,
    /// The account's own password.
    #[schema(value_type = Option<String>)]
    password: Option<Secret<String>>,
    /// Six-digit code of the authenticator app.
    #[schema(value_type = Option<String>)]
    code: Option<Secret<String>>,
    #[schema(value_type = Option<String>)]
    recovery_code: Option<Secret<String>>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreatedApiKeyResponse {
    #[serde(flatten)]
    item: ApiKeyItem,
    /// Key to call with. It is not shown again.
    api_key: String,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct ApiKeysResponse {
    /// Keys in the order of their creation, expired ones included.
    items: Vec<ApiKeyItem>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ApiKeyItem {
    id: String,
    name: String,
    scopes: Vec<&'static str>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// Absent without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    weekly_credits: Option<i64>,
    /// Time of the last call with the key, accurate to about a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    last_used_at: Option<Timestamp>,
}

impl From<ApiKeyEntry> for ApiKeyItem {
    fn from(entry: ApiKeyEntry) -> Self {
        let ApiKeyEntry { id, name, scopes, weekly_credits, created_at, expires_at, used_at } =
            entry;
        Self {
            id: id.to_string(),
            name,
            scopes: scopes.into_iter().map(KeyScope::name).collect(),
            created_at,
            expires_at,
            weekly_credits: (weekly_credits > 0).then_some(weekly_credits),
            last_used_at: used_at,
        }
    }
}

impl From<CreatedApiKey> for CreatedApiKeyResponse {
    fn from(created: CreatedApiKey) -> Self {
        let api_key = created.key.expose().clone();
        Self { item: created.entry.into(), api_key }
    }
}
