//! `POST /auth/mfa/totp/verify`: activation of an authenticator app.

use actix_web::web::{Data, Json};
use pia_kernel::Secret;
use pia_web::{ApiError, Body, Caller, FieldError};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::mfa::RecoveryCodesResponse;

/// Enables the authenticator app, and ends all other sessions.
pub(crate) async fn verify(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<TotpVerifyRequest>,
) -> Result<Json<RecoveryCodesResponse>, ApiError> {
    let code = request.code.ok_or_else(|| {
        let message = "`code` is needed.".to_owned();
        ApiError::invalid(vec![FieldError { field: "code".to_owned(), code: "required", message }])
    })?;
    let session_ref = caller.session_ref()?;
    let codes = api
        .run(|api| async move { api.identity.second_factors.confirm(session_ref, code).await })
        .await?;
    Ok(Json(codes.into()))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TotpVerifyRequest {
    /// Six-digit code of the app.
    #[schema(value_type = String)]
    code: Option<Secret<String>>,
}
