//! The first administrator, by the setup token.

use std::error::Error as _;

use actix_web::http::StatusCode;
use actix_web::web::{Data, Json};
use actix_web::{HttpRequest, ResponseError as _};
use pia_identity::{FirstAdminError, NewAdmin};
use pia_kernel::{Secret, UserId};
use pia_web::{ApiError, Body};
use serde::{Deserialize, Serialize};

use crate::console::Console;
use crate::refusal::sentence;

/// What a program sends, with the token in a header.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdminRequest {
    email: Option<String>,
    password: Option<Secret<String>>,
    display_name: Option<String>,
}

/// Whose account was made.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdminResponse {
    success: bool,
    user_id: UserId,
    email: String,
}

/// Makes the administrator for a program.
pub(crate) async fn appoint(
    console: Data<Console>,
    request: HttpRequest,
    Body(body): Body<AdminRequest>,
) -> Result<Json<AdminResponse>, ApiError> {
    let token = request.headers().get("x-setup-token").and_then(|it| it.to_str().ok());
    let account = console.appoint(token.unwrap_or_default(), body.into()).await??;
    Ok(Json(AdminResponse { success: true, user_id: account.user, email: account.email }))
}

/// What people are told on the page. What failed in the server goes to the log.
pub(crate) fn told(err: FirstAdminError) -> (StatusCode, String) {
    let alert = match &err {
        FirstAdminError::Invalid(faults) => {
            let messages: Vec<&str> = faults.iter().map(|it| it.message.as_str()).collect();
            messages.join(" ")
        }
        FirstAdminError::Unavailable(err) => {
            let cause = err.source().map(ToString::to_string);
            tracing::error!(error = %err, cause, "no administrator could be made");
            "A part of the server does not answer: its log says why.".to_owned()
        }
        told => sentence(told),
    };
    (ApiError::from(err).status_code(), alert)
}

impl From<AdminRequest> for NewAdmin {
    /// A key that is missing is for the domain to miss, which tells all that
    /// is wrong at once.
    fn from(AdminRequest { email, password, display_name }: AdminRequest) -> Self {
        let password = password.unwrap_or_else(nothing);
        Self { email: email.unwrap_or_default(), password, display_name }
    }
}

/// What stands for a password that was not sent.
pub(crate) fn nothing() -> Secret<String> {
    Secret::new(String::new())
}
