//! Requests of emails with a link: `POST /auth/forgot-password` and
//! `POST /auth/resend-verification`.

use actix_web::web::{Data, Json};
use pia_web::{ApiError, Body, FieldError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;

/// Queues the email. A server without email reports that first, whatever the
/// body.
pub(crate) async fn forgot_password(
    api: Data<Api>,
    body: Result<Body<EmailLinkRequest>, ApiError>,
) -> Result<Json<EmailLinkResponse>, ApiError> {
    api.identity.password_resets.configured()?;
    let email = body?.0.email()?;
    api.run(|api| async move { api.identity.password_resets.request(&email).await }).await?;
    Ok(Json(EmailLinkResponse::possibly_sent()))
}

/// Queues the email. A server without email reports that first, whatever the
/// body.
pub(crate) async fn resend_verification(
    api: Data<Api>,
    body: Result<Body<EmailLinkRequest>, ApiError>,
) -> Result<Json<EmailLinkResponse>, ApiError> {
    api.identity.verification.configured()?;
    let email = body?.0.email()?;
    api.run(|api| async move { api.identity.verification.resend(&email).await }).await?;
    Ok(Json(EmailLinkResponse::possibly_sent()))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EmailLinkRequest {
    #[schema(value_type = String)]
    email: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EmailLinkResponse {
    success: bool,
    message: &'static str,
}

impl EmailLinkRequest {
    fn email(self) -> Result<String, ApiError> {
        self.email.filter(|it| !it.trim().is_empty()).ok_or_else(|| {
            ApiError::invalid(vec![FieldError {
                field: "email".to_owned(),
                code: "required",
                message: "`email` is required.".to_owned(),
            }])
        })
    }
}

impl EmailLinkResponse {
    /// Returns a response that does not reveal whether an email was sent.
    fn possibly_sent() -> Self {
        let message = "If an account with this email needs it, we have sent an email.";
        Self { success: true, message }
    }
}
