//! `/auth/forgot-password.html`: asking for a link to choose a new password by.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _};
use pia_web::{ApiError, RawBody};
use serde::Deserialize;

use super::form::{Control, FormView};
use super::frame::Frame;
use super::notice::{Notice, refusal};
use super::sent::sent;
use super::visit::Visit;
use crate::Reception;
use crate::accounts::LinkAsked;

/// What the form sends.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct ForgotForm {
    email: String,
}

/// Shows the form.
pub(crate) async fn show(request: HttpRequest) -> HttpResponse {
    match Visit::of(&request).query() {
        Ok((frame, _)) => view(frame, "").answer(StatusCode::OK),
        Err(page) => *page,
    }
}

/// Takes the form.
pub(crate) async fn submit(
    reception: Data<Reception>,
    request: HttpRequest,
    body: Result<RawBody, ApiError>,
) -> HttpResponse {
    answer(&reception, &request, body.map(RawBody::into_bytes)).await
}

async fn answer(
    reception: &Reception,
    request: &HttpRequest,
    body: Result<Bytes, ApiError>,
) -> HttpResponse {
    let frame = Visit::of(request).frame;
    let form: ForgotForm = match sent(reception, request, body, &frame) {
        Ok(form) => form,
        Err(page) => return *page,
    };
    if let Some(fault) = fault(&frame, &form.email) {
        let mut view = view(frame, &form.email);
        view.find_fault("email", fault);
        return view.answer(StatusCode::BAD_REQUEST);
    }
    let desk = Arc::clone(&reception.desk);
    let asked =
        reception.ask(frame.language, async move { desk.mail_reset(form.email).await }).await;
    let texts = &frame.texts.forgot;
    match asked {
        Ok(LinkAsked::Mailed) => Notice::of(frame, texts.mailed).answer(StatusCode::OK),
        Ok(LinkAsked::NoMail) => Notice::of(frame, texts.no_mail).answer(StatusCode::BAD_REQUEST),
        Err(err) => refusal(frame, &err.error_response()),
    }
}

/// What cannot be an address, whoever has an account.
fn fault(frame: &Frame, email: &str) -> Option<String> {
    let faults = &frame.texts.faults;
    let email = email.trim();
    if email.is_empty() {
        return Some(faults.email_missing.to_owned());
    }
    let plausible = email.contains('@') && !email.chars().any(char::is_control);
    (!plausible).then(|| faults.email_invalid.to_owned())
}

fn view(frame: Frame, email: &str) -> FormView {
    let texts = &frame.texts.forgot;
    let label = frame.texts.register.email;
    FormView {
        title: texts.title,
        intro: texts.intro,
        page: "forgot-password.html",
        hidden: Vec::new(),
        controls: vec![Control::text("email", label, ("email", "email"), email)],
        send: texts.send,
        link: None,
        alert: None,
        frame,
    }
}

#[cfg(test)]
mod tests;
