//! Submission of one of our forms.

use actix_web::http::StatusCode;
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, ResponseError as _};
use pia_web::ApiError;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::notice::{Notice, refusal};
use super::page_layout::PageLayout;
use super::same_site::is_foreign;
use crate::AccountPages;
use crate::setup::is_form;

/// Submitted form, with the button that sent it.
pub(super) enum Submission<T> {
    /// Form to accept.
    Form(T),
    /// Form to show again in the other language.
    SwitchLanguage(T),
}

/// The button that sends the form says so.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Button {
    switch: String,
}

/// A form of ours that was filled in, or else a page that says what it is not.
pub(super) fn parse_submission<T: DeserializeOwned>(
    account_pages: &AccountPages,
    request: &HttpRequest,
    body: Result<Bytes, ApiError>,
    frame: &PageLayout,
) -> Result<Submission<T>, Box<HttpResponse>> {
    let refused = |status, message| Box::new(Notice::new(frame.clone(), message).answer(status));
    let refusals = &frame.texts.refusals;
    if is_foreign(request, &account_pages.public_url) {
        return Err(refused(StatusCode::FORBIDDEN, refusals.foreign_form));
    }
    if !is_form(request) {
        return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, refusals.broken_form));
    }
    let body = body.map_err(|err| Box::new(refusal(frame.clone(), &err.error_response())))?;
    let form = serde_urlencoded::from_bytes(&body)
        .map_err(|_states_no_more| refused(StatusCode::BAD_REQUEST, refusals.broken_form))?;
    let button: Button = serde_urlencoded::from_bytes(&body).unwrap_or_default();
    Ok(if button.switch.is_empty() {
        Submission::Form(form)
    } else {
        Submission::SwitchLanguage(form)
    })
}
