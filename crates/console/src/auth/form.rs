//! A page with a form, and what was wrong with what it sent.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;

use super::page_layout::{PageLayout, render};

/// A form as it is shown.
#[derive(Template)]
#[template(path = "form.html")]
pub(crate) struct FormView {
    pub(crate) frame: PageLayout,
    pub(crate) title: &'static str,
    pub(crate) intro: String,
    /// Relative target of the form: the page's own name, so that it works below
    /// any path.
    pub(crate) page: &'static str,
    pub(crate) hidden: Vec<(&'static str, String)>,
    pub(crate) controls: Vec<Control>,
    pub(crate) send: &'static str,
    /// Another page, and what to call it.
    pub(crate) link: Option<(&'static str, &'static str)>,
    /// Error that concerns no single control.
    pub(crate) alert: Option<String>,
}

/// Form control.
pub(crate) struct Control {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) hint: String,
    pub(crate) need: Necessity,
    pub(crate) fixed: bool,
    pub(crate) fault: Option<String>,
    pub(crate) kind: ControlKind,
}

/// Necessity of a control.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Necessity {
    Always,
    /// Required depending on other fields, as the hint says.
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
    pub(crate) fn answer(&self, status: StatusCode) -> HttpResponse {
        render(status, self)
    }

    /// Attaches this error to the control with this name, or to the whole form
    /// where none has it.
    pub(crate) fn add_error(&mut self, name: &str, fault: String) {
        if let Some(control) = self.controls.iter_mut().find(|it| it.name == name) {
            control.fault.get_or_insert(fault);
        } else {
            self.alert.get_or_insert_with(|| self.frame.texts.faults.other.to_owned());
        }
    }

    fn is_faulty(&self) -> bool {
        self.alert.is_some() || self.has_faulty_controls()
    }

    fn has_faulty_controls(&self) -> bool {
        self.controls.iter().any(|it| it.fault.is_some())
    }
}

impl Control {
    /// A line of text. An `input` of `password` never shows what was sent.
    pub(crate) fn text(
        name: &'static str,
        label: &'static str,
        (input, autocomplete): (&'static str, &'static str),
        value: &str,
    ) -> Self {
        Self::new(name, label, ControlKind::Text { input, autocomplete, value: value.to_owned() })
    }

    /// Several lines of text.
    pub(crate) fn lines(name: &'static str, label: &'static str, value: &str) -> Self {
        Self::new(name, label, ControlKind::Lines { value: value.to_owned() })
    }

    /// One of several.
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
            fault: None,
            kind,
        }
    }

    pub(crate) fn hinting(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    pub(crate) fn needed(self, need: Necessity) -> Self {
        Self { need, ..self }
    }

    /// One that is there to be seen and sent, and not to be changed.
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
        let fault = self.fault.as_ref().map(|_| format!("{}-fault", self.name));
        let ids: Vec<_> = hint.into_iter().chain(fault).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }
}
