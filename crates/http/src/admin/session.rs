//! `GET /api/admin/session`: the account that is signed in to the console.

use actix_web::HttpRequest;
use actix_web::web::{Data, Json};
use pia_web::{ApiError, Caller, Gates};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Api;

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
