//! `/admin/setup`: installation of a licence, and creation of the first
//! administrator.

mod view;

use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use actix_web::web::{Data, Json};
use actix_web::{HttpRequest, HttpResponse};
use pia_http::LicenceResponse;
use pia_identity::NewAdmin;
use pia_kernel::Secret;
use pia_policy::SetupState;
use pia_web::{ApiError, Gates, RawBody};
use serde::Deserialize;

use crate::administrator;
use crate::auth::page_layout::PageLayout;
use crate::auth::page_request::PageRequest;
use crate::page_context::redirect;
use crate::refusal::{Refusal, refused};
use crate::setup_pages::SetupPages;
use view::SetupPage;

/// Submitted form of the setup page.
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
    /// Language switch: not empty renders the form in the other language.
    #[serde(default)]
    switch: String,
}

/// Step of the setup.
#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Step {
    #[default]
    License,
    Administrator,
}

/// Renders the form of the next step. Once the setup is complete, a browser
/// with a session continues with the first steps in the console.
pub(crate) async fn show(
    console: Data<SetupPages>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let page = current_page(&console, layout(&request)).await?;
    let gates = request.app_data::<Data<Gates>>();
    let has_session = gates.is_some_and(|it| it.csrf_token(&request).is_some());
    if matches!(page, SetupPage::Done(_)) && has_session {
        return Ok(redirect(&request, "admin/first-steps"));
    }
    Ok(page.response(StatusCode::OK))
}

/// Handles the submitted form.
pub(crate) async fn submit(
    console: Data<SetupPages>,
    request: HttpRequest,
    body: RawBody,
) -> Result<HttpResponse, ApiError> {
    if !is_form(&request) {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        let code = "unsupported_media_type";
        let message = "Send the page's form, or a licence file to /admin/setup/license.";
        return Err(ApiError::refused(status, code, message));
    }
    handle_form(&console, layout(&request), &body).await
}

/// Installs a licence file that is sent as the body:
/// `curl --data-binary @license.lic`. The media type is ignored; a body that is
/// not text is refused.
pub(crate) async fn upload(
    console: Data<SetupPages>,
    request: HttpRequest,
    body: RawBody,
) -> Result<Json<LicenceResponse>, ApiError> {
    let token = request.headers().get("x-setup-token").and_then(|it| it.to_str().ok());
    handle_upload(&console, token.unwrap_or_default(), &body).await
}

fn layout(request: &HttpRequest) -> PageLayout {
    PageRequest::from_request(request).layout.with_base("setup/")
}

async fn handle_form(
    console: &SetupPages,
    layout: PageLayout,
    body: &[u8],
) -> Result<HttpResponse, ApiError> {
    let Ok(form) = serde_urlencoded::from_bytes::<SetupForm>(body) else {
        let message = "The form could not be read.";
        return Err(ApiError::refused(StatusCode::BAD_REQUEST, "validation_failed", message));
    };
    if !form.switch.is_empty() {
        let page = current_page(console, layout).await?;
        return Ok(page.filled_in(&form.license, &form.email).response(StatusCode::OK));
    }

    match form.step {
        Step::License => handle_license(console, layout, form).await,
        Step::Administrator => handle_administrator(console, layout, form).await,
    }
}

async fn handle_license(
    console: &SetupPages,
    layout: PageLayout,
    form: SetupForm,
) -> Result<HttpResponse, ApiError> {
    match console.install(&form.token, form.license.as_str()).await? {
        Ok(_) => Ok(done(&layout)),
        Err(err) => {
            let page = current_page(console, layout).await?.filled_in(&form.license, "");
            Ok(page.with_licence_error(&err).response(Refusal::from_error(&err).status))
        }
    }
}

async fn handle_administrator(
    console: &SetupPages,
    layout: PageLayout,
    form: SetupForm,
) -> Result<HttpResponse, ApiError> {
    // The gates let these forms through without a licence.
    if console.licences.setup_state() != SetupState::Done {
        return Ok(current_page(console, layout).await?.response(StatusCode::CONFLICT));
    }

    let SetupForm { token, email, password, .. } = form;
    let admin = NewAdmin { email: email.clone(), password, display_name: None };
    match console.create_first_admin(&token, admin).await? {
        Ok(_) => Ok(done(&layout)),
        Err(err) => {
            let fewest = console.first_admin.min_password_chars();
            let page = current_page(console, layout).await?.filled_in("", &email);
            Ok(page.with_admin_error(&err, fewest).response(administrator::status(err)))
        }
    }
}

/// Returns a redirect to the next step, so that reloading the page sends
/// nothing again.
fn done(layout: &PageLayout) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((LOCATION, format!("setup{}", layout.suffix)))
        .insert_header((CACHE_CONTROL, "no-store"))
        .finish()
}

/// Builds the page of the current step.
async fn current_page(console: &SetupPages, layout: PageLayout) -> Result<SetupPage, ApiError> {
    Ok(match console.licences.setup_state() {
        SetupState::Done if console.lacks_admin().await? => SetupPage::administrator(layout),
        SetupState::Done => SetupPage::done(layout),
        SetupState::NoLicence => {
            let status = layout.texts.setup.no_license.to_owned();
            SetupPage::license(layout, status)
        }
        SetupState::Refused(err) => {
            let status = (layout.texts.setup.refused)(&err);
            SetupPage::license(layout, status)
        }
        SetupState::Ended(at) => {
            let status = (layout.texts.setup.ended)(at);
            SetupPage::license(layout, status)
        }
    })
}

async fn handle_upload(
    console: &SetupPages,
    token: &str,
    body: &[u8],
) -> Result<Json<LicenceResponse>, ApiError> {
    console.install(token, body).await?.map(|it| Json(it.into())).map_err(refused)
}

/// Returns whether the body has the default media type of forms.
pub(crate) fn is_form(request: &HttpRequest) -> bool {
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let essence = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
