//! Errors of the fields of forms, by their codes.

use pia_kernel::Language;
use pia_web::{ApiError, FieldError};

use crate::ui::{ErrorText, Text};

/// Texts of errors of fields in German, by their codes. In English the message
/// of the JSON API is displayed, and in German it follows a text if the code is
/// not listed.
const FIELD_ERRORS: &[(&str, &str)] = &[
    ("required", "Füllen Sie dieses Feld aus."),
    ("too_short", "Diese Angabe ist zu kurz."),
    ("too_long", "Diese Angabe ist zu lang."),
    ("invalid_file", "Diese Datei lässt sich nicht verwenden."),
    ("invalid_type", "Prüfen Sie die Form dieser Angabe."),
    ("empty", "Füllen Sie dieses Feld aus."),
    (
        "empty_secret",
        "Ein Geheimnis darf nicht leer sein. Um den gespeicherten Wert zu entfernen, setzen Sie die \
         Einstellung zurück.",
    ),
    ("out_of_range", "Dieser Wert liegt außerhalb der erlaubten Grenzen."),
    ("too_many", "Das sind mehr Einträge als erlaubt."),
    ("unknown", "Diesen Eintrag gibt es nicht."),
    ("unknown_value", "Diesen Wert gibt es nicht."),
    ("unknown_version", "Diese Version gibt es nicht."),
    ("managed", "Der Anmeldedienst Ihrer Organisation verwaltet diese Angabe."),
    ("mismatch", "Die beiden Angaben passen nicht zusammen."),
    ("address_not_allowed", "Diese Adresse ist nicht erlaubt."),
    ("tool_not_allowed", "Dieses Werkzeug ist nicht erlaubt."),
    ("unchanged", "Die neue Angabe muss sich von der bisherigen unterscheiden."),
    (
        "common",
        "Dieses Passwort wird mit als Erstes erraten. Nehmen Sie ein längeres oder \
         ungewöhnlicheres, zum Beispiel mehrere Wörter.",
    ),
    ("personal", "Das Passwort darf weder Ihr Name noch Ihre oder unsere Adresse sein."),
];

/// German text of an error whose reason the English message states.
const INVALID: &str = "Prüfen Sie diese Angabe.";
/// Codes of the pages' own errors, whose messages are in the language of the
/// page.
const TRANSLATED: [&str; 2] = [MALFORMED, "invalid_document"];
/// Code of a value that a page itself refuses.
const MALFORMED: &str = "malformed";

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
pub(crate) fn field_text(language: Language, code: &str, message: &str) -> ErrorText {
    let listed = FIELD_ERRORS.iter().find(|it| it.0 == code);
    match listed {
        Some((_, text)) if language == Language::De => ErrorText::new(*text),
        None if !TRANSLATED.contains(&code) => ErrorText::quoting(language, INVALID, message),
        _ => ErrorText::new(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_only_the_message_states_is_quoted_in_german() {
        let german = |code| field_text(Language::De, code, "It must be a URL.");

        for code in ["invalid", "no_such_code"] {
            let quoted = ErrorText::quoting(Language::De, INVALID, "It must be a URL.");
            assert_eq!(german(code), quoted, "{code}");
            assert_eq!(field_text(Language::En, code, "It must be a URL.").quote, "");
        }
        assert_eq!(german("required"), ErrorText::new("Füllen Sie dieses Feld aus."));
        assert_eq!(german("malformed"), ErrorText::new("It must be a URL."));
    }

    #[test]
    fn what_a_page_itself_refuses_is_not_quoted() {
        let text = Text::new("Choose a file.", "Wählen Sie eine Datei aus.");

        let body = field_error(Language::De, "icon", text).body();

        let error = &body["errors"][0];
        assert_eq!(error["field"], "icon");
        let code = error["code"].as_str().unwrap();
        let message = error["message"].as_str().unwrap();
        let expected = ErrorText::new("Wählen Sie eine Datei aus.");
        assert_eq!(field_text(Language::De, code, message), expected);
    }
}
