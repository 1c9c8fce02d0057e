//! `/auth/app-passwords`: passwords for programs that do not support a second
//! factor.

use actix_web::web::{Data, Json};
use pia_identity::{AppPasswordEntry, CreatedAppPassword};
use pia_kernel::{AppPasswordId, Secret, Timestamp};
use pia_web::{ApiError, Body, Caller, PathId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::auth::Done;
use crate::auth::mfa::fresh_proof;

/// Lists the caller's app passwords.
pub(crate) async fn app_passwords(
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<AppPasswordsResponse>, ApiError> {
    let user = caller.0.user;
    let entries = api.run(|api| async move { api.identity.app_passwords.list(user).await }).await?;
    Ok(Json(AppPasswordsResponse { items: entries.into_iter().map(Into::into).collect() }))
}

/// Creates an app password for a program that can't ask for a second factor.
pub(crate) async fn create_app_password(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<AppPasswordRequest>,
) -> Result<Json<CreatedAppPasswordResponse>, ApiError> {
    let AppPasswordRequest { name, password, code, recovery_code } = request;
    let proof = fresh_proof(password, code, recovery_code)?;
    let session_ref = caller.session_ref()?;
    let created_password = api
        .run(|api| async move {
            api.identity.app_passwords.create(session_ref, name.as_deref(), proof).await
        })
        .await?;
    Ok(Json(created_password.into()))
}

/// Revokes an app password and the sessions that were started with it.
pub(crate) async fn revoke_app_password(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, ApiError> {
    let session_ref = caller.session_ref()?;
    api.run(|api| async move {
        api.identity.app_passwords.revoke(session_ref, AppPasswordId(id)).await
    })
    .await?;
    Ok(Json(Done::success()))
}

/// Name of the app password, and one of three proofs.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AppPasswordRequest {
    /// Name for the owner to recognise the program by; up to 64 characters.
    #[schema(value_type = String)]
    name: Option<String>,
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
pub(crate) struct CreatedAppPasswordResponse {
    #[serde(flatten)]
    item: AppPasswordItem,
    /// App password to sign in with. It is not shown again.
    app_password: String,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct AppPasswordsResponse {
    /// App passwords in the order of their creation.
    items: Vec<AppPasswordItem>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AppPasswordItem {
    id: String,
    name: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Time of the last sign-in with the password.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    last_used_at: Option<Timestamp>,
}

impl From<AppPasswordEntry> for AppPasswordItem {
    fn from(entry: AppPasswordEntry) -> Self {
        let AppPasswordEntry { id, name, created_at, used_at } = entry;
        Self { id: id.to_string(), name, created_at, last_used_at: used_at }
    }
}

impl From<CreatedAppPassword> for CreatedAppPasswordResponse {
    fn from(created: CreatedAppPassword) -> Self {
        let app_password = created.password.expose().clone();
        Self { item: created.entry.into(), app_password }
    }
}
