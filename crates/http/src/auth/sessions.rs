//! `/auth/sessions`: sessions of the caller, and their revocation.

use std::collections::HashMap;

use actix_web::web::{Data, Json};
use pia_identity::SessionEntry;
use pia_kernel::{Page, SessionId, Timestamp, Unavailable};
use pia_web::{ApiError, Caller, Paging, PathId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::Done;

/// Lists the caller's sessions.
pub(crate) async fn sessions(
    caller: Caller,
    api: Data<Api>,
    Paging(request): Paging,
) -> Result<Json<SessionsResponse>, ApiError> {
    let user = caller.0.user;
    let (page, names) = api
        .run(|api| async move {
            let page = api.identity.sessions.page(user, request).await?;
            Ok::<_, Unavailable>((page, api.e2ee.devices.names(user).await?))
        })
        .await?;
    let own = caller.session_ref()?.session;
    Ok(Json(SessionsResponse::new(page, own, &names)))
}

/// Ends one session, which may be the caller's own.
pub(crate) async fn revoke_session(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, ApiError> {
    let session_ref = caller.session_ref()?;
    api.run(|api| async move { api.identity.sessions.revoke(session_ref, SessionId(id)).await })
        .await?;
    Ok(Json(Done::success()))
}

/// Ends all other sessions of the caller.
pub(crate) async fn revoke_others(
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<RevokedResponse>, ApiError> {
    let session_ref = caller.session_ref()?;
    let revoked = api
        .run(|api| async move { api.identity.sessions.revoke_others(session_ref).await })
        .await?;
    Ok(Json(RevokedResponse { revoked }))
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionsResponse {
    items: Vec<SessionItem>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SessionItem {
    id: String,
    /// Id of the device, chosen by the app.
    #[serde(skip_serializing_if = "Option::is_none")]
    device_id: Option<String>,
    /// Name of the device, if it ever registered with its keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    device_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    app_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    os_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<String>,
    /// IP address of the last refresh.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// IP address of the sign-in.
    #[serde(skip_serializing_if = "Option::is_none")]
    sign_in_address: Option<String>,
    /// Method of the sign-in: `password`, `password_with_factor`,
    /// `app_password` …
    method: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Time of the last refresh with a refresh token.
    #[schema(value_type = String, format = DateTime)]
    last_seen_at: Timestamp,
    /// True for the session that makes the request.
    current: bool,
    /// True for a browser in the console.
    console: bool,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct RevokedResponse {
    /// Number of sessions that were revoked.
    revoked: u64,
}

impl SessionsResponse {
    /// Creates the response to a caller in the session `current`, with the names of the
    /// user's devices.
    pub(crate) fn new(
        page: Page<SessionEntry>,
        current: SessionId,
        names: &HashMap<String, String>,
    ) -> Self {
        let items = page.items.into_iter().map(|it| SessionItem::new(it, current, names));
        Self { items: items.collect(), next_cursor: page.next.map(Paging::format_cursor) }
    }
}

impl SessionItem {
    fn new(entry: SessionEntry, current: SessionId, names: &HashMap<String, String>) -> Self {
        let SessionEntry { session, began_at, used_at, method, signed_in_from, device, console } =
            entry;
        Self {
            id: session.to_string(),
            device_name: device.device_id.as_ref().and_then(|it| names.get(it).cloned()),
            device_id: device.device_id,
            app_version: device.app_version,
            os_version: device.os_version,
            user_agent: device.user_agent,
            address: device.address.map(|it| it.to_string()),
            sign_in_address: signed_in_from,
            method,
            created_at: began_at,
            last_seen_at: used_at,
            current: session == current,
            console,
        }
    }
}
