//! Errors of one's own account and its credentials, by their codes.

use super::errors::WRONG_PASSWORD;
use crate::ui::Text;

/// Texts of the errors, by their codes.
pub(super) const ACCOUNT_ERRORS: &[(&str, Text)] = &[
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
        "no_password",
        Text::new(
            "This account has no password. You sign in with an identity provider.",
            "Dieses Konto hat kein Passwort. Sie melden sich bei einem Identitätsanbieter an.",
        ),
    ),
    ("invalid_password", WRONG_PASSWORD),
    (
        "invalid_proof",
        Text::new(
            "The password or code is wrong, or the code was already used.",
            "Das Passwort oder der Code stimmt nicht, oder der Code wurde schon benutzt.",
        ),
    ),
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
        "passkey_rejected",
        Text::new(
            "This passkey was not accepted. Try again, or sign in with your password.",
            "Dieser Passkey wurde nicht akzeptiert. Versuchen Sie es erneut oder melden Sie sich \
             mit dem Passwort an.",
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
];
