//! Errors of forms, by their codes.
//!
//! The codes are those of the JSON API. `text` returns the text of a code; one
//! without an entry is presented with the API's English message.

use pia_kernel::Language;
use pia_web::ApiError;

use super::account_errors::ACCOUNT_ERRORS;
use super::licence_errors::LICENCE_ERRORS;
use super::quota_errors;
use super::sign_in::SIGN_IN_ERRORS;
use crate::ui::{ErrorText, Text};

/// German text before the English message of an error that is not listed.
const REFUSED: &str = "Das war nicht möglich. Gemeldeter Grund, auf Englisch:";

/// Text above a page whose fields have the errors.
pub(crate) const MARKED_FIELDS: Text =
    Text::new("Check the marked fields.", "Prüfen Sie die markierten Felder.");

/// Text of a wrong proof where a password is the only one.
pub(crate) const WRONG_PASSWORD: Text =
    Text::new("The password is wrong.", "Das Passwort stimmt nicht.");

/// Returns the text of an error in a language. An error whose code is not listed has the
/// message of the JSON API.
pub(crate) fn text(language: Language, err: &ApiError) -> ErrorText {
    if let Some(text) = quota_errors::text(language, err) {
        return ErrorText::new(text);
    }

    let (code, message) = err.code_and_message();
    match listed_errors().find(|it| it.0 == code) {
        Some((_, text)) => ErrorText::new(text.of(language)),
        None => ErrorText::quoting(language, REFUSED, message),
    }
}

/// Returns the codes that have a text, with their texts.
fn listed_errors() -> impl Iterator<Item = &'static (&'static str, Text)> {
    [
        GENERAL_ERRORS,
        ACCOUNT_ERRORS,
        CONSOLE_ERRORS,
        KNOWLEDGE_ERRORS,
        LICENCE_ERRORS,
        SIGN_IN_ERRORS,
    ]
    .into_iter()
    .flatten()
}

/// Errors of forms on any page.
const GENERAL_ERRORS: &[(&str, Text)] = &[
    ("validation_failed", MARKED_FIELDS),
    (
        "rate_limited",
        Text::new(
            "Too many attempts. Wait a moment, then try again.",
            "Zu viele Versuche. Warten Sie einen Moment und versuchen Sie es dann erneut.",
        ),
    ),
    (
        "invalid_credentials",
        Text::new(
            "The email address or password is wrong.",
            "Die E-Mail-Adresse oder das Passwort stimmt nicht.",
        ),
    ),
    (
        "forbidden",
        Text::new(
            "This account has no administrative role.",
            "Dieses Konto hat keine Verwaltungsrolle.",
        ),
    ),
    (
        "second_factor_required",
        Text::new(
            "The console requires a second factor. Sign in to your account and set up an \
             authenticator app or a passkey first.",
            "Die Konsole erfordert einen zweiten Faktor. Melden Sie sich bei Ihrem Konto an und \
             richten Sie zuerst eine Authenticator-App oder einen Passkey ein.",
        ),
    ),
    (
        "precondition_failed",
        Text::new(
            "Someone else changed this in the meantime. Open the page again, then repeat your \
             change.",
            "Inzwischen hat jemand anderes dies geändert. Öffnen Sie die Seite erneut und \
             wiederholen Sie Ihre Änderung.",
        ),
    ),
    (
        "quota_exceeded",
        Text::new(
            "The maximum number has been reached. Delete or revoke one first.",
            "Die Höchstzahl ist erreicht. Löschen oder widerrufen Sie zuerst etwas.",
        ),
    ),
    (
        "user_not_found",
        Text::new("This account no longer exists.", "Dieses Konto gibt es nicht mehr."),
    ),
    ("name_taken", Text::new("This name is already in use.", "Dieser Name ist schon vergeben.")),
    (
        "feature_not_licensed",
        Text::new(
            "The licence of this server does not include this feature.",
            "Die Lizenz dieses Servers umfasst diese Funktion nicht.",
        ),
    ),
    (
        "user_limit_reached",
        Text::new(
            "This server has reached its licensed number of accounts.",
            "Dieser Server hat die lizenzierte Zahl von Konten erreicht.",
        ),
    ),
    (
        "admin_limit_reached",
        Text::new(
            "The licence does not allow another administrator.",
            "Die Lizenz erlaubt kein weiteres Administratorkonto.",
        ),
    ),
];

/// Errors of what administrators publish and operate.
const CONSOLE_ERRORS: &[(&str, Text)] = &[
    (
        "group_not_found",
        Text::new("This group no longer exists.", "Diese Gruppe gibt es nicht mehr."),
    ),
    (
        "default_group",
        Text::new(
            "The default group can’t be deleted.",
            "Die Standardgruppe lässt sich nicht löschen.",
        ),
    ),
    (
        "group_in_use",
        Text::new(
            "The group is in use. Move its members first, and remove its invitations, personas, \
             plugins and knowledge bases.",
            "Die Gruppe wird noch verwendet. Verschieben Sie zuerst ihre Mitglieder und entfernen \
             Sie ihre Einladungen, Personas, Plugins und Wissensdatenbanken.",
        ),
    ),
    (
        "client_policy_not_found",
        Text::new("This policy no longer exists.", "Diese Richtlinie gibt es nicht mehr."),
    ),
    (
        "client_policy_in_use",
        Text::new(
            "This policy is assigned to groups. Remove it from them first.",
            "Diese Richtlinie ist Gruppen zugewiesen. Entfernen Sie sie zuerst von ihnen.",
        ),
    ),
    (
        "builtin_plugin",
        Text::new(
            "The plugin is part of the client. It can only be turned off.",
            "Das Plugin gehört zum Client. Es lässt sich nur ausschalten.",
        ),
    ),
    (
        "untrusted_signer",
        Text::new(
            "The signer of this package is not trusted. Add their certificate first.",
            "Der Signierer dieses Pakets ist nicht vertrauenswürdig. Fügen Sie zuerst sein \
             Zertifikat hinzu.",
        ),
    ),
    (
        "certificate_known",
        Text::new("This certificate is trusted already.", "Diesem Zertifikat wird schon vertraut."),
    ),
    (
        "operator_built_in",
        Text::new(
            "This operator comes with the server. Only its name and status can be changed.",
            "Dieser Operator gehört zum Server. Nur Name und Status lassen sich ändern.",
        ),
    ),
    (
        "skill_name_taken",
        Text::new(
            "Another operator already has a skill of this name.",
            "Ein anderer Operator hat schon eine Fähigkeit mit diesem Namen.",
        ),
    ),
    (
        "too_many_tokens",
        Text::new(
            "The connector has too many valid tokens. Revoke them first, then create a new one.",
            "Der Konnektor hat zu viele gültige Token. Widerrufen Sie sie zuerst und erstellen Sie \
             dann ein neues.",
        ),
    ),
    (
        "mcp_connector",
        Text::new(
            "A connector for an MCP server has neither tokens nor a skill.",
            "Ein Konnektor für einen MCP-Server hat weder Token noch Fähigkeit.",
        ),
    ),
    (
        "mail_busy",
        Text::new(
            "The email is being sent at the moment, or has failed. Reload the page.",
            "Die E-Mail wird gerade gesendet, oder der Versand ist fehlgeschlagen. Laden Sie die \
             Seite neu.",
        ),
    ),
    (
        "mail_not_configured",
        Text::new(
            "No mail server is configured. Set one up under First steps.",
            "Kein Mailserver ist eingerichtet. Richten Sie unter „Erste Schritte“ einen ein.",
        ),
    ),
];

/// Errors of knowledge bases and their documents.
const KNOWLEDGE_ERRORS: &[(&str, Text)] = &[
    (
        "duplicate_content",
        Text::new(
            "This knowledge base already has a document with this content.",
            "In dieser Wissensdatenbank gibt es schon ein Dokument mit diesem Inhalt.",
        ),
    ),
    ("title_required", Text::new("Enter a title.", "Geben Sie einen Titel ein.")),
    (
        "title_too_long",
        Text::new(
            "The title may have at most 500 characters.",
            "Der Titel darf höchstens 500 Zeichen haben.",
        ),
    ),
    (
        "source_uri_too_long",
        Text::new(
            "The source may have at most 2,000 bytes.",
            "Die Quelle darf höchstens 2.000 Bytes haben.",
        ),
    ),
    (
        "unsupported_content_type",
        Text::new(
            "Files of this type are not supported.",
            "Dateien dieses Typs werden nicht unterstützt.",
        ),
    ),
    ("content_required", Text::new("The document is empty.", "Das Dokument ist leer.")),
    (
        "content_not_text",
        Text::new(
            "The file is not text in UTF-8. Save it in this encoding, then upload it again.",
            "Die Datei ist kein Text in UTF-8. Speichern Sie sie in dieser Kodierung und laden Sie \
             sie erneut hoch.",
        ),
    ),
    (
        "document_too_large",
        Text::new("The document is larger than 10 MiB.", "Das Dokument ist größer als 10 MiB."),
    ),
    (
        "document_not_failed",
        Text::new(
            "Only a document that failed can be tried again.",
            "Nur ein fehlgeschlagenes Dokument lässt sich erneut versuchen.",
        ),
    ),
    (
        "prompt_too_long",
        Text::new(
            "The prompt may have at most 8,000 characters.",
            "Der Prompt darf höchstens 8.000 Zeichen haben.",
        ),
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_message_of_an_unlisted_code_is_quoted_in_german() {
        let status = actix_web::http::StatusCode::CONFLICT;
        let refused = |code| text(Language::De, &ApiError::refused(status, code, "It is busy."));

        assert_eq!(refused("no_such_code").quote, "It is busy.");
        assert_eq!(refused("name_taken").quote, "");
    }

    #[test]
    fn a_code_has_one_text() {
        let mut codes = HashSet::new();

        for (code, _) in listed_errors() {
            assert!(codes.insert(code), "{code}");
        }
    }
}
