//! A page with a form, and what was wrong with what it sent.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;

use super::frame::{Frame, shown};

/// A form as it is shown.
#[derive(Template)]
#[template(path = "form.html")]
pub(super) struct FormView {
    pub(super) frame: Frame,
    pub(super) title: &'static str,
    pub(super) intro: &'static str,
    /// Where it is sent: the page's own name, so that it works below any path.
    pub(super) page: &'static str,
    pub(super) hidden: Vec<(&'static str, String)>,
    pub(super) controls: Vec<Control>,
    pub(super) send: &'static str,
    /// Another page, and what to call it.
    pub(super) link: Option<(&'static str, &'static str)>,
    /// What is wrong, if it is with no single control.
    pub(super) alert: Option<&'static str>,
}

/// One thing to fill in.
pub(super) struct Control {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) hint: String,
    pub(super) need: Need,
    pub(super) fixed: bool,
    pub(super) fault: Option<String>,
    pub(super) kind: Kind,
}

/// Whether it must be filled in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Always,
    /// That depends on the rest; the hint says on what.
    Sometimes,
    Never,
}

pub(super) enum Kind {
    Text { input: &'static str, autocomplete: &'static str, value: String },
    Choice { options: Vec<Choice> },
}

pub(super) struct Choice {
    pub(super) value: &'static str,
    pub(super) label: &'static str,
    pub(super) chosen: bool,
}

impl FormView {
    pub(super) fn answer(&self, status: StatusCode) -> HttpResponse {
        shown(status, self)
    }

    /// The same, with this to say of the control that has this name, or of
    /// the whole where none has.
    pub(super) fn find_fault(&mut self, name: &str, fault: String) {
        if let Some(control) = self.controls.iter_mut().find(|it| it.name == name) {
            control.fault.get_or_insert(fault);
        } else {
            self.alert.get_or_insert(self.frame.texts.faults.other);
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
    pub(super) fn text(
        name: &'static str,
        label: &'static str,
        (input, autocomplete): (&'static str, &'static str),
        value: &str,
    ) -> Self {
        let kind = Kind::Text { input, autocomplete, value: value.to_owned() };
        Self {
            name,
            label,
            hint: String::new(),
            need: Need::Always,
            fixed: false,
            fault: None,
            kind,
        }
    }

    /// One of several.
    pub(super) fn choice(name: &'static str, label: &'static str, options: Vec<Choice>) -> Self {
        let kind = Kind::Choice { options };
        Self {
            name,
            label,
            hint: String::new(),
            need: Need::Always,
            fixed: false,
            fault: None,
            kind,
        }
    }

    pub(super) fn hinting(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    pub(super) fn needed(self, need: Need) -> Self {
        Self { need, ..self }
    }

    /// One that is there to be seen and sent, and not to be changed.
    pub(super) fn fixed(self) -> Self {
        Self { fixed: true, ..self }
    }

    /// What the list of faults leads to.
    fn focus(&self) -> String {
        match &self.kind {
            Kind::Choice { options } => {
                let first = options.first().map_or("", |it| it.value);
                format!("{}-{first}", self.name)
            }
            Kind::Text { .. } => self.name.to_owned(),
        }
    }

    fn described_by(&self) -> Option<String> {
        let hint = (!self.hint.is_empty()).then(|| format!("{}-hint", self.name));
        let fault = self.fault.as_ref().map(|_| format!("{}-fault", self.name));
        let ids: Vec<_> = hint.into_iter().chain(fault).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }
}
