//! Errors of the fields of forms, by their codes.

use pia_kernel::Language;

/// Texts of errors of fields in German, by their codes. In English the message
/// of the JSON API is displayed.
const FIELD_ERRORS: &[(&str, &str)] = &[
    ("required", "Füllen Sie dieses Feld aus."),
    ("too_short", "Diese Angabe ist zu kurz."),
    ("too_long", "Diese Angabe ist zu lang."),
    ("invalid", "Prüfen Sie diese Angabe."),
    ("invalid_file", "Diese Datei lässt sich nicht verwenden."),
    ("file_required", "Wählen Sie eine Datei."),
    ("invalid_type", "Prüfen Sie die Form dieser Angabe."),
    ("empty", "Füllen Sie dieses Feld aus."),
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

/// Returns the text of the error of a field in a language.
pub(crate) fn field_text(language: Language, code: &str, message: &str) -> String {
    let listed = FIELD_ERRORS.iter().find(|it| it.0 == code && language == Language::De);
    listed.map_or(message, |it| it.1).to_owned()
}
