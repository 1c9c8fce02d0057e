//! `/auth/verify-email.html`: showing that an address is one's own.
//!
//! Scanners of mail open every link, so that opening it alone does nothing:
//! the button does.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _};
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

/// Submitted form.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VerifyForm {
    user_id: String,
    token: Secret<String>,
}

/// Shows the button to whoever comes by a link.
pub(crate) async fn show(request: HttpRequest) -> HttpResponse {
    let (frame, query) = match PageRequest::from_request(&request).query() {
        Ok(visit) => visit,
        Err(page) => return *page,
    };
    if query.done == CONFIRMED {
        let done = frame.texts.verify.done;
        return Notice::new(frame, done).answer(StatusCode::OK);
    }
    if user(&query.user_id).is_none() || query.token.is_empty() {
        return broken_link(frame);
    }
    view(frame, &query.user_id, &query.token).answer(StatusCode::OK)
}

/// Takes the form.
pub(crate) async fn submit(
    account_pages: Data<AccountPages>,
    request: HttpRequest,
    body: Result<RawBody, ApiError>,
) -> HttpResponse {
    answer(&account_pages, &request, body.map(RawBody::into_bytes)).await
}

async fn answer(
    account_pages: &AccountPages,
    request: &HttpRequest,
    body: Result<Bytes, ApiError>,
) -> HttpResponse {
    let frame = PageRequest::from_request(request).frame;
    let form: VerifyForm = match parse_submission(account_pages, request, body, &frame) {
        Ok(Submission::Form(form)) => form,
        Ok(Submission::SwitchLanguage(form)) => {
            return view(frame, &form.user_id, form.token.expose()).answer(StatusCode::OK);
        }
        Err(page) => return *page,
    };
    let Some(user) = user(&form.user_id) else { return broken_link(frame) };
    let services = Arc::clone(&account_pages.accounts);
    let verified = async move { services.verify(user, form.token).await };
    let texts = &frame.texts.verify;
    match account_pages.run_in_language(frame.language, verified).await {
        Ok(VerificationResult::Now) => done(&frame, PAGE, CONFIRMED),
        Ok(VerificationResult::Invalid) => Notice::new(frame, texts.spent)
            .linking(RESEND_VERIFICATION.page, texts.again)
            .answer(StatusCode::BAD_REQUEST),
        Err(err) => refusal(frame, &err.error_response()),
    }
}

fn user(text: &str) -> Option<UserId> {
    text.parse().ok().map(UserId)
}

fn view(frame: PageLayout, user: &str, token: &str) -> FormView {
    let texts = &frame.texts.verify;
    FormView {
        title: texts.title,
        intro: texts.intro.to_owned(),
        page: PAGE,
        hidden: vec![("userId", user.to_owned()), ("token", token.to_owned())],
        controls: Vec::new(),
        send: texts.send,
        link: None,
        alert: None,
        frame,
    }
}

#[cfg(test)]
mod tests;
