//! Creation of the first administrator, with the setup token.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Json};
use actix_web::{HttpRequest, ResponseError as _};
use pia_identity::{FirstAdminError, NewAdmin};
use pia_kernel::{Secret, UserId};
use pia_web::{ApiError, Body};
use serde::{Deserialize, Serialize};

use crate::setup_pages::SetupPages;

/// JSON request; the token is in a header.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdminRequest {
    email: Option<String>,
    password: Option<Secret<String>>,
    display_name: Option<String>,
}

/// Created administrator account.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdminResponse {
    success: bool,
    user_id: UserId,
    email: String,
}

/// Creates the first administrator for a program.
pub(crate) async fn create_first_admin(
    console: Data<SetupPages>,
    request: HttpRequest,
    Body(body): Body<AdminRequest>,
) -> Result<Json<AdminResponse>, ApiError> {
    let token = request.headers().get("x-setup-token").and_then(|it| it.to_str().ok());
    let account = console.create_first_admin(token.unwrap_or_default(), body.into()).await??;
    Ok(Json(AdminResponse { success: true, user_id: account.user, email: account.email }))
}

/// Returns the HTTP status of a failed creation.
pub(crate) fn status(err: FirstAdminError) -> StatusCode {
    ApiError::from(err).status_code()
}

impl From<AdminRequest> for NewAdmin {
    /// Replaces missing keys by empty values, so that the domain reports all
    /// errors at once.
    fn from(AdminRequest { email, password, display_name }: AdminRequest) -> Self {
        let password = password.unwrap_or_else(empty_password);
        Self { email: email.unwrap_or_default(), password, display_name }
    }
}

/// Returns the stand-in for a password that was not sent.
pub(crate) fn empty_password() -> Secret<String> {
    Secret::new(String::new())
}
