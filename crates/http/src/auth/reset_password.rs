//! `POST /auth/reset-password`: password reset by an emailed token.

use actix_web::web::{Data, Json};
use pia_kernel::Secret;
use pia_web::{ApiError, Body, FieldError, FromDevice};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::Done;

/// Resets the password with the token from an email, and ends all sessions.
pub(crate) async fn reset_password(
    api: Data<Api>,
    FromDevice(device): FromDevice,
    Body(request): Body<ResetPasswordRequest>,
) -> Result<Json<Done>, ApiError> {
    let missing = request.missing();
    let (Some(token), Some(email), Some(new)) =
        (request.token, request.email, request.new_password)
    else {
        return Err(ApiError::invalid(missing));
    };
    api.run(
        |api| async move { api.identity.password_resets.reset(&email, &token, new, &device).await },
    )
    .await?;
    Ok(Json(Done::success()))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResetPasswordRequest {
    /// Token from the link in the email.
    #[schema(value_type = String)]
    token: Option<Secret<String>>,
    /// Email address that the link was sent to.
    #[schema(value_type = String)]
    email: Option<String>,
    #[schema(value_type = String)]
    new_password: Option<Secret<String>>,
}

impl ResetPasswordRequest {
    fn missing(&self) -> Vec<FieldError> {
        missing_fields(&[
            ("token", self.token.is_none()),
            ("email", self.email.is_none()),
            ("newPassword", self.new_password.is_none()),
        ])
    }
}

/// Returns an error for each of these fields that is missing.
pub(crate) fn missing_fields(fields: &[(&str, bool)]) -> Vec<FieldError> {
    fields
        .iter()
        .filter(|(_, is_missing)| *is_missing)
        .map(|(field, _)| FieldError {
            field: (*field).to_owned(),
            code: "required",
            message: format!("`{field}` is needed."),
        })
        .collect()
}
