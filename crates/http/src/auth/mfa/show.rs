//! `GET /auth/mfa`: factors of the account.

use actix_web::web::{Data, Json};
use pia_kernel::Unavailable;
use pia_web::{ApiError, Caller};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Api;

/// Returns the state of the caller's second factor.
pub(crate) async fn show(
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<FactorsResponse>, ApiError> {
    let user = caller.0.user;
    let (totp, passkeys) = api
        .run(|api| async move {
            Ok::<_, Unavailable>((
                api.identity.second_factors.overview(user).await?,
                api.identity.passkeys.list(user).await?.len(),
            ))
        })
        .await?;
    let recovery_codes_left = totp.unwrap_or_default();
    Ok(Json(FactorsResponse { totp_enabled: totp.is_some(), recovery_codes_left, passkeys }))
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FactorsResponse {
    /// True if signing in with a password requires a code of the authenticator app.
    totp_enabled: bool,
    /// Number of unused recovery codes; 0 without an authenticator app.
    recovery_codes_left: u32,
    /// Number of passkeys, including blocked ones.
    passkeys: usize,
}
