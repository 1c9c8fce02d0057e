//! `/auth/register.html`: registration.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse};
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

/// Fields of the submitted form, as typed.
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

/// Renders the form.
pub(crate) async fn show(account_pages: Data<AccountPages>, request: HttpRequest) -> HttpResponse {
    let (layout, query) = match PageRequest::from_request(&request).query() {
        Ok(parsed) => parsed,
        Err(page) => return *page,
    };

    let texts = &layout.texts.register;

    match query.done.as_str() {
        CREATED => return Notice::new(layout, texts.done).response(StatusCode::OK),
        MAILED => return Notice::new(layout, texts.mailed).response(StatusCode::OK),
        _ => {}
    }

    let form = RegisterForm { invitation: query.invitation, ..RegisterForm::default() };
    let rules = account_pages.accounts.rules();
    if rules.policy == RegistrationPolicy::Closed {
        let closed = layout.texts.register.closed;
        return Notice::new(layout, closed).response(StatusCode::OK);
    }

    view(layout, &rules, &form).response(StatusCode::OK)
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
    let form: RegisterForm = match parse_submission(account_pages, request, body, &layout) {
        Ok(Submission::Form(form)) => form,
        Ok(Submission::SwitchLanguage(form)) => {
            return view(layout, &account_pages.accounts.rules(), &form).response(StatusCode::OK);
        }
        Err(page) => return *page,
    };

    let services = Arc::clone(&account_pages.accounts);
    let registration = form.registration();

    match account_pages
        .run_in_language(layout.language, async move { services.register(registration).await })
        .await
    {
        Ok(result) => render(layout, &account_pages.accounts.rules(), &form, result),
        Err(err) => refusal(layout, &HttpResponse::from_error(err)),
    }
}

fn render(
    layout: PageLayout,
    rules: &RegistrationRules,
    form: &RegisterForm,
    result: RegistrationResult,
) -> HttpResponse {
    let texts = layout.texts;
    let closed_to_user = match rules.policy {
        RegistrationPolicy::Closed => {
            return Notice::new(layout, texts.register.closed).response(StatusCode::FORBIDDEN);
        }
        RegistrationPolicy::Invitation => texts.register.not_invited,
        RegistrationPolicy::Open => texts.register.not_you,
    };

    let mut view = match result {
        RegistrationResult::Created => return done(&layout, PAGE, CREATED),
        RegistrationResult::EmailQueued => return done(&layout, PAGE, MAILED),
        _ => view(layout, rules, form),
    };

    let status = match result {
        RegistrationResult::Created | RegistrationResult::EmailQueued => StatusCode::OK,
        RegistrationResult::Invalid(violations) => {
            for violation in violations {
                view.add_error(
                    violation.field,
                    texts.field_error(&violation, rules.min_password_chars),
                );
            }
            StatusCode::BAD_REQUEST
        }
        RegistrationResult::Closed => {
            view.alert = Some(closed_to_user.to_owned());
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

    view.response(status)
}

/// Builds the form with the submitted values, except for the password.
fn view(layout: PageLayout, rules: &RegistrationRules, form: &RegisterForm) -> FormView {
    let texts = &layout.texts.register;
    let mut controls = vec![
        Control::text("email", texts.email, "email", "email", &form.email),
        Control::text("password", texts.password, "password", "new-password", "")
            .with_hint((texts.password_hint)(rules.min_password_chars)),
        Control::text("displayName", texts.name, "text", "name", &form.display_name)
            .with_need(Necessity::Never),
    ];

    if rules.require_declaration {
        controls.push(customer(texts.customer, form, [texts.business, texts.consumer]));
        controls.push(
            Control::text("companyName", texts.company, "text", "organization", &form.company_name)
                .with_hint(texts.company_hint)
                .with_need(Necessity::Sometimes),
        );
    }

    if rules.policy == RegistrationPolicy::Invitation || !form.invitation.is_empty() {
        let is_required = rules.policy == RegistrationPolicy::Invitation;
        controls.push(
            Control::text("invitation", texts.invitation, "text", "off", &form.invitation)
                .with_hint(texts.invitation_hint)
                .with_need(if is_required { Necessity::Always } else { Necessity::Never }),
        );
    }

    let title = texts.title;
    let intro = texts.intro;
    let send = texts.send;
    let forgotten = texts.forgotten;
    FormView {
        layout,
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
    fn registration(&self) -> RegistrationInput {
        let text =
            |field: &String| if field.trim().is_empty() { None } else { Some(field.clone()) };
        let number = self.customer_type.parse().unwrap_or_default();
        let invitation = self.invitation.trim();
        RegistrationInput {
            email: self.email.clone(),
            password: self.password.clone(),
            display_name: text(&self.display_name),
            // An unknown number counts as none; the domain reports it if one is
            // required.
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
