//! `/admin/setup`: a licence for a server that has none in force.

mod view;

use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::{Data, Json};
use actix_web::{HttpRequest, HttpResponse};
use pia_kernel::Timestamp;
use pia_policy::{InstallError, Licence};
use pia_web::{ApiError, RawBody};
use serde::{Deserialize, Serialize};

use crate::console::Console;
use crate::page::page;
use crate::refusal::{Refusal, refused};
use view::SetupView;

/// What the page's form sends.
#[derive(Deserialize)]
struct SetupForm {
    #[serde(default)]
    token: String,
    #[serde(default)]
    license: String,
}

/// What was put in.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UploadResponse {
    licensee: String,
    edition: String,
    features: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
}

/// Shows what the server lacks, and the form that mends it.
pub(crate) async fn show(console: Data<Console>) -> HttpResponse {
    page(StatusCode::OK, &SetupView::of(&console.desk.standing()))
}

/// Takes the form.
pub(crate) async fn submit(
    console: Data<Console>,
    request: HttpRequest,
    body: RawBody,
) -> Result<HttpResponse, ApiError> {
    if !is_form(&request) {
        let (status, code) = (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type");
        let message = "Send the page's form, or a licence file to /admin/setup/license.";
        return Err(ApiError::refused(status, code, message));
    }
    answer_form(&console, &body).await
}

/// Takes a licence file as it is: `curl --data-binary @license.lic`. Whatever
/// media type comes with it, it is text or it is refused.
pub(crate) async fn upload(
    console: Data<Console>,
    request: HttpRequest,
    body: RawBody,
) -> Result<Json<UploadResponse>, ApiError> {
    let token = request.headers().get("x-setup-token").and_then(|it| it.to_str().ok());
    answer_upload(&console, token.unwrap_or_default(), &body).await
}

async fn answer_form(console: &Console, body: &[u8]) -> Result<HttpResponse, ApiError> {
    let Ok(form) = serde_urlencoded::from_bytes::<SetupForm>(body) else {
        let message = "The form was not understood.";
        return Err(ApiError::refused(StatusCode::BAD_REQUEST, "validation_failed", message));
    };
    let err = match console.install(&form.token, form.license.as_str()).await? {
        Ok(licence) => return Ok(page(StatusCode::OK, &SetupView::installed(&licence))),
        Err(err) => err,
    };
    if let InstallError::Unavailable(err) = &err {
        let cause = std::error::Error::source(err).map(ToString::to_string);
        tracing::error!(error = %err, cause, "a licence could not be taken");
    }
    let told = Refusal::of(&err);
    let view = SetupView::of(&console.desk.standing()).refused(told.message, form.license);
    Ok(page(told.status, &view))
}

async fn answer_upload(
    console: &Console,
    token: &str,
    body: &[u8],
) -> Result<Json<UploadResponse>, ApiError> {
    console.install(token, body).await?.map(|it| Json(it.into())).map_err(refused)
}

fn is_form(request: &HttpRequest) -> bool {
    let given = request.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let essence = given.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

impl From<Licence> for UploadResponse {
    fn from(licence: Licence) -> Self {
        Self {
            licensee: licence.licensee,
            edition: licence.edition,
            features: licence.features.iter().map(|it| it.name()).collect(),
            expires_at: licence.expires_at,
        }
    }
}

#[cfg(test)]
mod tests;
