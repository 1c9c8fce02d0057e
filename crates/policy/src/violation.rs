//! Violations in a request of an administrator.
//!
//! Drafts of feedback, personas, plugins and certificates collect them with a
//! `FormCheck`, so that one answer names every wrong field.

use pia_kernel::utf16_len;

/// Invalid part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Field of the request, by its name on the wire.
    pub field: &'static str,
    /// Kind of violation: `required`, `too_long`, `invalid`.
    pub code: &'static str,
    /// Human-readable message.
    pub message: String,
}

/// Validator of a form's fields that collects all violations.
#[derive(Debug, Default)]
pub(crate) struct FormCheck {
    /// Violations so far.
    pub(crate) violations: Vec<Violation>,
}

impl FormCheck {
    /// Records a violation.
    pub(crate) fn refuse(&mut self, field: &'static str, code: &'static str, message: String) {
        self.violations.push(Violation { field, code, message });
    }

    /// Trims a text of at most `max` UTF-16 code units; a blank text is `None`.
    pub(crate) fn text(
        &mut self,
        field: &'static str,
        text: Option<String>,
        max: usize,
    ) -> Option<String> {
        let text = text.map(|it| it.trim().to_owned()).filter(|it| !it.is_empty())?;
        if utf16_len(&text) > max {
            self.refuse(field, "too_long", format!("{field} must have at most {max} characters."));
        } else if text.contains('\0') {
            self.refuse(field, "invalid", format!("{field} must not contain NUL characters."));
        }
        Some(text)
    }

    /// Trims a single line of text, as `text` does; control characters are refused.
    pub(crate) fn line(
        &mut self,
        field: &'static str,
        text: Option<String>,
        max: usize,
    ) -> Option<String> {
        let text = self.text(field, text, max)?;
        if text.chars().any(char::is_control) {
            self.refuse(field, "invalid", format!("{field} must be a single line of text."));
        }
        Some(text)
    }

    /// Refuses a missing value, in whose place the empty text is returned.
    pub(crate) fn required(&mut self, field: &'static str, text: Option<String>) -> String {
        if text.is_none() {
            self.refuse(field, "required", format!("{field} is required."));
        }
        text.unwrap_or_default()
    }

    /// Refuses a value that fails a rule.
    pub(crate) fn rule(&mut self, field: &'static str, holds: bool, message: &str) {
        if !holds {
            self.refuse(field, "invalid", message.to_owned());
        }
    }
}
