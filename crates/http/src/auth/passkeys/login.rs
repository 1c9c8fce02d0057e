//! `POST /auth/webauthn/login/…`: sign-in with a passkey.

use actix_web::web::{Data, Json};
use pia_kernel::Secret;
use pia_web::{ApiError, Body, FromDevice, Gates};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::PasskeyOptionsResponse;
use super::challenge::require_answer;
use crate::Api;
use crate::auth::SignInResponse;

/// Starts a passkey sign-in. The request's body is ignored.
pub(crate) async fn begin_login(api: Data<Api>) -> Result<Json<PasskeyOptionsResponse>, ApiError> {
    let options = api.run(|api| async move { api.identity.passkey_sign_in.begin().await }).await?;
    Ok(Json(PasskeyOptionsResponse::new(options)?))
}

/// Signs in with a passkey.
pub(crate) async fn complete_login(
    api: Data<Api>,
    gates: Data<Gates>,
    FromDevice(device): FromDevice,
    Body(request): Body<PasskeyLoginRequest>,
) -> Result<Json<SignInResponse>, ApiError> {
    let (token, answer) = require_answer(request.challenge_token, request.credential.as_ref())?;
    let signed_in =
        api.run(|api| async move {
            api.identity.passkey_sign_in.sign_in(&token, &answer, device).await
        })
        .await?;
    let owes_declaration = gates.rules.get().owes_declaration(signed_in.account.customer);
    Ok(Json(SignInResponse::new(signed_in, owes_declaration)))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PasskeyLoginRequest {
    #[schema(value_type = String)]
    challenge_token: Option<Secret<String>>,
    /// Result of `navigator.credentials.get`, as WebAuthn's JSON.
    #[schema(value_type = HashMap<String, Value>)]
    credential: Option<Value>,
}
