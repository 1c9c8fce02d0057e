//! `POST /auth/refresh`: refresh of the tokens.

use actix_web::web::{Data, Json};
use pia_kernel::Secret;
use pia_web::{ApiError, Body, DeferredRateLimit, FieldError, FromDevice};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;

/// Exchanges a refresh token for new tokens.
pub(crate) async fn refresh(
    api: Data<Api>,
    rate_limit: DeferredRateLimit,
    FromDevice(device): FromDevice,
    Body(request): Body<RefreshRequest>,
) -> Result<Json<RefreshResponse>, ApiError> {
    let token = request.token()?;
    rate_limit.check(api.session_of(&token).await?).await?;
    let grant =
        api.run(|api| async move { api.identity.sessions.refresh(&token, device).await }).await?;
    Ok(Json(RefreshResponse {
        access_token: grant.access.expose().clone(),
        refresh_token: grant.refresh.expose().clone(),
        expires_in: grant.expires_in.as_secs(),
    }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RefreshRequest {
    #[schema(value_type = String)]
    refresh_token: Option<Secret<String>>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RefreshResponse {
    /// JWT.
    access_token: String,
    /// Next refresh token, which can be used once.
    refresh_token: String,
    /// Lifetime of the access token in seconds.
    expires_in: u64,
}

impl RefreshRequest {
    fn token(self) -> Result<Secret<String>, ApiError> {
        self.refresh_token.ok_or_else(missing_refresh_token)
    }
}

pub(crate) fn missing_refresh_token() -> ApiError {
    ApiError::invalid(vec![FieldError {
        field: "refreshToken".to_owned(),
        code: "required",
        message: "`refreshToken` is required.".to_owned(),
    }])
}
