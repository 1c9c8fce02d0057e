//! `/auth/register.html`: making an account.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _};
use pia_identity::{CustomerType, RegistrationPolicy, RegistrationRules};
use pia_kernel::Secret;
use pia_web::{ApiError, RawBody};
use serde::Deserialize;

use super::email_page::FORGOT_PASSWORD;
use super::form::{Choice, Control, FormView, Necessity};
use super::notice::{Notice, refusal};
use super::page_layout::{PageLayout, done};
use super::page_request::PageRequest;
use super::submission::{Submission, parse_submission};
use crate::AccountPages;
use crate::accounts::{RegistrationInput, RegistrationResult};

const PAGE: &str = "register.html";
const CREATED: &str = "created";
const MAILED: &str = "mailed";

/// Submitted form.
#[derive(Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RegisterForm {
    email: String,
    password: Secret<String>,
    display_name: String,
    customer_type: String,
    company_name: String,
    invitation: String,
}

/// Shows the form.
pub(crate) async fn show(account_pages: Data<AccountPages>, request: HttpRequest) -> HttpResponse {
    let (frame, query) = match PageRequest::from_request(&request).query() {
        Ok(visit) => visit,
        Err(page) => return *page,
    };
    let texts = &frame.texts.register;
    match query.done.as_str() {
        CREATED => return Notice::new(frame, texts.done).answer(StatusCode::OK),
        MAILED => return Notice::new(frame, texts.mailed).answer(StatusCode::OK),
        _ => {}
    }
    let form = RegisterForm { invitation: query.invitation, ..RegisterForm::default() };
    let rules = account_pages.accounts.rules();
    if rules.policy == RegistrationPolicy::Closed {
        let closed = frame.texts.register.closed;
        return Notice::new(frame, closed).answer(StatusCode::OK);
    }
    view(frame, &rules, &form).answer(StatusCode::OK)
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
    let form: RegisterForm = match parse_submission(account_pages, request, body, &frame) {
        Ok(Submission::Form(form)) => form,
        Ok(Submission::SwitchLanguage(form)) => {
            return view(frame, &account_pages.accounts.rules(), &form).answer(StatusCode::OK);
        }
        Err(page) => return *page,
    };
    let services = Arc::clone(&account_pages.accounts);
    let applicant = form.applicant();
    match account_pages
        .run_in_language(frame.language, async move { services.register(applicant).await })
        .await
    {
        Ok(joined) => render(frame, &account_pages.accounts.rules(), &form, joined),
        Err(err) => refusal(frame, &err.error_response()),
    }
}

fn render(
    frame: PageLayout,
    rules: &RegistrationRules,
    form: &RegisterForm,
    joined: RegistrationResult,
) -> HttpResponse {
    let texts = frame.texts;
    let not_you = match rules.policy {
        RegistrationPolicy::Closed => {
            return Notice::new(frame, texts.register.closed).answer(StatusCode::FORBIDDEN);
        }
        RegistrationPolicy::Invitation => texts.register.not_invited,
        RegistrationPolicy::Open => texts.register.not_you,
    };
    let mut view = match joined {
        RegistrationResult::Made => return done(&frame, PAGE, CREATED),
        RegistrationResult::Mailed => return done(&frame, PAGE, MAILED),
        _ => view(frame, rules, form),
    };
    let status = match joined {
        RegistrationResult::Made | RegistrationResult::Mailed => StatusCode::OK,
        RegistrationResult::Invalid(violations) => {
            for fault in violations {
                view.add_error(fault.field, texts.fault(&fault, rules.fewest_password_chars));
            }
            StatusCode::BAD_REQUEST
        }
        RegistrationResult::Closed => {
            view.alert = Some(not_you.to_owned());
            StatusCode::FORBIDDEN
        }
        RegistrationResult::SeatsTaken => {
            view.alert = Some(texts.register.seats_taken.to_owned());
            StatusCode::FORBIDDEN
        }
        RegistrationResult::EmailTaken => {
            view.add_error("email", texts.register.email_taken.to_owned());
            StatusCode::CONFLICT
        }
    };
    view.answer(status)
}

/// The form with what was typed before, but for the password.
fn view(frame: PageLayout, rules: &RegistrationRules, form: &RegisterForm) -> FormView {
    let texts = &frame.texts.register;
    let mut controls = vec![
        Control::text("email", texts.email, ("email", "email"), &form.email),
        Control::text("password", texts.password, ("password", "new-password"), "")
            .hinting((texts.password_hint)(rules.fewest_password_chars)),
        Control::text("displayName", texts.name, ("text", "name"), &form.display_name)
            .needed(Necessity::Never),
    ];
    if rules.require_declaration {
        controls.push(customer(texts.customer, form, [texts.business, texts.consumer]));
        let company = ("text", "organization");
        controls.push(
            Control::text("companyName", texts.company, company, &form.company_name)
                .hinting(texts.company_hint)
                .needed(Necessity::Sometimes),
        );
    }
    if rules.policy == RegistrationPolicy::Invitation || !form.invitation.is_empty() {
        let wanted = rules.policy == RegistrationPolicy::Invitation;
        controls.push(
            Control::text("invitation", texts.invitation, ("text", "off"), &form.invitation)
                .hinting(texts.invitation_hint)
                .needed(if wanted { Necessity::Always } else { Necessity::Never }),
        );
    }
    let (title, intro, send, forgotten) = (texts.title, texts.intro, texts.send, texts.forgotten);
    FormView {
        frame,
        title,
        intro: intro.to_owned(),
        page: PAGE,
        hidden: Vec::new(),
        controls,
        send,
        link: Some((FORGOT_PASSWORD.page, forgotten)),
        alert: None,
    }
}

fn customer(label: &'static str, form: &RegisterForm, labels: [&'static str; 2]) -> Control {
    let options = ["1", "2"].into_iter().zip(labels).map(|(value, label)| Choice {
        value,
        label,
        chosen: form.customer_type == value,
    });
    Control::choice("customerType", label, options.collect())
}

impl RegisterForm {
    fn applicant(&self) -> RegistrationInput {
        let text = |it: &String| Some(it.clone()).filter(|it| !it.trim().is_empty());
        let number = self.customer_type.parse().unwrap_or_default();
        let invitation = self.invitation.trim();
        RegistrationInput {
            email: self.email.clone(),
            password: self.password.clone(),
            display_name: text(&self.display_name),
            // One that there is not is as none: the domain says if it wants one.
            customer: CustomerType::from_number(number).unwrap_or_default(),
            company_name: text(&self.company_name),
            invitation: (!invitation.is_empty()).then(|| Secret::new(invitation.to_owned())),
        }
    }
}

impl Default for RegisterForm {
    fn default() -> Self {
        Self {
            email: String::new(),
            password: Secret::new(String::new()),
            display_name: String::new(),
            customer_type: String::new(),
            company_name: String::new(),
            invitation: String::new(),
        }
    }
}

#[cfg(test)]
mod tests;
