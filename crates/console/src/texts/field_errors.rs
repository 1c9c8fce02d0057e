//! Errors of the fields of forms.
//!
//! A text is found by the message of the JSON API, else by the code of the error. An error
//! that neither lists has the message itself, which German pages quote.

use pia_kernel::Language;
use pia_web::{ApiError, FieldError};
use serde_json::Value;

use super::field_messages::FIELD_MESSAGES;
use super::setting_reasons::SETTING_REASONS;
use crate::ui::text::sentence;
use crate::ui::{ErrorText, Text};

const EMPTY: Text = Text::new("Fill in this field.", "Füllen Sie dieses Feld aus.");

/// Texts of errors of fields, by their codes, for messages without a text.
const FIELD_ERRORS: &[(&str, Text)] = &[
    ("required", EMPTY),
    ("empty", EMPTY),
    ("too_short", Text::new("This is too short.", "Diese Angabe ist zu kurz.")),
    ("too_long", Text::new("This is too long.", "Diese Angabe ist zu lang.")),
    (
        "invalid_file",
        Text::new("This file can’t be used.", "Diese Datei lässt sich nicht verwenden."),
    ),
    (
        "invalid_type",
        Text::new("Check the form of this value.", "Prüfen Sie die Form dieser Angabe."),
    ),
    (
        "empty_secret",
        Text::new(
            "A secret can’t be empty. To remove the stored value, reset the setting.",
            "Ein Geheimnis darf nicht leer sein. Um den gespeicherten Wert zu entfernen, setzen \
             Sie die Einstellung zurück.",
        ),
    ),
    (
        "out_of_range",
        Text::new(
            "This value is outside the allowed range.",
            "Dieser Wert liegt außerhalb der erlaubten Grenzen.",
        ),
    ),
    ("too_many", Text::new("There are too many entries.", "Das sind mehr Einträge als erlaubt.")),
    ("unknown", Text::new("This entry no longer exists.", "Diesen Eintrag gibt es nicht mehr.")),
    ("unknown_value", Text::new("There is no such value.", "Diesen Wert gibt es nicht.")),
    ("unknown_version", Text::new("There is no such version.", "Diese Version gibt es nicht.")),
    (
        "managed",
        Text::new(
            "Your organisation’s identity provider manages this.",
            "Der Identitätsanbieter Ihrer Organisation verwaltet diese Angabe.",
        ),
    ),
    (
        "mismatch",
        Text::new("The two entries do not match.", "Die beiden Angaben passen nicht zusammen."),
    ),
    (
        "address_not_allowed",
        Text::new("This address is not allowed.", "Diese Adresse ist nicht erlaubt."),
    ),
    (
        "tool_not_allowed",
        Text::new("This tool is not allowed.", "Dieses Werkzeug ist nicht erlaubt."),
    ),
    (
        "unchanged",
        Text::new(
            "The new value must differ from the previous one.",
            "Die neue Angabe muss sich von der bisherigen unterscheiden.",
        ),
    ),
];

/// German text of an error whose reason the English message states.
const INVALID: &str = "Prüfen Sie diese Angabe.";
/// Codes of the pages' own errors, whose messages are in the language of the
/// page.
const TRANSLATED: [&str; 2] = [MALFORMED, "invalid_document"];
/// Code of a value that a page itself refuses.
const MALFORMED: &str = "malformed";
/// Subjects of messages, beside the names of fields.
const SUBJECTS: [&str; 3] = ["The name", "the name", "The company's name"];

/// Returns the error of a field that a page itself refuses, in the language of the page.
pub(crate) fn field_error(language: Language, field: impl Into<String>, text: Text) -> ApiError {
    let message = text.of(language).to_owned();
    ApiError::invalid(vec![FieldError { field: field.into(), code: MALFORMED, message }])
}

/// Returns the error of a field that names what does not exist any more, in place of a
/// `not_found`, which is the error of the page itself.
pub(crate) fn or_gone(
    language: Language,
    err: ApiError,
    field: impl Into<String>,
    text: Text,
) -> ApiError {
    let (code, _) = err.code_and_message();
    if code == "not_found" { field_error(language, field, text) } else { err }
}

/// Returns the text of the error of a field in a language.
pub(crate) fn field_text(language: Language, field: &str, code: &str, message: &str) -> ErrorText {
    if TRANSLATED.contains(&code) {
        return ErrorText::new(message);
    }

    if let Some((key, reason)) = setting_reason(message) {
        let mut error_text = field_text(language, field, code, reason);
        error_text.text.insert_str(0, &format!("{key}: "));
        return error_text;
    }

    let mut subjects = std::iter::once(field).chain(SUBJECTS);
    let predicate = subjects.find_map(|it| message.strip_prefix(it)?.strip_prefix(' '));
    let message = sentence(predicate.unwrap_or(message));
    let mut messages = FIELD_MESSAGES.iter().chain(SETTING_REASONS).copied().flatten();
    let by_message = messages.find_map(|(pattern, text)| {
        let values = values_of(pattern, &message)?;
        Some(text.fill(language, &values))
    });
    let by_code = FIELD_ERRORS.iter().find(|it| it.0 == code);

    match (by_message, by_code) {
        (Some(text), _) => ErrorText::new(text),
        (None, Some((_, text))) => ErrorText::new(text.of(language)),
        (None, None) => ErrorText::quoting(language, INVALID, &message),
    }
}

/// Moves the errors of settings to the fields that change them, given as pairs of a field and
/// a key.
pub(crate) fn at_fields(err: ApiError, keys: &[(&str, &str)]) -> ApiError {
    let body = err.body();
    let Some(Value::Array(errors)) = body.get("errors") else { return err };

    let mut moved_errors = errors.clone();
    for error in moved_errors.iter_mut().filter_map(Value::as_object_mut) {
        let message = error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some((key, reason)) = setting_reason(&message) else { continue };
        let Some((field, _)) = keys.iter().find(|it| it.1.eq_ignore_ascii_case(key)) else {
            continue;
        };
        error.insert("field".to_owned(), (*field).into());
        error.insert("message".to_owned(), reason.into());
    }

    err.with("errors", moved_errors)
}

/// Returns the key and the reason of the error of a setting: "SVC-CFG-003 setting `Ai:Model`
/// from the console: expected a text".
fn setting_reason(message: &str) -> Option<(&str, &str)> {
    let (_, place) = message.strip_prefix("SVC-CFG-")?.split_once(" setting `")?;
    let (key, origin) = place.split_once('`')?;
    let (_, reason) = origin.split_once(": ")?;
    Some((key, reason))
}

/// Returns the values of a message that has the form of a pattern, in which each `{}` stands
/// for one.
fn values_of<'a>(pattern: &str, message: &'a str) -> Option<Vec<&'a str>> {
    let Some((start, end)) = pattern.rsplit_once("{}") else {
        return (pattern == message).then(Vec::new);
    };

    let mut separators = start.split("{}");
    let mut rest = message.strip_suffix(end)?.strip_prefix(separators.next()?)?;
    let mut values = Vec::new();
    for separator in separators {
        let (value, others) = rest.split_once(separator)?;
        values.push(value);
        rest = others;
    }
    values.push(rest);

    Some(values)
}

#[cfg(test)]
mod tests;
