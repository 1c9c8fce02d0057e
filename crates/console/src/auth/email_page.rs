//! Pages that ask for a letter with a link: `/auth/forgot-password.html` to
//! choose a new password by it, `/auth/resend-verification.html` to confirm an
//! address.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _};
use pia_web::{ApiError, RawBody};
use serde::Deserialize;

use super::form::{Control, FormView};
use super::notice::{Notice, refusal};
use super::page_layout::{PageLayout, done};
use super::page_request::PageRequest;
use super::submission::{Submission, parse_submission};
use crate::AccountPages;
use crate::accounts::{EmailRequestResult, RequestedEmail};
use crate::texts::{EmailPageTexts, Texts};

/// A page that requests a letter.
pub(crate) struct EmailPage {
    /// The page's own name.
    pub(super) page: &'static str,
    letter: RequestedEmail,
    texts: fn(&'static Texts) -> &'static EmailPageTexts,
}

pub(crate) static FORGOT_PASSWORD: EmailPage = EmailPage {
    page: "forgot-password.html",
    letter: RequestedEmail::PasswordReset,
    texts: |it| &it.forgot,
};

pub(crate) static RESEND_VERIFICATION: EmailPage = EmailPage {
    page: "resend-verification.html",
    letter: RequestedEmail::Verification,
    texts: |it| &it.resend,
};

const MAILED: &str = "mailed";

/// Submitted form.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct EmailForm {
    email: String,
}

impl EmailPage {
    /// Shows the form.
    pub(crate) fn show(&self, request: &HttpRequest) -> HttpResponse {
        match PageRequest::from_request(request).query() {
            Ok((frame, query)) if query.done == MAILED => {
                let mailed = self.texts(&frame).mailed;
                Notice::new(frame, mailed).answer(StatusCode::OK)
            }
            Ok((frame, _)) => self.view(frame, "").answer(StatusCode::OK),
            Err(page) => *page,
        }
    }

    /// Takes the form.
    pub(crate) async fn submit(
        &'static self,
        account_pages: Data<AccountPages>,
        request: HttpRequest,
        body: Result<RawBody, ApiError>,
    ) -> HttpResponse {
        self.answer(&account_pages, &request, body.map(RawBody::into_bytes)).await
    }

    async fn answer(
        &self,
        account_pages: &AccountPages,
        request: &HttpRequest,
        body: Result<Bytes, ApiError>,
    ) -> HttpResponse {
        let frame = PageRequest::from_request(request).frame;
        let form: EmailForm = match parse_submission(account_pages, request, body, &frame) {
            Ok(Submission::Form(form)) => form,
            Ok(Submission::SwitchLanguage(form)) => {
                return self.view(frame, &form.email).answer(StatusCode::OK);
            }
            Err(page) => return *page,
        };
        if let Some(fault) = email_error(&frame, &form.email) {
            let mut view = self.view(frame, &form.email);
            view.add_error("email", fault);
            return view.answer(StatusCode::BAD_REQUEST);
        }
        let (services, letter) = (Arc::clone(&account_pages.accounts), self.letter);
        let mailed = async move { services.mail(letter, form.email).await };
        match account_pages.run_in_language(frame.language, mailed).await {
            Ok(EmailRequestResult::Mailed) => done(&frame, self.page, MAILED),
            Ok(EmailRequestResult::NoMail) => {
                let no_mail = self.texts(&frame).no_mail;
                Notice::new(frame, no_mail).answer(StatusCode::BAD_REQUEST)
            }
            Err(err) => refusal(frame, &err.error_response()),
        }
    }

    fn texts(&self, frame: &PageLayout) -> &'static EmailPageTexts {
        (self.texts)(frame.texts)
    }

    fn view(&self, frame: PageLayout, email: &str) -> FormView {
        let texts = self.texts(&frame);
        let label = frame.texts.register.email;
        FormView {
            title: texts.title,
            intro: texts.intro.to_owned(),
            page: self.page,
            hidden: Vec::new(),
            controls: vec![Control::text("email", label, ("email", "email"), email)],
            send: texts.send,
            link: None,
            alert: None,
            frame,
        }
    }
}

/// Returns the error of a text that cannot be an address, whoever has an
/// account.
fn email_error(frame: &PageLayout, email: &str) -> Option<String> {
    let faults = &frame.texts.faults;
    let email = email.trim();
    if email.is_empty() {
        return Some(faults.email_missing.to_owned());
    }
    let plausible = email.contains('@') && !email.chars().any(char::is_control);
    (!plausible).then(|| faults.email_invalid.to_owned())
}

#[cfg(test)]
mod tests;
