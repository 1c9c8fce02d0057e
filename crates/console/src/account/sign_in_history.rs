//! Attempts to sign in to one's own account.

use pia_identity::{SignInEntry, SignInMethod, SignInOutcome};
use pia_web::ApiError;

use super::device_names::device_name;
use super::sessions::{DEVICE, ORIGIN};
use crate::page_context::PageContext;
use crate::ui::table::Tone;
use crate::ui::{Cell, Row, Section, Table, Text, format};

/// Returns the section with a page of the history.
pub(super) async fn history_section(page: &PageContext) -> Result<Section, ApiError> {
    let user = page.user();
    let request = page.paging()?;
    let attempts =
        page.run(|api| async move { api.identity.history.page(user, request).await }).await?;
    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: [TIME, RESULT, DEVICE, ORIGIN].map(|it| page.t(it).to_owned()).into(),
        rows: attempts.items.iter().map(|it| attempt_row(page, it)).collect(),
        empty: page.t(EMPTY).to_owned(),
        ..page.paged(attempts.next)
    };

    Ok(Section::new("history", page.t(TITLE)).intro(page.t(INTRO)).table(table))
}

/// Returns the name of a sign-in method. A method that only a newer version
/// knows is returned unchanged.
pub(super) fn method_name(page: &PageContext, method: &str) -> String {
    let listed = METHODS.iter().find(|it| it.0.name() == method);
    listed.map_or(method, |it| page.t(it.1)).to_owned()
}

fn attempt_row(page: &PageContext, entry: &SignInEntry) -> Row {
    let outcome = OUTCOMES.iter().find(|it| it.0.name() == entry.outcome);
    let name = outcome.map_or(entry.outcome.as_str(), |it| page.t(it.1));
    let is_good = entry.outcome == SignInOutcome::SignedIn.name();
    let tone = if is_good { Tone::Neutral } else { Tone::Warning };
    Row::new(vec![
        Cell::text(format::time(page.language, entry.at)),
        Cell::badge(name, tone).detail(method_name(page, &entry.method)),
        Cell::text(device_name(page.language, &entry.device)),
        Cell::text(page.origin(entry.device.address)),
    ])
}

const TITLE: Text = Text::new("Sign-in history", "Anmeldeverlauf");
const INTRO: Text = Text::new(
    "All attempts of the last year, newest first.",
    "Alle Versuche des letzten Jahres, die neuesten zuerst.",
);
const EMPTY: Text = Text::new("No more attempts.", "Keine weiteren Versuche.");
const TIME: Text = Text::new("Time", "Zeit");
const RESULT: Text = Text::new("Result", "Ergebnis");

const OUTCOMES: &[(SignInOutcome, Text)] = &[
    (SignInOutcome::SignedIn, Text::new("Signed in", "Angemeldet")),
    (SignInOutcome::WrongPassword, Text::new("Wrong password", "Falsches Passwort")),
    (SignInOutcome::WrongFactor, Text::new("Wrong code", "Falscher Code")),
    (SignInOutcome::WrongPasskey, Text::new("Wrong passkey", "Falscher Passkey")),
];

const METHODS: &[(SignInMethod, Text)] = &[
    (SignInMethod::Password, Text::new("Password", "Passwort")),
    (SignInMethod::PasswordWithFactor, Text::new("Password and code", "Passwort und Code")),
    (SignInMethod::AppPassword, Text::new("App password", "App-Passwort")),
    (SignInMethod::Passkey, Text::new("Passkey", "Passkey")),
    (SignInMethod::IdentityProvider, Text::new("Identity provider", "Identitätsanbieter")),
];
