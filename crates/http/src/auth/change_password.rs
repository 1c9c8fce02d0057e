//! `POST /auth/password`: password change.

use actix_web::web::{Data, Json};
use pia_identity::AppAccess;
use pia_kernel::Secret;
use pia_web::{ApiError, Body, Caller, FieldError, null_as_default};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::auth::reset_password::missing_fields;

/// Changes the password, and ends all other sessions.
pub(crate) async fn change_password(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<ChangePasswordRequest>,
) -> Result<Json<ChangedPassword>, ApiError> {
    let missing = request.missing();
    let (Some(current), Some(new)) = (request.current_password, request.new_password) else {
        return Err(ApiError::invalid(missing));
    };
    let session_ref = caller.session_ref()?;
    let revoke = request.revoke_app_access;
    let AppAccess { app_passwords, api_keys } =
        api.run(|api| async move {
            api.identity.passwords.change(session_ref, current, new, revoke).await
        })
        .await?;
    Ok(Json(ChangedPassword { success: true, app_passwords, api_keys }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChangePasswordRequest {
    #[schema(value_type = String)]
    current_password: Option<Secret<String>>,
    #[schema(value_type = String)]
    new_password: Option<Secret<String>>,
    /// Also revokes every app password and API key of the account.
    #[serde(default, deserialize_with = "null_as_default")]
    revoke_app_access: bool,
}

/// Result of a changed password, with the number of other credentials.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChangedPassword {
    success: bool,
    /// Number of app passwords that remain valid.
    app_passwords: u64,
    /// Number of API keys that remain valid.
    api_keys: u64,
}

impl ChangePasswordRequest {
    fn missing(&self) -> Vec<FieldError> {
        missing_fields(&[
            ("currentPassword", self.current_password.is_none()),
            ("newPassword", self.new_password.is_none()),
        ])
    }
}
