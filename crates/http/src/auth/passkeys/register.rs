//! `POST /auth/webauthn/register/…`: registration of a passkey.

use actix_web::web::{Data, Json};
use pia_kernel::Secret;
use pia_web::{ApiError, Body, Caller};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::challenge::{missing, require_answer};
use super::{PasskeyItem, PasskeyOptionsResponse};
use crate::Api;
use crate::auth::mfa::FreshProofRequest;

/// Begins the registration of a passkey.
pub(crate) async fn begin_registration(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<FreshProofRequest>,
) -> Result<Json<PasskeyOptionsResponse>, ApiError> {
    let session_ref = caller.session_ref()?;
    let proof = request.proof_if_any()?;
    let options =
        api.run(|api| async move { api.identity.passkeys.begin(session_ref, proof).await }).await?;
    Ok(Json(PasskeyOptionsResponse::new(options)?))
}

/// Completes the registration of a passkey, and ends all other sessions.
pub(crate) async fn complete_registration(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<PasskeyRegistrationRequest>,
) -> Result<Json<PasskeyItem>, ApiError> {
    let (token, answer) = require_answer(request.challenge_token, request.credential.as_ref())?;
    let name = request.name.ok_or_else(|| missing("name"))?;
    let session_ref = caller.session_ref()?;
    let passkey =
        api.run(|api| async move {
            api.identity.passkeys.add(session_ref, &token, &name, &answer).await
        })
        .await?;
    Ok(Json(passkey.into()))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PasskeyRegistrationRequest {
    #[schema(value_type = String)]
    challenge_token: Option<Secret<String>>,
    /// Name chosen by the owner: up to 64 characters.
    name: Option<String>,
    /// Result of `navigator.credentials.create`, as WebAuthn's JSON.
    #[schema(value_type = HashMap<String, Value>)]
    credential: Option<Value>,
}
