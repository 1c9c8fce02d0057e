//! Submission of a form.

use actix_web::http::StatusCode;
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse};
use pia_web::{ApiError, is_cross_site};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::notice::{Notice, refusal};
use super::page_layout::PageLayout;
use crate::AccountPages;
use crate::setup::is_form;

/// Submitted form, with the button that sent it.
pub(super) enum Submission<T> {
    /// Form to process.
    Form(T),
    /// Form to render again in the other language.
    SwitchLanguage(T),
}

/// Submit button; `switch` is set by the one that changes the language.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Button {
    switch: String,
}

/// Parses a submitted form, or returns an error page.
pub(super) fn parse_submission<T: DeserializeOwned>(
    account_pages: &AccountPages,
    request: &HttpRequest,
    body: Result<Bytes, ApiError>,
    layout: &PageLayout,
) -> Result<Submission<T>, Box<HttpResponse>> {
    let refused = |status, texts| Box::new(Notice::new(layout.clone(), texts).response(status));
    let refusals = &layout.texts.refusals;
    if is_cross_site(request.headers(), &account_pages.public_url) {
        return Err(refused(StatusCode::FORBIDDEN, refusals.foreign_form));
    }
    if !is_form(request) {
        return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, refusals.broken_form));
    }

    let body =
        body.map_err(|err| Box::new(refusal(layout.clone(), &HttpResponse::from_error(err))))?;
    let form = serde_urlencoded::from_bytes(&body)
        .map_err(|_err| refused(StatusCode::BAD_REQUEST, refusals.broken_form))?;
    let button: Button = serde_urlencoded::from_bytes(&body).unwrap_or_default();
    Ok(if button.switch.is_empty() {
        Submission::Form(form)
    } else {
        Submission::SwitchLanguage(form)
    })
}
