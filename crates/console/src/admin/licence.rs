//! Licence of the server.

use pia_kernel::Timestamp;
use pia_policy::{Feature, Licence, Licensed};
use pia_web::{ApiError, Licensing, Route};

use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::routes::pages::{form, page};
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::{Cell, Field, Form, Row, Section, Table, Text, View, format};

/// Path of the page.
pub(super) const PATH: &str = "admin/licence";

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/admin/licence", |it| it.to(show)),
        Route { licensing: Licensing::MayHaveEnded, ..form("/admin/licence", |it| it.to(replace)) },
    ]
}

async fn show(page: PageContext) -> PageResult {
    let view = licence_view(&page).await?;
    Ok(page.render(view))
}

async fn replace(page: PageContext, ProvedForm(fields): ProvedForm) -> PageResult {
    let by = page.user();
    let text = fields.text("license").to_owned();
    match page.run(|api| async move { api.licences.replace(by, text.as_bytes()).await }).await {
        Ok(_) => page.done(PATH, "licence-replaced"),
        Err(err) => page.refuse_typed(licence_view(&page).await?, &fields, err),
    }
}

async fn licence_view(page: &PageContext) -> Result<View, ApiError> {
    let gates = page.gates()?;
    let state = gates.licence.get();
    let now = gates.clock.now();
    let view = View::new(page.t(TITLE));
    let licence = match state.at(now) {
        Licensed::Not => {
            let section = Section::new("licence", "").paragraph(page.t(NO_LICENCE));
            return Ok(view.section(section));
        }
        Licensed::Expired(licence) | Licensed::Valid(licence) => licence,
    };

    let accounts = count_accounts(page).await?;
    Ok(view
        .section(facts_section(page, licence, now, accounts))
        .section(features_section(page, licence, now))
        .section(replace_section(page)))
}

fn replace_section(page: &PageContext) -> Section {
    let text = Field::lines("license", page.t(LICENCE_TEXT), "").hint(page.t(LICENCE_TEXT_HINT));
    let form = Form::new(PATH, page.t(REPLACE)).field(text);
    Section::new("replace", page.t(REPLACE)).intro(page.t(REPLACE_HINT)).form(form)
}

async fn count_accounts(page: &PageContext) -> Result<u64, ApiError> {
    let entries = page.run(|api| async move { api.groups.list().await }).await?;
    Ok(entries.iter().map(|it| it.members).sum())
}

fn facts_section(page: &PageContext, licence: &Licence, now: Timestamp, accounts: u64) -> Section {
    let limit = |max: Option<u32>| match max {
        Some(max) => page.fill(UP_TO, &[&format::number(page.language, max)]),
        None => page.t(UNLIMITED).to_owned(),
    };

    let ends = match licence.expires_at {
        Some(end) => Cell::text(format::day(page.language, end)),
        None => Cell::text(page.t(common::NEVER)),
    };

    let accounts = Cell::text(format::number(page.language, accounts));
    let facts = [
        (page.t(common::STATUS), status_cell(page, licence, now)),
        (page.t(LICENSEE), Cell::text(&licence.licensee)),
        (page.t(EDITION), Cell::text(&licence.edition)),
        (page.t(ISSUED), Cell::text(format::day(page.language, licence.issued_at))),
        (page.t(EXPIRES), ends),
        (page.t(USERS), Cell::text(limit(licence.max_users))),
        (page.t(ADMINS), Cell::text(limit(licence.max_admins))),
        (page.t(ACCOUNTS), accounts.detail(page.t(ACCOUNTS_HINT))),
    ];

    Section::new("licence", "").facts(facts)
}

pub(super) fn status_cell(page: &PageContext, licence: &Licence, now: Timestamp) -> Cell {
    let (text, tone) = if is_expired(licence, now) {
        (EXPIRED, Tone::Bad)
    } else if licence.expires_soon(now) {
        (EXPIRES_SOON, Tone::Warning)
    } else {
        (IN_FORCE, Tone::Good)
    };
    Cell::badge(page.t(text), tone)
}

fn is_expired(licence: &Licence, now: Timestamp) -> bool {
    licence.expires_at.is_some_and(|it| it <= now)
}

fn features_section(page: &PageContext, licence: &Licence, now: Timestamp) -> Section {
    // Features of a licence that has expired are not available.
    let tone = if is_expired(licence, now) { Tone::Neutral } else { Tone::Good };
    let table = Table {
        caption: page.t(FEATURES).to_owned(),
        columns: [FEATURE, common::STATUS].map(|it| page.t(it).into()).into(),
        rows: Feature::ALL.map(|feature| feature_row(page, licence, feature, tone)).into(),
        ..Table::default()
    };

    Section::new("features", page.t(FEATURES)).table(table)
}

/// Returns the row of a feature, with the tone of one that is included.
fn feature_row(page: &PageContext, licence: &Licence, feature: Feature, tone: Tone) -> Row {
    let status = if licence.features.contains(&feature) {
        Cell::badge(page.t(INCLUDED), tone)
    } else {
        Cell::badge(page.t(NOT_INCLUDED), Tone::Neutral)
    };
    let name = page.t(feature_name(feature));
    Row::new(vec![Cell::text(name).detail(page.t(feature_purpose(feature))), status])
}

fn feature_name(feature: Feature) -> Text {
    match feature {
        Feature::OAuth => Text::new("Single sign-on", "Single Sign-on"),
        Feature::Sync => Text::new("Synchronisation", "Synchronisierung"),
        Feature::AiProxy => Text::new("AI models and assignments", "KI-Modelle und Aufträge"),
        Feature::Knowledge => Text::new("Knowledge bases", "Wissensdatenbanken"),
        Feature::E2ee => Text::new("End-to-end encryption", "Ende-zu-Ende-Verschlüsselung"),
        Feature::GroupManagement => Text::new("Group management", "Gruppenverwaltung"),
        Feature::ManagedCloud => Text::new("Managed service", "Verwalteter Dienst"),
    }
}

/// Returns the sentence that says what a feature unlocks.
fn feature_purpose(feature: Feature) -> Text {
    match feature {
        Feature::OAuth => Text::new(
            "People sign in with their account at an identity provider.",
            "Personen melden sich mit ihrem Konto bei einem Identitätsanbieter an.",
        ),
        Feature::Sync => Text::new(
            "Devices of an account share settings, personas and chats.",
            "Die Geräte eines Kontos teilen Einstellungen, Personas und Chats.",
        ),
        Feature::AiProxy => Text::new(
            "Members use models through the server, within budgets, and hand over assignments.",
            "Mitglieder nutzen Modelle über den Server im Rahmen von Budgets und übergeben \
             Aufträge.",
        ),
        Feature::Knowledge => Text::new(
            "The assistant answers from documents of the organisation.",
            "Der Assistent antwortet aus Dokumenten der Organisation.",
        ),
        Feature::E2ee => Text::new(
            "Only a user’s own devices can read the synchronised data.",
            "Nur die eigenen Geräte können die synchronisierten Daten lesen.",
        ),
        Feature::GroupManagement => Text::new(
            "Groups, client policies, personas and plugins for their members.",
            "Gruppen, Client-Richtlinien, Personas und Plugins für ihre Mitglieder.",
        ),
        Feature::ManagedCloud => Text::new(
            "Features for running this server as a service for others.",
            "Funktionen für den Betrieb des Servers als Dienst für andere.",
        ),
    }
}

const TITLE: Text = Text::new("Licence", "Lizenz");
const LICENSEE: Text = Text::new("Licensee", "Lizenznehmer");
const EDITION: Text = Text::new("Edition", "Edition");
const ISSUED: Text = Text::new("Issued", "Ausgestellt");
const EXPIRES: Text = Text::new("Expires", "Läuft ab");
const USERS: Text = Text::new("Active accounts", "Aktive Konten");
const ADMINS: Text = Text::new("Administrators", "Administratoren");
const ACCOUNTS: Text = Text::new("Accounts on this server", "Konten auf diesem Server");
const ACCOUNTS_HINT: Text = Text::new("Including deactivated ones", "Einschließlich deaktivierter");
const UP_TO: Text = Text::new("Up to {}", "Bis zu {}");
const UNLIMITED: Text = Text::new("Unlimited", "Unbegrenzt");
const IN_FORCE: Text = Text::new("Valid", "Gültig");
const EXPIRES_SOON: Text = Text::new("Expires soon", "Läuft bald ab");
const EXPIRED: Text = Text::new("Expired", "Abgelaufen");
const FEATURES: Text = Text::new("Features", "Funktionen");
const FEATURE: Text = Text::new("Feature", "Funktion");
const INCLUDED: Text = Text::new("Included", "Enthalten");
const NOT_INCLUDED: Text = Text::new("Not included", "Nicht enthalten");
const NO_LICENCE: Text = Text::new(
    "There is no valid licence. Install one on the setup page.",
    "Es gibt keine gültige Lizenz. Installieren Sie eine auf der Einrichtungsseite.",
);
const REPLACE: Text = Text::new("Replace licence", "Lizenz ersetzen");
const REPLACE_HINT: Text = Text::new(
    "The new licence takes effect at once, without a restart, and replaces the file at \
     License:Path. Replace it on instances that do not share this file, too.",
    "Die neue Lizenz gilt sofort, ohne Neustart, und ersetzt die Datei unter License:Path. \
     Ersetzen Sie sie auch auf Instanzen, die diese Datei nicht teilen.",
);
const LICENCE_TEXT: Text = Text::new("Licence", "Lizenz");
const LICENCE_TEXT_HINT: Text = Text::new(
    "The whole text of the licence file, which begins with pia-license-v1.",
    "Der ganze Text der Lizenzdatei, der mit pia-license-v1 beginnt.",
);
