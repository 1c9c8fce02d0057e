//! `/auth/reset-password.html`: choosing a new password by a mailed link.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _};
use pia_identity::SignInDevice;
use pia_kernel::Secret;
use pia_web::{ApiError, FromDevice, RawBody};
use serde::Deserialize;

use super::email_page::FORGOT_PASSWORD;
use super::form::{Control, FormView};
use super::notice::{Notice, refusal};
use super::page_layout::{PageLayout, done};
use super::page_request::{PageRequest, broken_link};
use super::submission::{Submission, parse_submission};
use crate::AccountPages;
use crate::accounts::{NewPassword, PasswordResetResult};

const PAGE: &str = "reset-password.html";
const CHANGED: &str = "changed";

/// Submitted form.
#[derive(Deserialize)]
struct ResetForm {
    email: String,
    token: Secret<String>,
    password: Secret<String>,
}

/// Shows the form to whoever comes by a link.
pub(crate) async fn show(account_pages: Data<AccountPages>, request: HttpRequest) -> HttpResponse {
    let (frame, query) = match PageRequest::from_request(&request).query() {
        Ok(visit) => visit,
        Err(page) => return *page,
    };
    if query.done == CHANGED {
        let done = frame.texts.reset.done;
        return Notice::new(frame, done).answer(StatusCode::OK);
    }
    if query.email.is_empty() || query.token.is_empty() {
        return broken_link(frame);
    }
    view(frame, &account_pages, &query.email, &query.token).answer(StatusCode::OK)
}

/// Takes the form.
pub(crate) async fn submit(
    account_pages: Data<AccountPages>,
    request: HttpRequest,
    FromDevice(device): FromDevice,
    body: Result<RawBody, ApiError>,
) -> HttpResponse {
    answer(&account_pages, (&request, device), body.map(RawBody::into_bytes)).await
}

async fn answer(
    account_pages: &AccountPages,
    (request, device): (&HttpRequest, SignInDevice),
    body: Result<Bytes, ApiError>,
) -> HttpResponse {
    let frame = PageRequest::from_request(request).frame;
    let form: ResetForm = match parse_submission(account_pages, request, body, &frame) {
        Ok(Submission::Form(form)) => form,
        Ok(Submission::SwitchLanguage(form)) => {
            let view = view(frame, account_pages, &form.email, form.token.expose());
            return view.answer(StatusCode::OK);
        }
        Err(page) => return *page,
    };
    let services = Arc::clone(&account_pages.accounts);
    let new = NewPassword {
        email: form.email.clone(),
        token: form.token.clone(),
        password: form.password.clone(),
        device,
    };
    match account_pages
        .run_in_language(frame.language, async move { services.reset(new).await })
        .await
    {
        Ok(reset) => render(frame, account_pages, &form, reset),
        Err(err) => refusal(frame, &err.error_response()),
    }
}

fn render(
    frame: PageLayout,
    account_pages: &AccountPages,
    form: &ResetForm,
    reset: PasswordResetResult,
) -> HttpResponse {
    let texts = frame.texts;
    match reset {
        PasswordResetResult::Done => done(&frame, PAGE, CHANGED),
        PasswordResetResult::Invalid => Notice::new(frame, texts.reset.spent)
            .linking(FORGOT_PASSWORD.page, texts.reset.again)
            .answer(StatusCode::BAD_REQUEST),
        PasswordResetResult::Refused(violations) => {
            let fewest = account_pages.accounts.rules().fewest_password_chars;
            let mut view = view(frame, account_pages, &form.email, form.token.expose());
            for fault in violations {
                view.add_error("password", texts.fault(&fault, fewest));
            }
            view.answer(StatusCode::BAD_REQUEST)
        }
    }
}

fn view(frame: PageLayout, account_pages: &AccountPages, email: &str, token: &str) -> FormView {
    let texts = &frame.texts.reset;
    let hint = frame.texts.register.password_hint;
    let hint = hint(account_pages.accounts.rules().fewest_password_chars);
    FormView {
        title: texts.title,
        intro: texts.intro.to_owned(),
        page: PAGE,
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
        frame,
    }
}

#[cfg(test)]
mod tests;
