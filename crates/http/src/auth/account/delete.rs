//! `POST /auth/account/delete`: deletion of the account.

use actix_web::web::{Data, Json};
use pia_identity::DeletionRequest;
use pia_kernel::Secret;
use pia_web::{ApiError, Body, Caller};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::auth::mfa::factor_answer;

/// Deletes the caller's account and all of its data.
pub(crate) async fn delete(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<DeleteRequest>,
) -> Result<Json<DeleteResponse>, ApiError> {
    let state = caller.0;
    let DeleteRequest { confirm, password, code, recovery_code } = request;
    let factor = match (code, recovery_code) {
        (None, None) => None,
        (code, recovery_code) => Some(factor_answer(code, recovery_code)?),
    };
    let deletion_request = DeletionRequest { confirm, password, factor };
    api.run(|api| async move { api.identity.deletion.delete(state, deletion_request).await })
        .await?;
    Ok(Json(DeleteResponse { deleted: true }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeleteRequest {
    /// Must be `DELETE`.
    #[schema(value_type = String)]
    confirm: Option<String>,
    /// Password, of an account that has one.
    #[schema(value_type = Option<String>)]
    password: Option<Secret<String>>,
    /// Six-digit code of the authenticator app, of an account without a password.
    #[schema(value_type = Option<String>)]
    code: Option<Secret<String>>,
    /// Recovery code instead of `code`.
    #[schema(value_type = Option<String>)]
    recovery_code: Option<Secret<String>>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct DeleteResponse {
    /// Always true.
    deleted: bool,
}
