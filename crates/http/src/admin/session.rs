//! `/api/admin/session`: the account that is signed in to the console, and the proof of its owner.

use actix_web::HttpRequest;
use actix_web::web::{Data, Json};
use pia_kernel::Secret;
use pia_web::{ApiError, Body, Caller, Gates};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::Done;
use crate::auth::mfa::FreshProofRequest;
use crate::auth::passkeys::require_answer;

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

/// Verifies a proof of the account's owner, which frees the session from further
/// ones for ten minutes.
pub(crate) async fn prove(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<SessionProofRequest>,
) -> Result<Json<Done>, ApiError> {
    let SessionProofRequest { password, code, recovery_code, challenge_token, credential } =
        request;
    if credential.is_some() {
        let (token, response) = require_answer(challenge_token, credential.as_ref())?;
        api.prove_by_passkey(caller.0, token, response).await?;
    } else {
        let proof = FreshProofRequest { password, code, recovery_code }.proof()?;
        api.require_owner(caller.0, Some(proof)).await?;
    }

    Ok(Json(Done::success()))
}

/// One of the three proofs, or a passkey's response to a challenge of a sign-in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionProofRequest {
    #[schema(value_type = Option<String>)]
    password: Option<Secret<String>>,
    /// Six-digit code of the authenticator app.
    #[schema(value_type = Option<String>)]
    code: Option<Secret<String>>,
    #[schema(value_type = Option<String>)]
    recovery_code: Option<Secret<String>>,
    #[schema(value_type = Option<String>)]
    challenge_token: Option<Secret<String>>,
    /// Result of `navigator.credentials.get`, as WebAuthn's JSON.
    #[schema(value_type = Option<HashMap<String, Value>>)]
    credential: Option<Value>,
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
