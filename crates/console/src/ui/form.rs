//! Forms.
//!
//! Built by `Form::new(action, submit).field(…)`; fields are required unless they are
//! made `optional`. After a refusal, `PageContext` attaches errors to the fields
//! by their names and fills in what was typed (`refill`).

use super::text::ErrorText;
use crate::form_fields::FormFields;

/// Prefix of the names of original values.
const ORIGINAL: &str = "original.";

/// Form that is sent to a page of this server.
#[derive(Default)]
pub(crate) struct Form {
    /// Path of its target, without the leading slash.
    pub(crate) action: String,
    /// Fields in order.
    pub(crate) fields: Vec<Field>,
    /// Label of its button.
    pub(crate) submit: String,
    /// Name of what the button acts on, for screen readers; empty if the label
    /// says it.
    pub(crate) about: String,
    /// True for an action that destroys something.
    pub(crate) is_danger: bool,
    /// True if it uploads files.
    pub(crate) has_files: bool,
    /// Behaviour that the script adds: `passkey-create`, `passkey-get`, or `passkey-proof`, which
    /// autofill does not offer.
    pub(crate) script: &'static str,
    /// Options of that behaviour, as JSON.
    pub(crate) options: String,
}

/// Field of a form.
#[derive(Default)]
pub(crate) struct Field {
    /// Name in the submitted form.
    pub(crate) name: String,
    pub(crate) label: String,
    /// True if only screen readers read the label, as it repeats the heading above the form.
    pub(crate) is_label_hidden: bool,
    /// Hint below the label; empty for none.
    pub(crate) hint: String,
    /// True if the browser requires a value.
    pub(crate) is_required: bool,
    /// True if it takes digits only, for keyboards on screens.
    pub(crate) is_digits: bool,
    /// Error of the submitted value; empty for none.
    pub(crate) error: String,
    /// English message after the error; empty for none.
    pub(crate) error_quote: String,
    /// Message of the script for a syntax error at a line and a column, `{}` each;
    /// empty unless the field has JSON in several lines.
    pub(crate) json_error: String,
    /// Relative URL to which the script sends the value while it is typed, and
    /// which returns the text of its error; empty for none.
    pub(crate) check: String,
    /// Values that the browser offers for a line of text.
    pub(crate) suggestions: Vec<String>,
    /// Kind of control, with its value.
    pub(crate) control: FieldControl,
}

/// Control of a field.
pub(crate) enum FieldControl {
    /// One line: its type, autocomplete token and value.
    Input {
        /// HTML type: `email`.
        kind: &'static str,
        /// HTML autocomplete token.
        autocomplete: &'static str,
        /// Current value. Passwords are never sent back.
        value: String,
    },
    /// Several lines.
    Lines {
        value: String,
        /// Number of visible lines.
        rows: u8,
    },
    /// Selection of one option.
    Select(Vec<SelectOption>),
    /// Check boxes: each sends the name with its value.
    Checks(Vec<SelectOption>),
    /// File, with the accepted types.
    File(&'static str),
    /// Value that is not displayed.
    Hidden(String),
}

/// Option of a selection.
pub(crate) struct SelectOption {
    pub(crate) value: String,
    pub(crate) label: String,
    /// True if it is selected.
    pub(crate) is_selected: bool,
}

impl Default for FieldControl {
    fn default() -> Self {
        Self::Hidden(String::new())
    }
}

impl Form {
    /// Creates a form with a button.
    pub(crate) fn new(action: impl Into<String>, submit: impl Into<String>) -> Self {
        Self { action: action.into(), submit: submit.into(), ..Self::default() }
    }

    /// Adds a field.
    pub(crate) fn field(mut self, field: Field) -> Self {
        self.fields.push(field);
        self
    }

    /// Adds a value that is not displayed.
    pub(crate) fn hidden(self, name: &str, value: impl Into<String>) -> Self {
        self.field(Field::hidden(name, value))
    }

    /// Adds the values of its fields as hidden ones, by which `FormFields` recognises what a
    /// person has changed.
    pub(crate) fn with_originals(mut self) -> Self {
        let originals: Vec<_> = self
            .fields
            .iter()
            .map(|it| Field::hidden(&original_name(&it.name), it.value()))
            .collect();
        self.fields.extend(originals);
        self
    }

    /// Returns whether a field is required. Only beside one are the others marked as optional.
    pub(crate) fn has_required_field(&self) -> bool {
        self.fields.iter().any(|it| it.is_required)
    }

    /// Marks it as destroying something.
    pub(crate) fn danger(self) -> Self {
        Self { is_danger: true, ..self }
    }

    /// Lets it upload files.
    pub(crate) fn with_files(self) -> Self {
        Self { has_files: true, ..self }
    }

    /// Names what its button acts on, for screen readers.
    pub(crate) fn about(self, about: impl Into<String>) -> Self {
        Self { about: about.into(), ..self }
    }
}

impl Field {
    fn new(name: &str, label: impl Into<String>, control: FieldControl) -> Self {
        let name = name.to_owned();
        let label = label.into();
        Self { name, label, is_required: true, control, ..Self::default() }
    }

    /// Creates a value that is not displayed.
    pub(crate) fn hidden(name: &str, value: impl Into<String>) -> Self {
        let name = name.to_owned();
        Self { name, control: FieldControl::Hidden(value.into()), ..Self::default() }
    }

    /// Creates a line of text.
    pub(crate) fn text(name: &str, label: impl Into<String>, value: impl Into<String>) -> Self {
        Self::input(name, label, "text", "off", value)
    }

    /// Creates a line of an HTML type and autocomplete token.
    pub(crate) fn input(
        name: &str,
        label: impl Into<String>,
        kind: &'static str,
        autocomplete: &'static str,
        value: impl Into<String>,
    ) -> Self {
        let value = value.into();
        Self::new(name, label, FieldControl::Input { kind, autocomplete, value })
    }

    /// Creates a password field. `autocomplete` is `current-password` or
    /// `new-password`.
    pub(crate) fn password(
        name: &str,
        label: impl Into<String>,
        autocomplete: &'static str,
    ) -> Self {
        Self::input(name, label, "password", autocomplete, "")
    }

    /// Creates a field of several lines.
    pub(crate) fn lines(name: &str, label: impl Into<String>, value: impl Into<String>) -> Self {
        Self::new(name, label, FieldControl::Lines { value: value.into(), rows: 8 })
    }

    /// Creates a selection of `(value, label)`, with the selected value.
    pub(crate) fn select<V: Into<String>, L: Into<String>>(
        name: &str,
        label: impl Into<String>,
        options: impl IntoIterator<Item = (V, L)>,
        selected: &str,
    ) -> Self {
        let options = options.into_iter().map(|(value, label)| {
            let value = value.into();
            SelectOption { is_selected: value == selected, value, label: label.into() }
        });
        Self::new(name, label, FieldControl::Select(options.collect()))
    }

    /// Creates check boxes.
    pub(crate) fn checks(name: &str, label: impl Into<String>, options: Vec<SelectOption>) -> Self {
        Self { is_required: false, ..Self::new(name, label, FieldControl::Checks(options)) }
    }

    /// Creates a file field.
    pub(crate) fn file(name: &str, label: impl Into<String>, accept: &'static str) -> Self {
        Self::new(name, label, FieldControl::File(accept))
    }

    /// Returns its value; of check boxes the selected ones. A file has none.
    fn value(&self) -> String {
        match &self.control {
            FieldControl::Input { value, .. }
            | FieldControl::Lines { value, .. }
            | FieldControl::Hidden(value) => value.clone(),
            FieldControl::Select(options) | FieldControl::Checks(options) => {
                let selected = options.iter().filter(|it| it.is_selected);
                selected.map(|it| it.value.as_str()).collect::<Vec<_>>().join(" ")
            }
            FieldControl::File(_) => String::new(),
        }
    }

    /// Returns its value as people read it: of a choice the labels of the selected options.
    pub(crate) fn display_value(&self) -> String {
        match &self.control {
            FieldControl::Select(options) | FieldControl::Checks(options) => {
                let selected = options.iter().filter(|it| it.is_selected);
                selected.map(|it| it.label.as_str()).collect::<Vec<_>>().join(", ")
            }
            _ => self.value(),
        }
    }

    /// Replaces its value by what was typed, and an original value by that of the refused form.
    /// Passwords and files are never sent back.
    pub(crate) fn refill(&mut self, typed: &FormFields) {
        match &mut self.control {
            FieldControl::Hidden(value) if self.name.starts_with(ORIGINAL) => {
                typed.text(&self.name).clone_into(value);
            }
            FieldControl::Input { kind: "password", .. }
            | FieldControl::File(_)
            | FieldControl::Hidden(_) => {}
            FieldControl::Input { value, .. } | FieldControl::Lines { value, .. } => {
                typed.text(&self.name).clone_into(value);
            }
            FieldControl::Select(options) | FieldControl::Checks(options) => {
                for option in options {
                    option.is_selected = typed.all(&self.name).any(|it| it == option.value);
                }
            }
        }
    }

    /// Returns whether people may leave it empty. Selections always have a value.
    pub(crate) fn can_be_empty(&self) -> bool {
        !self.is_required && !matches!(self.control, FieldControl::Select(_))
    }

    /// Sets the error of the submitted value.
    pub(crate) fn set_error(&mut self, error: &ErrorText) {
        error.text.clone_into(&mut self.error);
        error.quote.clone_into(&mut self.error_quote);
    }

    /// Sets the hint.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    /// Makes it optional.
    pub(crate) fn optional(self) -> Self {
        Self { is_required: false, ..self }
    }

    /// Offers a keyboard of digits on screens.
    pub(crate) fn digits(self) -> Self {
        Self { is_digits: true, ..self }
    }

    /// Lets the browser offer values for a line of text.
    pub(crate) fn suggestions(self, suggestions: Vec<String>) -> Self {
        Self { suggestions, ..self }
    }

    /// Sets the number of visible lines of a field of several.
    pub(crate) fn rows(mut self, count: u8) -> Self {
        if let FieldControl::Lines { rows, .. } = &mut self.control {
            *rows = count;
        }
        self
    }

    /// Lets the script report syntax errors of JSON, with this message.
    pub(crate) fn json(self, message: impl Into<String>) -> Self {
        Self { json_error: message.into(), ..self }
    }

    /// Lets the script check the value of a JSON field at this relative URL.
    pub(crate) fn checked_by(self, check: impl Into<String>) -> Self {
        Self { check: check.into(), ..self }
    }

    /// Returns its id within a section.
    pub(crate) fn id(&self, section: &str) -> String {
        format!("{section}-{}", self.name)
    }

    /// Returns the id of its first control within a section.
    pub(crate) fn control_id(&self, section: &str) -> String {
        let id = self.id(section);
        if matches!(self.control, FieldControl::Checks(_)) { format!("{id}-1") } else { id }
    }

    /// Returns the ids of the texts that describe it.
    pub(crate) fn described_by(&self, section: &str) -> String {
        let id = self.id(section);
        let hint = (!self.hint.is_empty()).then(|| format!("{id}-hint"));
        let error = (!self.error.is_empty()).then(|| format!("{id}-fault"));
        [hint, error].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// Returns the name of the hidden field with the original value of a field.
pub(crate) fn original_name(name: &str) -> String {
    format!("{ORIGINAL}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_of_optional_fields_has_no_required_field() {
        let form = Form::new("admin/groups", "Save changes").hidden("group", "1");
        let form = form.field(Field::text("limit", "Limit", "").optional());

        assert!(!form.has_required_field());
        assert!(form.field(Field::text("name", "Name", "")).has_required_field());
    }

    #[test]
    fn a_refused_form_has_the_original_values_that_it_was_sent_with() {
        let pool =
            SelectOption { value: "true".to_owned(), label: String::new(), is_selected: true };
        let mut form = Form::new("admin/groups", "Save changes")
            .field(Field::text("limit", "Limit", "7"))
            .field(Field::checks("pool", "Pool", vec![pool]))
            .with_originals();
        let originals = |form: &Form| -> Vec<_> {
            let hidden = form.fields.iter().filter(|it| it.name.starts_with(ORIGINAL));
            hidden.map(|it| (it.name.clone(), it.value())).collect()
        };
        let typed = [("limit", "9"), ("original.limit", "5"), ("original.pool", "")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let typed = FormFields::from_pairs(typed.into());

        let opened = originals(&form);
        form.fields.iter_mut().for_each(|it| it.refill(&typed));

        let pairs = |limit: &str, pool: &str| {
            [("original.limit", limit), ("original.pool", pool)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        assert_eq!(opened, pairs("7", "true"));
        assert_eq!(originals(&form), pairs("5", ""));
        assert!(typed.is_changed("limit") && !typed.is_changed("pool"));
    }
}
