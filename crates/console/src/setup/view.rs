//! Content of the set-up page.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use pia_identity::FirstAdminError;
use pia_policy::InstallError;

use crate::auth::form::{Control, ControlKind, FormView};
use crate::auth::notice::Notice;
use crate::auth::page_layout::PageLayout;

/// The page: the form for what is left to do, or that nothing is.
pub(super) enum SetupPage {
    Form(Box<FormView>),
    Done(Notice),
}

impl SetupPage {
    /// A licence is in force, and there is an administrator.
    pub(super) fn done(frame: PageLayout) -> Self {
        let done = frame.texts.setup.done;
        Self::Done(Notice::new(frame, done))
    }

    /// No licence is in force; `status` says why.
    pub(super) fn license(frame: PageLayout, status: String) -> Self {
        let texts = &frame.texts.setup;
        let license = Control::lines("license", texts.license, "").hinting(texts.license_hint);
        let send = texts.install;
        Self::form(frame, status, ("license", vec![license], send))
    }

    /// Page that creates the first administrator.
    pub(super) fn administrator(frame: PageLayout) -> Self {
        let texts = &frame.texts.setup;
        let email = Control::text("email", frame.texts.register.email, ("email", "username"), "");
        let label = frame.texts.register.password;
        let password = Control::text("password", label, ("password", "new-password"), "")
            .hinting(texts.password_hint);
        let (status, send) = (texts.no_admin.to_owned(), texts.create);
        Self::form(frame, status, ("administrator", vec![email, password], send))
    }

    fn form(
        frame: PageLayout,
        intro: String,
        (step, controls, send): (&str, Vec<Control>, &'static str),
    ) -> Self {
        let texts = &frame.texts.setup;
        let token = Control::text("token", texts.token, ("password", "off"), "");
        let token = token.hinting(texts.token_hint);
        Self::Form(Box::new(FormView {
            title: texts.title,
            intro,
            page: "setup",
            hidden: vec![("step", step.to_owned())],
            controls: std::iter::once(token).chain(controls).collect(),
            send,
            link: None,
            alert: None,
            frame,
        }))
    }

    /// Fills in what was sent, to be corrected and sent again. Token and
    /// password never come back.
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

    /// Shows why a licence was refused.
    pub(super) fn with_licence_error(mut self, err: &InstallError) -> Self {
        if let InstallError::Unavailable(err) = err {
            let cause = std::error::Error::source(err).map(ToString::to_string);
            tracing::error!(error = %err, cause, "failed to install the licence");
        }
        let Self::Form(form) = &mut self else { return self };
        let reported = (form.frame.texts.setup.install_error)(err);
        match err {
            InstallError::WrongToken => form.add_error("token", reported),
            InstallError::Refused(_) | InstallError::Ended(_) => {
                form.add_error("license", reported)
            }
            InstallError::AlreadyLicensed | InstallError::Unavailable(_) => {
                form.alert = Some(reported)
            }
        }
        self
    }

    /// Shows why no administrator was created. `fewest` is the minimum length
    /// of a password, in characters.
    pub(super) fn with_admin_error(mut self, err: &FirstAdminError, fewest: usize) -> Self {
        if let FirstAdminError::Unavailable(err) = err {
            let cause = std::error::Error::source(err).map(ToString::to_string);
            tracing::error!(error = %err, cause, "failed to create the administrator");
        }
        let Self::Form(form) = &mut self else { return self };
        let texts = form.frame.texts;
        let reported = (texts.setup.admin_error)(err);
        match err {
            FirstAdminError::Invalid(faults) => {
                for fault in faults {
                    form.add_error(fault.field, texts.fault(fault, fewest));
                }
            }
            FirstAdminError::WrongToken => form.add_error("token", reported),
            FirstAdminError::EmailTaken => form.add_error("email", reported),
            _ => form.alert = Some(reported),
        }
        self
    }

    pub(super) fn answer(&self, status: StatusCode) -> HttpResponse {
        match self {
            Self::Form(form) => form.answer(status),
            Self::Done(notice) => notice.answer(status),
        }
    }
}
