//! Errors of forms, by their codes.

use pia_kernel::Language;
use pia_web::ApiError;

use super::licence_errors::LICENCE_ERRORS;
use super::sign_in::SIGN_IN_ERRORS;
use crate::ui::{ErrorText, Text};

/// German text before the English message of an error that is not listed.
const REFUSED: &str = "Das war nicht möglich. Gemeldeter Grund, auf Englisch:";

/// Texts of errors. Codes that are not listed keep the message of the JSON API.
const ERRORS: &[(&str, Text)] = &[
    (
        "invalid_credentials",
        Text::new(
            "The email address or password is wrong.",
            "Die E-Mail-Adresse oder das Passwort stimmt nicht.",
        ),
    ),
    (
        "rate_limited",
        Text::new(
            "Too many attempts. Wait a moment, then try again.",
            "Zu viele Versuche. Warten Sie einen Moment und versuchen Sie es dann erneut.",
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
        "email_not_verified",
        Text::new(
            "Verify your email address first: open the link that we emailed you.",
            "Bestätigen Sie zuerst Ihre E-Mail-Adresse: Öffnen Sie den Link aus unserer E-Mail.",
        ),
    ),
    (
        "email_managed",
        Text::new(
            "Your organisation’s identity provider manages your address. Change it there.",
            "Der Identitätsanbieter Ihrer Organisation verwaltet Ihre Adresse. Ändern Sie sie \
             dort.",
        ),
    ),
    (
        "email_taken",
        Text::new("Another account has this address.", "Ein anderes Konto hat diese Adresse."),
    ),
    (
        "invalid_verification_token",
        Text::new(
            "This link is invalid or has expired. Request a new one.",
            "Dieser Link ist ungültig oder abgelaufen. Fordern Sie einen neuen an.",
        ),
    ),
    (
        "smtp_not_configured",
        Text::new(
            "This server does not send emails. Contact its administrator.",
            "Dieser Server sendet keine E-Mails. Wenden Sie sich an die Administration.",
        ),
    ),
    (
        "passkey_rejected",
        Text::new(
            "This passkey was not accepted. Try again, or sign in with your password.",
            "Dieser Passkey wurde nicht akzeptiert. Versuchen Sie es erneut oder melden Sie sich \
             mit dem Passwort an.",
        ),
    ),
    (
        "invalid_proof",
        Text::new(
            "The password or code is wrong, or the code was already used.",
            "Das Passwort oder der Code stimmt nicht, oder der Code wurde schon benutzt.",
        ),
    ),
    (
        "mail_busy",
        Text::new(
            "The email is being sent at the moment, or has failed. Reload the page.",
            "Die E-Mail wird gerade gesendet, oder der Versand ist fehlgeschlagen. Laden Sie die Seite neu.",
        ),
    ),
    (
        "mail_not_configured",
        Text::new(
            "No mail server is configured. Set one up under First steps.",
            "Kein Mailserver ist eingerichtet. Richten Sie unter „Erste Schritte“ einen ein.",
        ),
    ),
    ("invalid_password", Text::new("The password is wrong.", "Das Passwort stimmt nicht.")),
    (
        "fresh_sign_in_required",
        Text::new(
            "Confirm with your password or a code, or with a passkey if one is offered here. If \
             you have none of them, sign out and in again, and repeat this within ten minutes.",
            "Bestätigen Sie mit Ihrem Passwort, einem Code oder, falls hier angeboten, einem \
             Passkey. Wenn Sie nichts davon haben, melden Sie sich ab und wieder an und \
             wiederholen Sie dies innerhalb von zehn Minuten.",
        ),
    ),
    (
        "invalid_mfa_code",
        Text::new(
            "This code is wrong or was already used. Enter the one that the app shows now.",
            "Dieser Code stimmt nicht oder wurde schon benutzt. Geben Sie den Code ein, den die \
             App jetzt anzeigt.",
        ),
    ),
    (
        "mfa_not_begun",
        Text::new(
            "The setup took too long. Start again.",
            "Die Einrichtung hat zu lange gedauert. Beginnen Sie noch einmal.",
        ),
    ),
    (
        "mfa_already_enabled",
        Text::new(
            "Two-factor authentication is already on.",
            "Die Zwei-Faktor-Authentifizierung ist schon eingeschaltet.",
        ),
    ),
    (
        "mfa_not_enabled",
        Text::new(
            "Two-factor authentication is off.",
            "Die Zwei-Faktor-Authentifizierung ist ausgeschaltet.",
        ),
    ),
    (
        "no_password",
        Text::new(
            "This account has no password. You sign in with an identity provider.",
            "Dieses Konto hat kein Passwort. Sie melden sich bei einem Identitätsanbieter an.",
        ),
    ),
    (
        "passkeys_unavailable",
        Text::new(
            "Passkeys cannot be used at this server’s address.",
            "Unter der Adresse dieses Servers lassen sich keine Passkeys verwenden.",
        ),
    ),
    (
        "passkey_limit_reached",
        Text::new(
            "You have the maximum number of passkeys. Remove one first.",
            "Sie haben die Höchstzahl an Passkeys erreicht. Entfernen Sie zuerst einen.",
        ),
    ),
    (
        "invalid_passkey_response",
        Text::new(
            "The passkey could not be added. Start again, or use another device.",
            "Der Passkey ließ sich nicht hinzufügen. Beginnen Sie noch einmal oder verwenden Sie \
             ein anderes Gerät.",
        ),
    ),
    (
        "app_password_limit_reached",
        Text::new(
            "You have the maximum number of app passwords. Revoke one first.",
            "Sie haben die Höchstzahl an App-Passwörtern erreicht. Widerrufen Sie zuerst eines.",
        ),
    ),
    (
        "api_key_limit_reached",
        Text::new(
            "You have the maximum number of API keys. Revoke one first.",
            "Sie haben die Höchstzahl an API-Schlüsseln erreicht. Widerrufen Sie zuerst einen.",
        ),
    ),
    (
        "last_admin",
        Text::new(
            "You are the only administrator. Make someone else an administrator first.",
            "Nur Sie haben die Administratorrolle. Geben Sie sie zuerst einer anderen Person.",
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
        "client_policy_in_use",
        Text::new(
            "This policy is assigned to groups. Remove it from them first.",
            "Diese Richtlinie ist Gruppen zugewiesen. Entfernen Sie sie zuerst von ihnen.",
        ),
    ),
    (
        "feature_not_licensed",
        Text::new(
            "The licence of this server does not include this feature.",
            "Die Lizenz dieses Servers umfasst diese Funktion nicht.",
        ),
    ),
    (
        "admin_limit_reached",
        Text::new(
            "The licence does not allow another administrator.",
            "Die Lizenz erlaubt kein weiteres Administratorkonto.",
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
        "group_not_found",
        Text::new("This group no longer exists.", "Diese Gruppe gibt es nicht mehr."),
    ),
    (
        "client_policy_not_found",
        Text::new("This policy no longer exists.", "Diese Richtlinie gibt es nicht mehr."),
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
        "quota_exceeded",
        Text::new(
            "The maximum number has been reached. Delete or revoke one first.",
            "Die Höchstzahl ist erreicht. Löschen oder widerrufen Sie zuerst etwas.",
        ),
    ),
    ("name_taken", Text::new("This name is already in use.", "Dieser Name ist schon vergeben.")),
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
    (
        "skill_name_taken",
        Text::new(
            "Another operator already has a skill of this name.",
            "Ein anderer Operator hat schon eine Fähigkeit mit diesem Namen.",
        ),
    ),
    (
        "operator_built_in",
        Text::new(
            "This operator comes with the server. Only its name and status can be changed.",
            "Dieser Operator gehört zum Server. Nur Name und Status lassen sich ändern.",
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
        "builtin_plugin",
        Text::new(
            "The plugin is part of the client. It can only be turned off.",
            "Das Plugin gehört zum Client. Es lässt sich nur ausschalten.",
        ),
    ),
    (
        "validation_failed",
        Text::new("Check the marked fields.", "Prüfen Sie die markierten Felder."),
    ),
];

/// Returns the text of an error in a language.
pub(crate) fn text(language: Language, err: &ApiError) -> ErrorText {
    let (code, message) = err.code_and_message();
    let listed = ERRORS.iter().chain(LICENCE_ERRORS).chain(SIGN_IN_ERRORS).find(|it| it.0 == code);
    match listed {
        Some((_, text)) => ErrorText::new(text.of(language)),
        None => ErrorText::quoting(language, REFUSED, message),
    }
}

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

        for (code, _) in ERRORS.iter().chain(LICENCE_ERRORS).chain(SIGN_IN_ERRORS) {
            assert!(codes.insert(code), "{code}");
        }
    }
}
