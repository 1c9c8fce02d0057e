//! `/admin/setup`: a licence for a server that has none in force, and then its
//! first administrator.

mod view;

use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use actix_web::web::{Data, Json};
use actix_web::{HttpRequest, HttpResponse};
use pia_identity::NewAdmin;
use pia_kernel::{Secret, Timestamp};
use pia_policy::{Licence, SetupState};
use pia_web::{ApiError, RawBody};
use serde::{Deserialize, Serialize};

use crate::administrator;
use crate::auth::page_layout::PageLayout;
use crate::auth::page_request::PageRequest;
use crate::refusal::{Refusal, refused};
use crate::setup_pages::SetupPages;
use view::SetupPage;

/// Submitted form of the set-up page.
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
    #[serde(default = "administrator::empty_password")]
    password: Secret<String>,
    /// Says something where the form is to be shown in the other language.
    #[serde(default)]
    switch: String,
}

/// Step of the set-up.
#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Step {
    #[default]
    License,
    Administrator,
}

/// Facts about the installed licence.
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
pub(crate) async fn show(
    console: Data<SetupPages>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    Ok(current_page(&console, frame(&request)).await?.answer(StatusCode::OK))
}

/// Takes the form.
pub(crate) async fn submit(
    console: Data<SetupPages>,
    request: HttpRequest,
    body: RawBody,
) -> Result<HttpResponse, ApiError> {
    if !is_form(&request) {
        let (status, code) = (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type");
        let message = "Send the page's form, or a licence file to /admin/setup/license.";
        return Err(ApiError::refused(status, code, message));
    }
    answer_form(&console, frame(&request), &body).await
}

/// Takes a licence file as it is: `curl --data-binary @license.lic`. Whatever
/// media type comes with it, it is text or it is refused.
pub(crate) async fn upload(
    console: Data<SetupPages>,
    request: HttpRequest,
    body: RawBody,
) -> Result<Json<UploadResponse>, ApiError> {
    let token = request.headers().get("x-setup-token").and_then(|it| it.to_str().ok());
    answer_upload(&console, token.unwrap_or_default(), &body).await
}

fn frame(request: &HttpRequest) -> PageLayout {
    PageRequest::from_request(request).frame.with_base("setup/")
}

async fn answer_form(
    console: &SetupPages,
    frame: PageLayout,
    body: &[u8],
) -> Result<HttpResponse, ApiError> {
    let Ok(form) = serde_urlencoded::from_bytes::<SetupForm>(body) else {
        let message = "The form was not understood.";
        return Err(ApiError::refused(StatusCode::BAD_REQUEST, "validation_failed", message));
    };
    if !form.switch.is_empty() {
        let page = current_page(console, frame).await?;
        return Ok(page.filled_in(&form.license, &form.email).answer(StatusCode::OK));
    }
    match form.step {
        Step::License => answer_license(console, frame, form).await,
        Step::Administrator => answer_administrator(console, frame, form).await,
    }
}

async fn answer_license(
    console: &SetupPages,
    frame: PageLayout,
    form: SetupForm,
) -> Result<HttpResponse, ApiError> {
    match console.install(&form.token, form.license.as_str()).await? {
        Ok(_) => Ok(done(&frame)),
        Err(err) => {
            let page = current_page(console, frame).await?.filled_in(&form.license, "");
            Ok(page.with_licence_error(&err).answer(Refusal::from_error(&err).status))
        }
    }
}

async fn answer_administrator(
    console: &SetupPages,
    frame: PageLayout,
    form: SetupForm,
) -> Result<HttpResponse, ApiError> {
    // The gates let this page's forms through without a licence.
    if console.licences.setup_state() != SetupState::Done {
        return Ok(current_page(console, frame).await?.answer(StatusCode::CONFLICT));
    }
    let SetupForm { token, email, password, .. } = form;
    let admin = NewAdmin { email: email.clone(), password, display_name: None };
    match console.create_first_admin(&token, admin).await? {
        Ok(_) => Ok(done(&frame)),
        Err(err) => {
            let fewest = console.first_admin.fewest_password_chars();
            let page = current_page(console, frame).await?.filled_in("", &email);
            Ok(page.with_admin_error(&err, fewest).answer(administrator::status(err)))
        }
    }
}

/// A redirect to what is left to do: whoever reloads that sends nothing again.
fn done(frame: &PageLayout) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((LOCATION, format!("setup{}", frame.suffix)))
        .insert_header((CACHE_CONTROL, "no-store"))
        .finish()
}

/// The page as things stand.
async fn current_page(console: &SetupPages, frame: PageLayout) -> Result<SetupPage, ApiError> {
    Ok(match console.licences.setup_state() {
        SetupState::Done if console.lacks_admin().await? => SetupPage::administrator(frame),
        SetupState::Done => SetupPage::done(frame),
        SetupState::NoLicence => {
            let status = frame.texts.setup.no_license.to_owned();
            SetupPage::license(frame, status)
        }
        SetupState::Refused(fault) => {
            let status = (frame.texts.setup.refused)(&fault);
            SetupPage::license(frame, status)
        }
        SetupState::Ended(at) => {
            let status = (frame.texts.setup.ended)(at);
            SetupPage::license(frame, status)
        }
    })
}

async fn answer_upload(
    console: &SetupPages,
    token: &str,
    body: &[u8],
) -> Result<Json<UploadResponse>, ApiError> {
    console.install(token, body).await?.map(|it| Json(it.into())).map_err(refused)
}

/// Returns whether the body has the default media type of forms.
pub(crate) fn is_form(request: &HttpRequest) -> bool {
    let input = request.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let essence = input.unwrap_or_default().split(';').next().unwrap_or_default().trim();
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
pub(crate) mod testing;
#[cfg(test)]
mod tests;
