//! Pages with a form, and the errors of a submission.
//!
//! For the pages before the sign-in (`register.rs`, `reset_password.rs`,
//! `email_page.rs`), whose template works without a script. `add_error` attaches an
//! error by the name of a control.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;

use super::page_layout::{PageLayout, render};

/// Form, ready to be rendered.
#[derive(Template)]
#[template(path = "form.html")]
pub(crate) struct FormView {
    pub(crate) layout: PageLayout,
    pub(crate) title: &'static str,
    pub(crate) intro: String,
    /// Relative target of the form: the page's own name, so that it works below
    /// any path.
    pub(crate) page: &'static str,
    pub(crate) hidden: Vec<(&'static str, String)>,
    pub(crate) controls: Vec<Control>,
    pub(crate) send: &'static str,
    /// Link to another page, with its label.
    pub(crate) link: Option<(&'static str, &'static str)>,
    /// Error that concerns no single control.
    pub(crate) alert: Option<String>,
}

/// Control of a form with its label and state.
pub(crate) struct Control {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) hint: String,
    pub(crate) need: Necessity,
    pub(crate) fixed: bool,
    pub(crate) error: Option<String>,
    pub(crate) kind: ControlKind,
}

/// Necessity of a control.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Necessity {
    Always,
    /// Required depending on other fields, as the hint explains.
    Sometimes,
    Never,
}

pub(crate) enum ControlKind {
    Text {
        input: &'static str,
        autocomplete: &'static str,
        value: String,
    },
    /// Several lines of text.
    Lines {
        value: String,
    },
    Choice {
        options: Vec<Choice>,
    },
}

pub(crate) struct Choice {
    pub(crate) value: &'static str,
    pub(crate) label: &'static str,
    pub(crate) chosen: bool,
}

impl FormView {
    pub(crate) fn response(&self, status: StatusCode) -> HttpResponse {
        render(status, self)
    }

    /// Attaches an error to the control with this name, or to the form if there
    /// is none.
    pub(crate) fn add_error(&mut self, name: &str, error: String) {
        if let Some(control) = self.controls.iter_mut().find(|it| it.name == name) {
            control.error.get_or_insert(error);
        } else {
            self.alert.get_or_insert_with(|| self.layout.texts.field_errors.other.to_owned());
        }
    }

    fn has_errors(&self) -> bool {
        self.alert.is_some() || self.has_control_errors()
    }

    fn has_control_errors(&self) -> bool {
        self.controls.iter().any(|it| it.error.is_some())
    }
}

impl Control {
    /// Creates a text input. One of type `password` never contains the
    /// submitted value.
    pub(crate) fn text(
        name: &'static str,
        label: &'static str,
        input: &'static str,
        autocomplete: &'static str,
        value: &str,
    ) -> Self {
        Self::new(name, label, ControlKind::Text { input, autocomplete, value: value.to_owned() })
    }

    /// Creates a text area.
    pub(crate) fn lines(name: &'static str, label: &'static str, value: &str) -> Self {
        Self::new(name, label, ControlKind::Lines { value: value.to_owned() })
    }

    /// Creates a choice among several options.
    pub(crate) fn choice(name: &'static str, label: &'static str, options: Vec<Choice>) -> Self {
        Self::new(name, label, ControlKind::Choice { options })
    }

    fn new(name: &'static str, label: &'static str, kind: ControlKind) -> Self {
        Self {
            name,
            label,
            hint: String::new(),
            need: Necessity::Always,
            fixed: false,
            error: None,
            kind,
        }
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    pub(crate) fn with_need(self, need: Necessity) -> Self {
        Self { need, ..self }
    }

    /// Makes the control read-only.
    pub(crate) fn fixed(self) -> Self {
        Self { fixed: true, ..self }
    }

    /// Returns the target of the link in the error summary.
    fn focus(&self) -> String {
        match &self.kind {
            ControlKind::Choice { options } => {
                let first = options.first().map_or("", |it| it.value);
                format!("{}-{first}", self.name)
            }
            ControlKind::Text { .. } | ControlKind::Lines { .. } => self.name.to_owned(),
        }
    }

    fn described_by(&self) -> Option<String> {
        let hint = (!self.hint.is_empty()).then(|| format!("{}-hint", self.name));
        let error = self.error.as_ref().map(|_| format!("{}-fault", self.name));
        let ids: Vec<_> = hint.into_iter().chain(error).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }
}
