//! `POST /auth/logout`: end of a session.

use actix_web::web::{Data, Json};
use pia_kernel::Secret;
use pia_web::{ApiError, Body, DeferredRateLimit};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::Done;
use crate::auth::refresh::missing_refresh_token;

/// Succeeds whatever the token is: signing out is idempotent.
pub(crate) async fn logout(
    api: Data<Api>,
    rate_limit: DeferredRateLimit,
    Body(request): Body<LogoutRequest>,
) -> Result<Json<Done>, ApiError> {
    let token = request.refresh_token.ok_or_else(missing_refresh_token)?;
    rate_limit.check(api.session_of(&token).await?).await?;
    api.run(|api| async move { api.identity.sessions.end(&token).await }).await?;
    Ok(Json(Done::success()))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LogoutRequest {
    #[schema(value_type = String)]
    refresh_token: Option<Secret<String>>,
}
