//! `POST /auth/login/mfa`: continuation of a sign-in with a second factor.

use actix_web::web::{Data, Json};
use pia_kernel::Secret;
use pia_web::{ApiError, Body, FieldError, FromDevice, Gates};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::SignInResponse;
use crate::auth::mfa::factor_answer;

/// Completes a sign-in with a second factor.
pub(crate) async fn login_mfa(
    api: Data<Api>,
    gates: Data<Gates>,
    FromDevice(device): FromDevice,
    Body(request): Body<MfaLoginRequest>,
) -> Result<Json<SignInResponse>, ApiError> {
    let token = request.mfa_token.ok_or_else(missing_token)?;
    let answer = factor_answer(request.code, request.recovery_code)?;
    let signed_in = api
        .run(|api| async move { api.identity.sign_in.with_factor(&token, &answer, device).await })
        .await?;
    let owes_declaration = gates.rules.get().owes_declaration(signed_in.account.customer);
    Ok(Json(SignInResponse::new(signed_in, owes_declaration)))
}

/// Token of the sign-in, and either a code or a recovery code.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MfaLoginRequest {
    /// Token of the error `mfa_required`.
    #[schema(value_type = String)]
    mfa_token: Option<Secret<String>>,
    /// Six-digit code of the authenticator app.
    #[schema(value_type = Option<String>)]
    code: Option<Secret<String>>,
    #[schema(value_type = Option<String>)]
    recovery_code: Option<Secret<String>>,
}

fn missing_token() -> ApiError {
    ApiError::invalid(vec![FieldError {
        field: "mfaToken".to_owned(),
        code: "required",
        message: "`mfaToken` is required.".to_owned(),
    }])
}
