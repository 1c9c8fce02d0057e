//! Settings that are effective for a user, with their sources.

use std::collections::BTreeMap;

use pia_http::{EffectiveLimit, EffectiveSettings};
use pia_kernel::BudgetPeriod;
use pia_policy::Quota;

use super::super::groups::limits::{budget_label, quota_label, quota_value};
use super::super::models::mode_label;
use crate::page_context::PageContext;
use crate::ui::table::Tone;
use crate::ui::{Cell, Row, Section, Table, Text, format};

/// Returns the section with the settings that are effective for a user.
pub(super) fn section(page: &PageContext, effective: &EffectiveSettings) -> Section {
    let policy = effective.policy.as_ref().map_or(page.t(NO_POLICY), |it| it.draft.name.as_str());
    let catalogue = &effective.published.catalogue;
    let personas: Vec<&str> = catalogue.personas.iter().map(|it| it.name.as_str()).collect();
    let settings = &effective.settings;
    let modes = settings.modes.iter().map(|(name, it)| (mode_label(page, name), it.clone()));
    let facts = [
        (page.t(POLICY), policy.to_owned()),
        (page.t(PERSONAS), personas.join(", ")),
        (page.t(PLUGINS), plugin_names(page, effective).join(", ")),
        (page.t(MODES), or_server(page, format_models(&modes.collect()))),
        (page.t(TYPES), or_server(page, format_models(&settings.persona_types))),
        (page.t(ALLOWED), or_server(page, settings.models.join(", "))),
    ];

    let table = Table {
        caption: page.t(LIMITS).to_owned(),
        columns: [LIMIT, VALUE, SOURCE].map(|it| page.t(it).to_owned()).into(),
        rows: effective.limits().iter().map(|it| limit_row(page, it)).collect(),
        ..Table::default()
    };

    Section::new("effective", page.t(TITLE))
        .intro(page.t(INTRO))
        .facts(facts.map(|(label, text)| (label, Cell::text(text))))
        .table(table)
}

/// Returns the names of the plugins, with a note on those that do not run.
fn plugin_names(page: &PageContext, effective: &EffectiveSettings) -> Vec<String> {
    let preferences = &effective.published.plugin_preferences;
    let plugins = effective.published.catalogue.plugins.iter();
    let names = plugins.map(|it| {
        let is_turned_off = preferences.get(&it.id) == Some(&false);
        if !it.is_active {
            page.fill(PLUGIN_INACTIVE, &[&it.name])
        } else if is_turned_off {
            page.fill(PLUGIN_OFF, &[&it.name])
        } else {
            it.name.clone()
        }
    });
    names.collect()
}

/// Formats the models of modes or of types of personas.
fn format_models(models: &BTreeMap<String, String>) -> String {
    let pairs: Vec<_> = models.iter().map(|(name, model)| format!("{name}: {model}")).collect();
    pairs.join(", ")
}

/// Returns the text of a setting; if it is empty, that the server decides.
fn or_server(page: &PageContext, text: String) -> String {
    if text.is_empty() { page.t(BY_SERVER).to_owned() } else { text }
}

fn limit_row(page: &PageContext, limit: &EffectiveLimit) -> Row {
    let quota = Quota::from_name(&limit.name);
    let period = limit.name.strip_prefix("Credits:").and_then(BudgetPeriod::from_name);
    let label = match (quota, period) {
        (Some(quota), _) => page.t(quota_label(quota)).to_owned(),
        (None, Some(period)) => page.t(budget_label(period)).to_owned(),
        (None, None) => limit.name.clone(),
    };

    let value = limit.value.map(|value| match quota {
        Some(quota) => quota_value(page.language, quota, value),
        None => format::number(page.language, value),
    });

    let (source, tone) = match limit.source {
        "group" => (FROM_GROUP, Tone::Neutral),
        "default" => (FROM_DEFAULT, Tone::Plain),
        "settings" => (FROM_SETTINGS, Tone::Plain),
        _ => (FROM_NONE, Tone::Plain),
    };

    Row::new(vec![
        Cell::text(label),
        Cell::number(value.unwrap_or_default()),
        Cell::badge(page.t(source), tone),
    ])
}

const TITLE: Text = Text::new("Effective settings", "Wirksame Einstellungen");
const INTRO: Text = Text::new(
    "All of these come from the user’s group. Change them there.",
    "Alle stammen von der Gruppe dieses Kontos. Ändern Sie sie dort.",
);
const POLICY: Text = Text::new("Client policy", "Client-Richtlinie");
const NO_POLICY: Text = Text::new("None", "Keine");
const PERSONAS: Text = Text::new("Personas", "Personas");
const PLUGINS: Text = Text::new("Plugins", "Plugins");
const PLUGIN_OFF: Text = Text::new("{} (turned off by the user)", "{} (selbst ausgeschaltet)");
const PLUGIN_INACTIVE: Text = Text::new("{} (not active)", "{} (nicht aktiv)");
const MODES: Text = Text::new("Models by mode", "Modelle nach Modus");
const TYPES: Text = Text::new("Models by persona type", "Modelle nach Persona-Typ");
const ALLOWED: Text = Text::new("Models to choose from", "Wählbare Modelle");
const BY_SERVER: Text = Text::new("Decided by the server", "Bestimmt der Server");
const LIMITS: Text = Text::new("Limits", "Limits");
const LIMIT: Text = Text::new("Limit", "Limit");
const VALUE: Text = Text::new("Value", "Wert");
const SOURCE: Text = Text::new("Comes from", "Stammt von");
const FROM_GROUP: Text = Text::new("Group", "Gruppe");
const FROM_DEFAULT: Text = Text::new("Server’s default", "Vorgabe des Servers");
const FROM_SETTINGS: Text = Text::new("Server’s settings", "Einstellungen des Servers");
const FROM_NONE: Text = Text::new("No limit", "Kein Limit");
