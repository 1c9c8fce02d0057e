//! `/auth/webauthn/credentials`: the caller's passkeys.

use actix_web::web::{Data, Json};
use pia_identity::{PasskeyChange, PasskeyEntry};
use pia_kernel::{PasskeyId, Secret, Timestamp};
use pia_web::{ApiError, Body, Caller, FieldError, PathId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::auth::Done;
use crate::auth::mfa::fresh_proof;

/// Lists the caller's passkeys.
pub(crate) async fn passkeys(
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<PasskeysResponse>, ApiError> {
    let user = caller.0.user;
    let items = api
        .run(|api| async move { api.identity.passkeys.list(user).await })
        .await?
        .into_iter()
        .map(Into::into)
        .collect();
    Ok(Json(PasskeysResponse { items }))
}

/// Renames or unblocks one of the caller's passkeys.
pub(crate) async fn change_passkey(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<PasskeyChangeRequest>,
) -> Result<Json<PasskeyItem>, ApiError> {
    let PasskeyChangeRequest { name, blocked, password, code, recovery_code } = request;
    let unblock = match blocked {
        None => false,
        Some(false) => true,
        Some(true) => {
            let message = "A passkey can only be let in again: remove it to keep it out.";
            let field = "blocked".to_owned();
            let error = FieldError { field, code: "invalid", message: message.to_owned() };
            return Err(ApiError::invalid(vec![error]));
        }
    };

    let proof = fresh_proof(password, code, recovery_code)?;

    let passkey = api
        .run(|api| async move {
            if unblock {
                api.identity.reauthenticator.require(caller.0, proof).await?;
            }
            let change = PasskeyChange { name, unblock };
            let user = caller.0.user;
            Ok::<_, ApiError>(api.identity.passkeys.change(user, PasskeyId(id), change).await?)
        })
        .await?;
    Ok(Json(passkey.into()))
}

/// Removes one of the caller's passkeys, and ends all other sessions.
pub(crate) async fn remove_passkey(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, ApiError> {
    let session_ref = caller.session_ref()?;
    api.run(|api| async move { api.identity.passkeys.remove(session_ref, PasskeyId(id)).await })
        .await?;
    Ok(Json(Done::success()))
}

#[derive(Serialize, ToSchema)]
pub(crate) struct PasskeysResponse {
    /// Passkeys in the order in which they were added.
    items: Vec<PasskeyItem>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PasskeyItem {
    id: String,
    name: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Time of the last sign-in with the passkey; absent before the first.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used_at: Option<Timestamp>,
    /// Time at which it was blocked, because its signature counter decreased and it may
    /// be cloned.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_at: Option<Timestamp>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PasskeyChangeRequest {
    /// New name.
    name: Option<String>,
    /// `false` unblocks the passkey. Requires one of the three proofs, or a sign-in
    /// within the last ten minutes.
    blocked: Option<bool>,
    #[schema(value_type = Option<String>)]
    password: Option<Secret<String>>,
    /// Six-digit code of the authenticator app.
    #[schema(value_type = Option<String>)]
    code: Option<Secret<String>>,
    #[schema(value_type = Option<String>)]
    recovery_code: Option<Secret<String>>,
}

impl From<PasskeyEntry> for PasskeyItem {
    fn from(entry: PasskeyEntry) -> Self {
        Self {
            id: entry.id.to_string(),
            name: entry.name,
            created_at: entry.created_at,
            last_used_at: entry.used_at,
            blocked_at: entry.blocked_at,
        }
    }
}
