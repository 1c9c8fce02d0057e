//! Errors of forms, by their codes.

use pia_kernel::Language;
use pia_web::ApiError;

use crate::ui::Text;

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
        "passkey_rejected",
        Text::new(
            "This passkey was not accepted. Try again, or sign in with your password.",
            "Dieser Passkey wurde nicht akzeptiert. Versuchen Sie es erneut oder melden Sie sich \
             mit dem Passwort an.",
        ),
    ),
    ("name_taken", Text::new("This name is already in use.", "Dieser Name ist schon vergeben.")),
    (
        "validation_failed",
        Text::new("Check the marked fields.", "Prüfen Sie die markierten Felder."),
    ),
];

/// Returns the text of an error in a language.
pub(crate) fn text(language: Language, err: &ApiError) -> String {
    let (code, message) = err.code_and_message();
    let listed = ERRORS.iter().find(|it| it.0 == code);
    listed.map_or_else(|| message.to_owned(), |it| it.1.of(language).to_owned())
}
