//! `GET /auth/login-history`: attempts to sign in to the caller's account.

use actix_web::web::{Data, Json};
use pia_identity::SignInEntry;
use pia_kernel::Timestamp;
use pia_web::{ApiError, Caller, Paging};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Api;

/// Lists the sign-in attempts of the caller's account, newest first.
pub(crate) async fn login_history(
    caller: Caller,
    api: Data<Api>,
    Paging(page): Paging,
) -> Result<Json<LoginHistoryResponse>, ApiError> {
    let user = caller.0.user;
    let page = api.run(|api| async move { api.identity.history.page(user, page).await }).await?;
    Ok(Json(LoginHistoryResponse {
        items: page.items.into_iter().map(LoginHistoryItem::new).collect(),
        next_cursor: page.next.map(Paging::format_cursor),
    }))
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoginHistoryResponse {
    items: Vec<LoginHistoryItem>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct LoginHistoryItem {
    id: String,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// Outcome of the attempt: `signed_in`, `wrong_password`, `wrong_factor` or
    /// `wrong_passkey`.
    outcome: String,
    /// Method of the attempt: `password`, `password_with_factor`,
    /// `app_password`, `passkey` …
    method: String,
    /// IP address.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// Id of the device, chosen by the app.
    #[serde(skip_serializing_if = "Option::is_none")]
    device_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    app_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    os_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<String>,
    /// Session that began with it, which may have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
}

impl LoginHistoryItem {
    fn new(entry: SignInEntry) -> Self {
        let SignInEntry { id, at, outcome, method, device, session } = entry;
        Self {
            id: id.to_string(),
            at,
            outcome,
            method,
            address: device.address.map(|it| it.to_string()),
            device_id: device.device_id,
            app_version: device.app_version,
            os_version: device.os_version,
            user_agent: device.user_agent,
            session_id: session.map(|it| it.to_string()),
        }
    }
}
