//! Content of the setup page.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use pia_identity::FirstAdminError;
use pia_policy::InstallError;

use crate::auth::form::{Control, ControlKind, FormView};
use crate::auth::notice::Notice;
use crate::auth::page_layout::PageLayout;

/// Page of the setup: the form of the current step, or a notice that it is
/// complete.
pub(super) enum SetupPage {
    Form(Box<FormView>),
    Done(Notice),
}

impl SetupPage {
    /// Creates the page of a server with a licence and an administrator.
    pub(super) fn done(layout: PageLayout) -> Self {
        let texts = layout.texts;
        let notice = Notice::new(layout, texts.setup.done)
            .with_link("../account/security", texts.front.account)
            .with_link("first-steps", texts.setup.next);
        Self::Done(notice)
    }

    /// Creates the page that installs a licence; `status` explains why one is
    /// needed.
    pub(super) fn license(layout: PageLayout, status: String) -> Self {
        let texts = &layout.texts.setup;
        let license = Control::lines("license", texts.license, "").with_hint(texts.license_hint);
        let send = texts.install;
        Self::form(layout, status, "license", vec![license], send)
    }

    /// Creates the page that creates the first administrator.
    pub(super) fn administrator(layout: PageLayout) -> Self {
        let texts = &layout.texts.setup;
        let email = Control::text("email", layout.texts.register.email, "email", "username", "");
        let label = layout.texts.register.password;
        let password = Control::text("password", label, "password", "new-password", "")
            .with_hint(texts.password_hint);
        let status = texts.no_admin.to_owned();
        let send = texts.create;
        Self::form(layout, status, "administrator", vec![email, password], send)
    }

    fn form(
        layout: PageLayout,
        intro: String,
        step: &str,
        controls: Vec<Control>,
        send: &'static str,
    ) -> Self {
        let texts = &layout.texts.setup;
        let token =
            Control::text("token", texts.token, "password", "off", "").with_hint(texts.token_hint);
        Self::Form(Box::new(FormView {
            title: texts.title,
            intro,
            page: "setup",
            hidden: vec![("step", step.to_owned())],
            controls: std::iter::once(token).chain(controls).collect(),
            send,
            link: None,
            alert: None,
            layout,
        }))
    }

    /// Fills in the submitted values, to be corrected. Token and password are
    /// never returned.
    pub(super) fn filled_in(mut self, license: &str, email: &str) -> Self {
        if let Self::Form(form) = &mut self {
            for control in &mut form.controls {
                match (control.name, &mut control.kind) {
                    ("license", ControlKind::Lines { value }) => license.clone_into(value),
                    ("email", ControlKind::Text { value, .. }) => email.clone_into(value),
                    _ => {}
                }
            }
        }
        self
    }

    /// Adds the error of a refused licence.
    pub(super) fn with_licence_error(mut self, err: &InstallError) -> Self {
        if let InstallError::Unavailable(err) = err {
            let cause = std::error::Error::source(err).map(ToString::to_string);
            tracing::error!(error = %err, cause, "failed to install the licence");
        }

        let Self::Form(form) = &mut self else { return self };
        let text = (form.layout.texts.setup.install_error)(err);

        match err {
            InstallError::WrongToken => form.add_error("token", text),
            InstallError::Refused(_) | InstallError::Ended(_) => form.add_error("license", text),
            InstallError::AlreadyLicensed | InstallError::Unavailable(_) => form.alert = Some(text),
        }

        self
    }

    /// Adds the error of a refused administrator. `fewest` is the minimum
    /// length of a password, in characters.
    pub(super) fn with_admin_error(mut self, err: &FirstAdminError, fewest: usize) -> Self {
        if let FirstAdminError::Unavailable(err) = err {
            let cause = std::error::Error::source(err).map(ToString::to_string);
            tracing::error!(error = %err, cause, "failed to create the administrator");
        }

        let Self::Form(form) = &mut self else { return self };

        let texts = form.layout.texts;
        let text = (texts.setup.admin_error)(err);

        match err {
            FirstAdminError::Invalid(violations) => {
                for violation in violations {
                    form.add_error(violation.field, texts.field_error(violation, fewest));
                }
            }
            FirstAdminError::WrongToken => form.add_error("token", text),
            FirstAdminError::EmailTaken => form.add_error("email", text),
            _ => form.alert = Some(text),
        }

        self
    }

    pub(super) fn response(&self, status: StatusCode) -> HttpResponse {
        match self {
            Self::Form(form) => form.response(status),
            Self::Done(notice) => notice.response(status),
        }
    }
}
