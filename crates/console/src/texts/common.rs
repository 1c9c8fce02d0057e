//! Texts of every page.

use pia_kernel::Language;

use crate::ui::Text;

pub(crate) const SKIP: Text = Text::new("Skip to content", "Zum Inhalt springen");
pub(crate) const MENU: Text = Text::new("Menu", "Menü");
pub(crate) const TRAIL: Text = Text::new("Breadcrumbs", "Pfad");
pub(crate) const SIGN_OUT: Text = Text::new("Sign out", "Abmelden");
/// Name of the other language, in that language.
pub(crate) const OTHER_LANGUAGE: Text = Text::new("Deutsch", "English");
pub(crate) const OPTIONAL: Text = Text::new("(optional)", "(optional)");
pub(crate) const ERROR_PREFIX: Text = Text::new("Error: ", "Fehler: ");
pub(crate) const FIRST_PAGE: Text = Text::new("First page", "Erste Seite");
pub(crate) const NEXT_PAGE: Text = Text::new("Next page", "Nächste Seite");
pub(crate) const NOT_LICENSED: Text = Text::new(
    "Not included in the licence of this server.",
    "Nicht in der Lizenz dieses Servers enthalten.",
);
pub(crate) const FILL_IN: Text = Text::new("Fill in this field.", "Füllen Sie dieses Feld aus.");
pub(crate) const GROUP_GONE: Text =
    Text::new("This group does not exist any more.", "Diese Gruppe gibt es nicht mehr.");
pub(crate) const LICENCE_EXPIRED: Text = Text::new(
    "The licence has expired. Data can still be read; renew it to make changes.",
    "Die Lizenz ist abgelaufen. Daten lassen sich weiterhin lesen; erneuern Sie die Lizenz, um \
     etwas zu ändern.",
);
pub(crate) const RENEW_LICENCE: Text = Text::new("Renew the licence", "Lizenz erneuern");
pub(crate) const CHOOSE_FILE: Text = Text::new("Choose a file.", "Wählen Sie eine Datei aus.");
pub(crate) const WHOLE_NUMBER: Text =
    Text::new("Enter a whole number.", "Geben Sie eine ganze Zahl ein.");
pub(crate) const TO_CONSOLE: Text = Text::new("Back to the overview", "Zurück zur Übersicht");
pub(crate) const TO_ACCOUNT: Text = Text::new("Back to your account", "Zurück zu Ihrem Konto");
pub(crate) const COMPLETE_ACCOUNT: Text = Text::new("Open your profile", "Profil öffnen");
pub(crate) const AS_TABLE: Text = Text::new("Show as a table", "Als Tabelle anzeigen");
pub(crate) const SEARCH: Text = Text::new("Search", "Suchen");
pub(crate) const SEARCH_LIST: Text = Text::new("Search this list", "Liste durchsuchen");
pub(crate) const RESET_FILTERS: Text = Text::new("Clear filters", "Filter entfernen");
pub(crate) const NO_MATCH: Text = Text::new(
    "No entries found. Clear the filters to see all.",
    "Keine Einträge gefunden. Entfernen Sie die Filter, um alle zu sehen.",
);
pub(crate) const SAVE: Text = Text::new("Save changes", "Änderungen speichern");
pub(crate) const DELETE: Text = Text::new("Delete", "Löschen");
pub(crate) const NAME: Text = Text::new("Name", "Name");
pub(crate) const DESCRIPTION: Text = Text::new("Description", "Beschreibung");
pub(crate) const CREATED: Text = Text::new("Created", "Erstellt");
pub(crate) const STATUS: Text = Text::new("Status", "Status");
pub(crate) const YES: Text = Text::new("Yes", "Ja");
pub(crate) const NO: Text = Text::new("No", "Nein");
pub(crate) const NONE: Text = Text::new("None", "Keine");
/// Label of a text that another system reported, which is English.
pub(crate) const REPORTED: Text = Text::new("Reported reason:", "Gemeldeter Grund, auf Englisch:");
pub(crate) const NEVER: Text = Text::new("Never", "Nie");

// Errors that the script displays.
pub(crate) const INVALID_JSON: Text = Text::new(
    "This is not valid JSON: check line {}, column {}.",
    "Das ist kein gültiges JSON: Prüfen Sie Zeile {}, Spalte {}.",
);
pub(crate) const PASSKEY_FAILED: Text = Text::new(
    "The passkey could not be used. Try again.",
    "Der Passkey ließ sich nicht verwenden. Versuchen Sie es erneut.",
);
pub(crate) const PASSKEY_BUSY: Text = Text::new(
    "Too many attempts. Wait a moment, then try again.",
    "Zu viele Versuche. Warten Sie einen Moment und versuchen Sie es dann erneut.",
);
pub(crate) const PASSKEY_KNOWN: Text = Text::new(
    "This device already has a passkey for your account.",
    "Auf diesem Gerät gibt es schon einen Passkey für Ihr Konto.",
);

/// Confirmations after a form, by their names in the query.
const DONE: &[(&str, Text)] = &[
    ("saved", Text::new("Your changes are saved.", "Die Änderungen sind gespeichert.")),
    ("created", Text::new("Created.", "Erstellt.")),
    ("deleted", Text::new("Deleted.", "Gelöscht.")),
    ("ended", Text::new("Ended.", "Beendet.")),
    ("moved", Text::new("Moved.", "Verschoben.")),
    ("revoked", Text::new("Revoked.", "Widerrufen.")),
    ("sent", Text::new("Sent.", "Gesendet.")),
    ("deactivated", Text::new("The account is deactivated.", "Das Konto ist deaktiviert.")),
    ("reactivated", Text::new("The account is active again.", "Das Konto ist wieder aktiv.")),
    ("reset", Text::new("The second factor is removed.", "Der zweite Faktor ist entfernt.")),
    ("lifted", Text::new("The delay is removed.", "Die Wartezeit ist aufgehoben.")),
    ("topped-up", Text::new("The credits are added.", "Die Credits sind hinzugefügt.")),
    ("licence-replaced", Text::new("The licence is replaced.", "Die Lizenz ist ersetzt.")),
    ("queued", Text::new("Queued.", "In die Warteschlange gestellt.")),
    ("test-queued", Text::new("The test email is on its way.", "Die Test-E-Mail ist unterwegs.")),
    ("renamed", Text::new("Renamed.", "Umbenannt.")),
    ("removed", Text::new("Removed.", "Entfernt.")),
    (
        "password-changed",
        Text::new(
            "Your password is changed, and all other sessions are signed out.",
            "Ihr Passwort ist geändert, und alle anderen Sitzungen sind abgemeldet.",
        ),
    ),
    (
        "factor-off",
        Text::new(
            "Two-factor authentication is off, and all other sessions are signed out.",
            "Die Zwei-Faktor-Authentifizierung ist ausgeschaltet, und alle anderen Sitzungen sind \
             abgemeldet.",
        ),
    ),
    (
        "passkey-added",
        Text::new(
            "Your passkey is added, and all other sessions are signed out.",
            "Ihr Passkey ist hinzugefügt, und alle anderen Sitzungen sind abgemeldet.",
        ),
    ),
    (
        "passkey-removed",
        Text::new(
            "The passkey is removed, and all other sessions are signed out.",
            "Der Passkey ist entfernt, und alle anderen Sitzungen sind abgemeldet.",
        ),
    ),
    (
        "address-requested",
        Text::new(
            "We emailed a link to the new address. Open it within a day to confirm the change.",
            "Wir haben einen Link an die neue Adresse geschickt. Öffnen Sie ihn innerhalb eines \
             Tages, um die Änderung zu bestätigen.",
        ),
    ),
    (
        "address-changed",
        Text::new("Your email address is changed.", "Ihre E-Mail-Adresse wurde geändert."),
    ),
    (
        "account-deleted",
        Text::new(
            "Your account and all its data have been deleted. Goodbye, and thank you.",
            "Ihr Konto und alle seine Daten sind gelöscht. Auf Wiedersehen, und danke für Ihr \
             Vertrauen.",
        ),
    ),
    ("session-ended", Text::new("The session is signed out.", "Die Sitzung ist abgemeldet.")),
    (
        "others-ended",
        Text::new("All other sessions are signed out.", "Alle anderen Sitzungen sind abgemeldet."),
    ),
    (
        "not-saved",
        Text::new(
            "You were signed out. Nothing was saved.",
            "Sie wurden abgemeldet. Es wurde nichts gespeichert.",
        ),
    ),
    (
        "no-console",
        Text::new(
            "Your role does not include the console. Sign in with another account.",
            "Ihre Rolle umfasst die Konsole nicht. Melden Sie sich mit einem anderen Konto an.",
        ),
    ),
    ("signed-out", Text::new("You are signed out.", "Sie sind abgemeldet.")),
];

/// Returns the confirmation with this name.
pub(crate) fn done(name: &str) -> Option<Text> {
    DONE.iter().find(|it| it.0 == name).map(|it| it.1)
}

/// Returns the other language.
pub(crate) fn other(language: Language) -> Language {
    match language {
        Language::En => Language::De,
        Language::De => Language::En,
    }
}
