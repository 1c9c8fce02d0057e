//! Names of emails, by their templates.

use crate::page_context::PageContext;
use crate::ui::Text;

/// Returns the name of an email with this template.
pub(super) fn name(page: &PageContext, template: &str) -> String {
    let known = NAMES.iter().find(|it| it.0 == template).map(|it| page.t(it.1));
    known.unwrap_or(template).to_owned()
}

/// Names by template. One that is missing is displayed by its own name.
const NAMES: &[(&str, Text)] = &[
    ("verify-address", Text::new("Confirm address", "Adresse bestätigen")),
    ("password-reset", Text::new("Reset password", "Passwort zurücksetzen")),
    ("invitation", Text::new("Invitation", "Einladung")),
    ("address-taken", Text::new("Account exists", "Konto besteht schon")),
    ("address-change", Text::new("Confirm new address", "Neue Adresse bestätigen")),
    ("address-change-requested", Text::new("Address change requested", "Adressänderung angefragt")),
    ("address-changed", Text::new("Address changed", "Adresse geändert")),
    ("password-changed", Text::new("Password changed", "Passwort geändert")),
    ("new-device", Text::new("New device", "Neues Gerät")),
    ("factor-enabled", Text::new("Second factor turned on", "Zweiter Faktor eingeschaltet")),
    ("factor-disabled", Text::new("Second factor turned off", "Zweiter Faktor ausgeschaltet")),
    ("second-factor-failed", Text::new("Wrong codes", "Falsche Codes")),
    ("recovery-codes-regenerated", Text::new("New recovery codes", "Neue Wiederherstellungscodes")),
    ("recovery-code-used", Text::new("Recovery code used", "Wiederherstellungscode benutzt")),
    ("passkey-added", Text::new("Passkey added", "Passkey hinzugefügt")),
    ("passkey-removed", Text::new("Passkey removed", "Passkey entfernt")),
    ("passkey-cloned", Text::new("Passkey blocked", "Passkey gesperrt")),
    ("app-password-added", Text::new("App password created", "App-Passwort erstellt")),
    ("app-password-removed", Text::new("App password removed", "App-Passwort entfernt")),
    ("api-key-added", Text::new("API key created", "API-Schlüssel erstellt")),
    ("api-key-removed", Text::new("API key removed", "API-Schlüssel entfernt")),
    ("device-registered", Text::new("Device registered", "Gerät angemeldet")),
    ("device-approved", Text::new("Device approved", "Gerät bestätigt")),
    ("device-revoked", Text::new("Device removed", "Gerät entfernt")),
    ("recovery-key-changed", Text::new("Recovery changed", "Wiederherstellung geändert")),
    ("sync-reset", Text::new("Synchronised data deleted", "Synchronisierte Daten gelöscht")),
    ("account-deactivated", Text::new("Account deactivated", "Konto deaktiviert")),
    ("account-deleted", Text::new("Account deleted", "Konto gelöscht")),
    ("answer-reported", Text::new("Answer reported", "Antwort gemeldet")),
    ("relay-test", Text::new("Test", "Test")),
];
