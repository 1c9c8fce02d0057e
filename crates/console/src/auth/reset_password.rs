//! `/auth/reset-password.html`: choosing a new password by a mailed link.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _};
use pia_kernel::Secret;
use pia_web::{ApiError, RawBody};
use serde::Deserialize;

use super::form::{Control, FormView};
use super::frame::Frame;
use super::notice::{Notice, refusal};
use super::sent::sent;
use super::visit::{Visit, broken_link};
use crate::Console;
use crate::accounts::{NewPassword, PasswordReset};

/// What the form sends.
#[derive(Deserialize)]
struct ResetForm {
    email: String,
    token: Secret<String>,
    password: Secret<String>,
}

/// Shows the form to whoever comes by a link.
pub(crate) async fn show(console: Data<Console>, request: HttpRequest) -> HttpResponse {
    let (frame, query) = match Visit::of(&request).query() {
        Ok(visit) => visit,
        Err(page) => return *page,
    };
    if query.email.is_empty() || query.token.is_empty() {
        return broken_link(frame);
    }
    view(frame, &console, &query.email, &query.token).answer(StatusCode::OK)
}

/// Takes the form.
pub(crate) async fn submit(
    console: Data<Console>,
    request: HttpRequest,
    body: Result<RawBody, ApiError>,
) -> HttpResponse {
    answer(&console, &request, body.map(RawBody::into_bytes)).await
}

async fn answer(
    console: &Console,
    request: &HttpRequest,
    body: Result<Bytes, ApiError>,
) -> HttpResponse {
    let frame = Visit::of(request).frame;
    let form: ResetForm = match sent(console, request, body, &frame) {
        Ok(form) => form,
        Err(page) => return *page,
    };
    let desk = Arc::clone(&console.accounts);
    let new = NewPassword {
        email: form.email.clone(),
        token: form.token.clone(),
        password: form.password.clone(),
    };
    match console.ask(frame.language, async move { desk.reset(new).await }).await {
        Ok(reset) => told(frame, console, &form, reset),
        Err(err) => refusal(frame, &err.error_response()),
    }
}

fn told(frame: Frame, console: &Console, form: &ResetForm, reset: PasswordReset) -> HttpResponse {
    let texts = frame.texts;
    match reset {
        PasswordReset::Done => Notice::of(frame, texts.reset.done).answer(StatusCode::OK),
        PasswordReset::Invalid => Notice::of(frame, texts.reset.spent)
            .linking("forgot-password.html", texts.reset.again)
            .answer(StatusCode::BAD_REQUEST),
        PasswordReset::Refused(violations) => {
            let fewest = console.accounts.rules().fewest_password_chars;
            let mut view = view(frame, console, &form.email, form.token.expose());
            for fault in violations {
                view.find_fault("password", texts.fault(&fault, fewest));
            }
            view.answer(StatusCode::BAD_REQUEST)
        }
    }
}

fn view(frame: Frame, console: &Console, email: &str, token: &str) -> FormView {
    let texts = &frame.texts.reset;
    let hint = frame.texts.register.password_hint;
    let hint = hint(console.accounts.rules().fewest_password_chars);
    FormView {
        title: texts.title,
        intro: texts.intro,
        page: "reset-password.html",
        hidden: vec![("token", token.to_owned())],
        controls: vec![
            // Shown, so that a password manager knows which account it is for.
            Control::text("email", texts.account, ("email", "username"), email).fixed(),
            Control::text("password", texts.password, ("password", "new-password"), "")
                .hinting(hint),
        ],
        send: texts.send,
        link: None,
        alert: None,
        frame: frame.keeping(&[("email", email), ("token", token)]),
    }
}

#[cfg(test)]
mod tests;
