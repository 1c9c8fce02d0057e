//! Pages that request an email with a link: `/auth/forgot-password.html` to
//! reset the password, `/auth/resend-verification.html` to verify an address.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse};
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

/// Page that requests an email.
pub(crate) struct EmailPage {
    /// File name of the page.
    pub(super) page: &'static str,
    email_kind: RequestedEmail,
    texts: fn(&'static Texts) -> &'static EmailPageTexts,
}

pub(crate) static FORGOT_PASSWORD: EmailPage = EmailPage {
    page: "forgot-password.html",
    email_kind: RequestedEmail::PasswordReset,
    texts: |it| &it.forgot,
};

pub(crate) static RESEND_VERIFICATION: EmailPage = EmailPage {
    page: "resend-verification.html",
    email_kind: RequestedEmail::Verification,
    texts: |it| &it.resend,
};

const MAILED: &str = "mailed";

/// Fields of the submitted form, as typed.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct EmailForm {
    email: String,
}

impl EmailPage {
    /// Renders the form.
    pub(crate) fn show(&self, request: &HttpRequest) -> HttpResponse {
        match PageRequest::from_request(request).query() {
            Ok((layout, query)) if query.done == MAILED => {
                let mailed = self.texts(&layout).mailed;
                Notice::new(layout, mailed).response(StatusCode::OK)
            }
            Ok((layout, _)) => self.view(layout, "").response(StatusCode::OK),
            Err(page) => *page,
        }
    }

    /// Handles the submitted form.
    pub(crate) async fn submit(
        &'static self,
        account_pages: Data<AccountPages>,
        request: HttpRequest,
        body: Result<RawBody, ApiError>,
    ) -> HttpResponse {
        self.handle_submission(&account_pages, &request, body.map(RawBody::into_bytes)).await
    }

    async fn handle_submission(
        &self,
        account_pages: &AccountPages,
        request: &HttpRequest,
        body: Result<Bytes, ApiError>,
    ) -> HttpResponse {
        let layout = PageRequest::from_request(request).layout;
        let form: EmailForm = match parse_submission(account_pages, request, body, &layout) {
            Ok(Submission::Form(form)) => form,
            Ok(Submission::SwitchLanguage(form)) => {
                return self.view(layout, &form.email).response(StatusCode::OK);
            }
            Err(page) => return *page,
        };

        if let Some(error) = email_error(&layout, &form.email) {
            let mut view = self.view(layout, &form.email);
            view.add_error("email", error);
            return view.response(StatusCode::BAD_REQUEST);
        }

        let services = Arc::clone(&account_pages.accounts);
        let email_kind = self.email_kind;
        let delivery = async move { services.request_email(email_kind, form.email).await };
        match account_pages.run_in_language(layout.language, delivery).await {
            Ok(EmailRequestResult::Accepted) => done(&layout, self.page, MAILED),
            Ok(EmailRequestResult::NotConfigured) => {
                let no_mail = self.texts(&layout).no_mail;
                Notice::new(layout, no_mail).response(StatusCode::BAD_REQUEST)
            }
            Err(err) => refusal(layout, &HttpResponse::from_error(err)),
        }
    }

    fn texts(&self, layout: &PageLayout) -> &'static EmailPageTexts {
        (self.texts)(layout.texts)
    }

    fn view(&self, layout: PageLayout, email: &str) -> FormView {
        let texts = self.texts(&layout);
        let label = layout.texts.register.email;
        FormView {
            title: texts.title,
            intro: texts.intro.to_owned(),
            page: self.page,
            hidden: Vec::new(),
            controls: vec![Control::text("email", label, "email", "email", email)],
            send: texts.send,
            link: None,
            alert: None,
            layout,
        }
    }
}

/// Returns an error if a text cannot be an address, regardless of any account.
fn email_error(layout: &PageLayout, email: &str) -> Option<String> {
    let field_errors = &layout.texts.field_errors;
    let email = email.trim();
    if email.is_empty() {
        return Some(field_errors.email_missing.to_owned());
    }
    let plausible = email.contains('@') && !email.chars().any(char::is_control);
    (!plausible).then(|| field_errors.email_invalid.to_owned())
}

#[cfg(test)]
mod tests;
