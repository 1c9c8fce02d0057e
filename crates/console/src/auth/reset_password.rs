//! `/auth/reset-password.html`: password reset by an emailed link.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse};
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
use crate::accounts::{PasswordResetInput, PasswordResetResult};

const PAGE: &str = "reset-password.html";
const CHANGED: &str = "changed";

/// Fields of the submitted form, as typed.
#[derive(Deserialize)]
struct ResetForm {
    email: String,
    token: Secret<String>,
    password: Secret<String>,
}

/// Renders the form for a link.
pub(crate) async fn show(account_pages: Data<AccountPages>, request: HttpRequest) -> HttpResponse {
    let (layout, query) = match PageRequest::from_request(&request).query() {
        Ok(parsed) => parsed,
        Err(page) => return *page,
    };

    if query.done == CHANGED {
        let done = layout.texts.reset.done;
        return Notice::new(layout, done).response(StatusCode::OK);
    }
    if query.email.is_empty() || query.token.is_empty() {
        return broken_link(layout);
    }

    view(layout, &account_pages, &query.email, &query.token).response(StatusCode::OK)
}

/// Handles the submitted form.
pub(crate) async fn submit(
    account_pages: Data<AccountPages>,
    request: HttpRequest,
    FromDevice(device): FromDevice,
    body: Result<RawBody, ApiError>,
) -> HttpResponse {
    handle_submission(&account_pages, &request, device, body.map(RawBody::into_bytes)).await
}

async fn handle_submission(
    account_pages: &AccountPages,
    request: &HttpRequest,
    device: SignInDevice,
    body: Result<Bytes, ApiError>,
) -> HttpResponse {
    let layout = PageRequest::from_request(request).layout;
    let form: ResetForm = match parse_submission(account_pages, request, body, &layout) {
        Ok(Submission::Form(form)) => form,
        Ok(Submission::SwitchLanguage(form)) => {
            let form_view = view(layout, account_pages, &form.email, form.token.expose());
            return form_view.response(StatusCode::OK);
        }
        Err(page) => return *page,
    };

    let services = Arc::clone(&account_pages.accounts);

    let input = PasswordResetInput {
        email: form.email.clone(),
        token: form.token.clone(),
        password: form.password.clone(),
        device,
    };

    match account_pages
        .run_in_language(layout.language, async move { services.reset_password(input).await })
        .await
    {
        Ok(result) => render(layout, account_pages, &form, result),
        Err(err) => refusal(layout, &HttpResponse::from_error(err)),
    }
}

fn render(
    layout: PageLayout,
    account_pages: &AccountPages,
    form: &ResetForm,
    result: PasswordResetResult,
) -> HttpResponse {
    let texts = layout.texts;

    match result {
        PasswordResetResult::Changed => done(&layout, PAGE, CHANGED),
        PasswordResetResult::InvalidLink => Notice::new(layout, texts.reset.spent)
            .with_link(FORGOT_PASSWORD.page, texts.reset.again)
            .response(StatusCode::BAD_REQUEST),
        PasswordResetResult::InvalidPassword(violations) => {
            let min_chars = account_pages.accounts.rules().min_password_chars;
            let mut view = view(layout, account_pages, &form.email, form.token.expose());
            for violation in violations {
                view.add_error("password", texts.field_error(&violation, min_chars));
            }
            view.response(StatusCode::BAD_REQUEST)
        }
    }
}

fn view(layout: PageLayout, account_pages: &AccountPages, email: &str, token: &str) -> FormView {
    let texts = &layout.texts.reset;
    let min_chars = account_pages.accounts.rules().min_password_chars;
    let hint = (layout.texts.register.password_hint)(min_chars);
    FormView {
        title: texts.title,
        intro: texts.intro.to_owned(),
        page: PAGE,
        hidden: vec![("token", token.to_owned())],
        controls: vec![
            // Displayed, so that password managers know the account.
            Control::text("email", texts.account, "email", "username", email).fixed(),
            Control::text("password", texts.password, "password", "new-password", "")
                .with_hint(hint),
        ],
        send: texts.send,
        link: None,
        alert: None,
        layout,
    }
}

#[cfg(test)]
mod tests;
