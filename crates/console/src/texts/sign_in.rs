//! Texts of the sign-in.

use pia_identity::Provider;

use crate::ui::Text;

pub(crate) const CONSOLE_TITLE: Text =
    Text::new("Sign in to the console", "Bei der Konsole anmelden");
pub(crate) const ACCOUNT_TITLE: Text =
    Text::new("Sign in to your account", "Bei Ihrem Konto anmelden");
pub(crate) const SIGN_IN: Text = Text::new("Sign in", "Anmelden");
pub(crate) const EMAIL: Text = Text::new("Email address", "E-Mail-Adresse");
pub(crate) const PASSWORD: Text = Text::new("Password", "Passwort");
pub(crate) const FACTOR_TITLE: Text =
    Text::new("Two-factor authentication", "Zwei-Faktor-Authentifizierung");
pub(crate) const CODE: Text = Text::new("Code", "Code");
pub(crate) const CODE_HINT: Text = Text::new(
    "The six digits from your authenticator app, or one of your recovery codes.",
    "Die sechs Ziffern aus Ihrer Authenticator-App oder einer Ihrer Wiederherstellungscodes.",
);
pub(crate) const WITH_PASSKEY: Text =
    Text::new("Sign in with a passkey", "Mit einem Passkey anmelden");
pub(crate) const CONTINUE_WITH: Text = Text::new("Continue with {}", "Weiter mit {}");
pub(crate) const FORGOT: Text = Text::new("Forgot your password?", "Passwort vergessen?");
pub(crate) const REGISTER: Text = Text::new("Create account", "Konto erstellen");
pub(crate) const TO_ACCOUNT: Text =
    Text::new("Sign in to your own account", "Beim eigenen Konto anmelden");
pub(crate) const SIGNED_IN: Text = Text::new("You are signed in", "Sie sind angemeldet");
pub(crate) const CONTINUE: Text = Text::new("Continue", "Weiter");
pub(crate) const PROVIDER_FAILED: Text = Text::new(
    "The sign-in at the identity provider failed. Try again.",
    "Die Anmeldung beim Identitätsanbieter ist fehlgeschlagen. Versuchen Sie es erneut.",
);

/// Texts of the errors of the sign-in, by their codes.
pub(super) const SIGN_IN_ERRORS: &[(&str, Text)] = &[
    (
        "invalid_mfa_token",
        Text::new(
            "This sign-in has expired. Enter your password again.",
            "Diese Anmeldung ist abgelaufen. Geben Sie Ihr Passwort noch einmal ein.",
        ),
    ),
    (
        "invalid_passkey",
        Text::new(
            "The passkey was not accepted. Try again.",
            "Der Passkey wurde nicht akzeptiert. Versuchen Sie es erneut.",
        ),
    ),
    (
        "invalid_grant",
        Text::new(
            "This sign-in is invalid or has expired. Sign in again.",
            "Diese Anmeldung ist ungültig oder abgelaufen. Melden Sie sich noch einmal an.",
        ),
    ),
];

/// Returns the name of an identity provider.
pub(crate) fn provider(provider: Provider) -> Text {
    match provider {
        Provider::Google => Text::new("Google", "Google"),
        Provider::Microsoft => Text::new("Microsoft", "Microsoft"),
        Provider::EntraId => Text::new("Microsoft Entra ID", "Microsoft Entra ID"),
        Provider::Oidc => Text::new("single sign-on", "Single Sign-on"),
    }
}
