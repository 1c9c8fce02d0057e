//! `/api/admin/session`: the account that is signed in to the console, and the proof of its owner.

use actix_web::HttpRequest;
use actix_web::web::{Data, Json};
use pia_web::{ApiError, Body, Caller, Gates};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::Done;
use crate::auth::mfa::FreshProofRequest;

/// Returns the account that is signed in to the console.
pub(crate) async fn session(
    caller: Caller,
    api: Data<Api>,
    gates: Data<Gates>,
    request: HttpRequest,
) -> Result<Json<AdminSession>, ApiError> {
    let user = caller.0.user;
    let account = api.run(|api| async move { api.identity.accounts.me(user).await }).await?;
    let csrf_token = gates.csrf_token(&request).ok_or_else(ApiError::unauthenticated)?;
    Ok(Json(AdminSession {
        user_id: user.to_string(),
        email: account.email,
        display_name: account.display_name,
        role: caller.0.role.name(),
        group_id: caller.0.group.to_string(),
        csrf_token,
    }))
}

/// Verifies a proof of the account's owner, which frees the session from further
/// ones for ten minutes.
pub(crate) async fn prove(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<FreshProofRequest>,
) -> Result<Json<Done>, ApiError> {
    api.require_owner(caller.0, Some(request.proof()?)).await?;
    Ok(Json(Done::success()))
}

/// Account that is signed in to the console.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdminSession {
    user_id: String,
    email: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<String>,
    /// `admin`, `org_manager` or `kb_manager`.
    role: &'static str,
    group_id: String,
    /// Value of the header `X-CSRF-Token` of every write.
    csrf_token: String,
}
