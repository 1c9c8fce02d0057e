//! `/admin/setup`: a licence for a server that has none in force, and then its
//! first administrator.

mod view;

use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::{Data, Json};
use actix_web::{HttpRequest, HttpResponse};
use pia_identity::NewAdmin;
use pia_kernel::{Secret, Timestamp};
use pia_policy::{InstallError, Licence, SetupStanding};
use pia_web::{ApiError, RawBody};
use serde::{Deserialize, Serialize};

use crate::administrator;
use crate::console::Console;
use crate::page::page;
use crate::refusal::{Refusal, refused};
use view::{Form, SetupView};

/// What one of the page's forms sends.
#[derive(Deserialize)]
struct SetupForm {
    #[serde(default)]
    step: Step,
    #[serde(default)]
    token: String,
    #[serde(default)]
    license: String,
    #[serde(default)]
    email: String,
    #[serde(default = "administrator::nothing")]
    password: Secret<String>,
}

/// Which of them.
#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Step {
    #[default]
    License,
    Administrator,
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
pub(crate) async fn show(console: Data<Console>) -> Result<HttpResponse, ApiError> {
    Ok(page(StatusCode::OK, &standing(&console).await?))
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
    match form.step {
        Step::License => answer_license(console, form).await,
        Step::Administrator => answer_administrator(console, form).await,
    }
}

async fn answer_license(console: &Console, form: SetupForm) -> Result<HttpResponse, ApiError> {
    let err = match console.install(&form.token, form.license.as_str()).await? {
        Ok(licence) => {
            let view = SetupView::installed(&licence, next(console).await?);
            return Ok(page(StatusCode::OK, &view));
        }
        Err(err) => err,
    };
    if let InstallError::Unavailable(err) = &err {
        let cause = std::error::Error::source(err).map(ToString::to_string);
        tracing::error!(error = %err, cause, "a licence could not be taken");
    }
    let told = Refusal::of(&err);
    let view = standing(console).await?.refused(told.message, form.license);
    Ok(page(told.status, &view))
}

async fn answer_administrator(
    console: &Console,
    form: SetupForm,
) -> Result<HttpResponse, ApiError> {
    // The gates let this page's forms through without a licence.
    if console.desk.standing() != SetupStanding::Done {
        return Ok(page(StatusCode::CONFLICT, &standing(console).await?));
    }
    let SetupForm { token, email, password, .. } = form;
    let admin = NewAdmin { email: email.clone(), password, display_name: None };
    match console.appoint(&token, admin).await? {
        Ok(account) => Ok(page(StatusCode::OK, &SetupView::administered(&account))),
        Err(err) => {
            let (status, alert) = administrator::told(err);
            let view = standing(console).await?.not_appointed(alert, email);
            Ok(page(status, &view))
        }
    }
}

/// The page as things stand.
async fn standing(console: &Console) -> Result<SetupView, ApiError> {
    match console.desk.standing() {
        SetupStanding::Done => Ok(SetupView::licensed(next(console).await?)),
        lacking => Ok(SetupView::unlicensed(&lacking)),
    }
}

/// What is left to do once a licence is in force.
async fn next(console: &Console) -> Result<Form, ApiError> {
    let lacks_admin = console.lacks_admin().await?;
    Ok(if lacks_admin { Form::Administrator } else { Form::NotNeeded })
}

async fn answer_upload(
    console: &Console,
    token: &str,
    body: &[u8],
) -> Result<Json<UploadResponse>, ApiError> {
    console.install(token, body).await?.map(|it| Json(it.into())).map_err(refused)
}

/// Whether the body is what a form's is by default.
pub(crate) fn is_form(request: &HttpRequest) -> bool {
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
