//! `/auth/verify-email.html`: verification of an email address.
//!
//! Email scanners open every link, so opening it has no effect: the button
//! verifies the address.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse};
use pia_kernel::{Secret, UserId};
use pia_web::{ApiError, RawBody};
use serde::Deserialize;

use super::email_page::RESEND_VERIFICATION;
use super::form::FormView;
use super::notice::{Notice, refusal};
use super::page_layout::{PageLayout, done};
use super::page_request::{PageRequest, broken_link};
use super::submission::{Submission, parse_submission};
use crate::AccountPages;
use crate::accounts::VerificationResult;

const PAGE: &str = "verify-email.html";
const CONFIRMED: &str = "confirmed";

/// Fields of the submitted form, as typed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VerifyForm {
    user_id: String,
    token: Secret<String>,
}

/// Renders the button for a link.
pub(crate) async fn show(request: HttpRequest) -> HttpResponse {
    let (layout, query) = match PageRequest::from_request(&request).query() {
        Ok(parsed) => parsed,
        Err(page) => return *page,
    };

    if query.done == CONFIRMED {
        let done = layout.texts.verify.done;
        return Notice::new(layout, done).response(StatusCode::OK);
    }
    if user(&query.user_id).is_none() || query.token.is_empty() {
        return broken_link(layout);
    }

    view(layout, &query.user_id, &query.token).response(StatusCode::OK)
}

/// Handles the submitted form.
pub(crate) async fn submit(
    account_pages: Data<AccountPages>,
    request: HttpRequest,
    body: Result<RawBody, ApiError>,
) -> HttpResponse {
    handle_submission(&account_pages, &request, body.map(RawBody::into_bytes)).await
}

async fn handle_submission(
    account_pages: &AccountPages,
    request: &HttpRequest,
    body: Result<Bytes, ApiError>,
) -> HttpResponse {
    let layout = PageRequest::from_request(request).layout;
    let form: VerifyForm = match parse_submission(account_pages, request, body, &layout) {
        Ok(Submission::Form(form)) => form,
        Ok(Submission::SwitchLanguage(form)) => {
            return view(layout, &form.user_id, form.token.expose()).response(StatusCode::OK);
        }
        Err(page) => return *page,
    };
    let Some(user) = user(&form.user_id) else { return broken_link(layout) };

    let services = Arc::clone(&account_pages.accounts);
    let verification = async move { services.verify_email(user, form.token).await };
    let texts = &layout.texts.verify;

    match account_pages.run_in_language(layout.language, verification).await {
        Ok(VerificationResult::Verified) => done(&layout, PAGE, CONFIRMED),
        Ok(VerificationResult::InvalidLink) => Notice::new(layout, texts.spent)
            .with_link(RESEND_VERIFICATION.page, texts.again)
            .response(StatusCode::BAD_REQUEST),
        Err(err) => refusal(layout, &HttpResponse::from_error(err)),
    }
}

fn user(text: &str) -> Option<UserId> {
    text.parse().ok().map(UserId)
}

fn view(layout: PageLayout, user: &str, token: &str) -> FormView {
    let texts = &layout.texts.verify;
    FormView {
        title: texts.title,
        intro: texts.intro.to_owned(),
        page: PAGE,
        hidden: vec![("userId", user.to_owned()), ("token", token.to_owned())],
        controls: Vec::new(),
        send: texts.send,
        link: None,
        alert: None,
        layout,
    }
}

#[cfg(test)]
mod tests;
