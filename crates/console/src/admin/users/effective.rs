//! Settings that are effective for a user, with their sources.

use pia_http::{EffectiveLimit, EffectiveSettings};
use pia_kernel::BudgetPeriod;
use pia_policy::Quota;

use super::super::models::{self, mode_label};
use crate::account::credits::{own_rows, with_table};
use crate::page_context::PageContext;
use crate::texts::limits::{budget_label, quota_label, quota_value};
use crate::ui::table::Tone;
use crate::ui::{Cell, Row, Section, Table, Text, format};

/// Maximum number of names that are listed of a kind.
const MAX_NAMES: usize = 20;

/// Returns the sections with the settings that are effective for a user, and with their budgets,
/// if they have any.
pub(super) fn sections(page: &PageContext, effective: &EffectiveSettings) -> Vec<Section> {
    let effective_section = Section::new("effective", page.t(TITLE))
        .intro(page.t(INTRO))
        .facts(facts(page, effective))
        .table(models_table(page, effective))
        .table(limits_table(page, effective));

    let budgets = own_rows(page, &effective.credits);
    let budgets_section = (!budgets.is_empty())
        .then(|| with_table(page, Section::new("budgets", page.t(BUDGETS)), budgets));

    std::iter::once(effective_section).chain(budgets_section).collect()
}

/// Returns the policy, and the contents by kind.
fn facts(page: &PageContext, effective: &EffectiveSettings) -> Vec<(&'static str, Cell)> {
    let policy = effective.policy.as_ref().map_or(page.t(NO_POLICY), |it| it.draft.name.as_str());
    let catalogue = &effective.published.catalogue;
    let personas = catalogue.personas.iter().map(|it| it.name.clone());
    let bases = effective.knowledge_bases.iter().map(|it| it.1.clone());
    let operators = effective.operators.iter().map(|it| it.1.clone());
    let connectors = effective.connectors.iter().map(|it| it.1.clone());
    let allowed = &effective.settings.models;
    let choice = if allowed.is_empty() { page.t(NO_CHOICE).to_owned() } else { allowed.join(", ") };

    vec![
        (page.t(POLICY), Cell::text(policy)),
        (page.t(PERSONAS), names_cell(page, personas.collect())),
        (page.t(PLUGINS), names_cell(page, plugin_names(page, effective))),
        (page.t(BASES), names_cell(page, bases.collect())),
        (page.t(OPERATORS), names_cell(page, operators.collect())),
        (page.t(CONNECTORS), names_cell(page, connectors.collect())),
        (page.t(ALLOWED), Cell::text(choice)),
    ]
}

/// Returns the first of these names, and the number of the others.
fn names_cell(page: &PageContext, mut names: Vec<String>) -> Cell {
    let further = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    let cell = Cell::text(names.join(", "));
    if further == 0 {
        return cell;
    }
    cell.detail(page.fill(FURTHER, &[&format::number(page.language, further as u64)]))
}

/// Returns the table of the models by mode, and by type of persona where the group has one.
fn models_table(page: &PageContext, effective: &EffectiveSettings) -> Table {
    let modes = effective.models.iter().map(|it| {
        let model = Cell::link(&it.name, models::path_of(&it.key)).detail(&it.model);
        Row::new(vec![Cell::text(mode_label(page, it.mode)), model, source_cell(page, it.source)])
    });
    let types = effective.settings.persona_types.iter().map(|(name, model)| {
        Row::new(vec![
            Cell::text(page.fill(PERSONA_TYPE, &[name])),
            Cell::text(model),
            source_cell(page, "group"),
        ])
    });

    Table {
        caption: page.t(MODELS).to_owned(),
        columns: [USE, MODEL, SOURCE].map(|it| page.t(it).to_owned()).into(),
        rows: modes.chain(types).collect(),
        empty: page.t(NO_MODELS).to_owned(),
        ..Table::default()
    }
}

fn limits_table(page: &PageContext, effective: &EffectiveSettings) -> Table {
    Table {
        caption: page.t(LIMITS).to_owned(),
        columns: [LIMIT, VALUE, SOURCE].map(|it| page.t(it).to_owned()).into(),
        rows: effective.limits().iter().map(|it| limit_row(page, it)).collect(),
        ..Table::default()
    }
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

    Row::new(vec![
        Cell::text(label),
        Cell::number(value.unwrap_or_default()),
        source_cell(page, limit.source),
    ])
}

/// Returns the cell with the source of a value.
fn source_cell(page: &PageContext, source: &str) -> Cell {
    match source {
        "group" => Cell::badge(page.t(FROM_GROUP), Tone::Neutral),
        "default" => Cell::text(page.t(FROM_DEFAULT)),
        "settings" => Cell::text(page.t(FROM_SETTINGS)),
        _ => Cell::text(page.t(FROM_NONE)),
    }
}

const TITLE: Text = Text::new("Effective settings", "Wirksame Einstellungen");
const INTRO: Text = Text::new(
    "The settings and contents of the user’s group apply. Where the group sets nothing, the server \
     decides.",
    "Es gelten die Einstellungen und Inhalte der Gruppe dieses Kontos. Was sie nicht festlegt, \
     bestimmt der Server.",
);
const POLICY: Text = Text::new("Client policy", "Client-Richtlinie");
const NO_POLICY: Text = Text::new("None", "Keine");
const PERSONAS: Text = Text::new("Personas", "Personas");
const PLUGINS: Text = Text::new("Plugins", "Plugins");
const PLUGIN_OFF: Text = Text::new("{} (turned off by the user)", "{} (selbst ausgeschaltet)");
const PLUGIN_INACTIVE: Text = Text::new("{} (not active)", "{} (nicht aktiv)");
const BASES: Text = Text::new("Knowledge bases", "Wissensdatenbanken");
const OPERATORS: Text = Text::new("Operators", "Operatoren");
const CONNECTORS: Text = Text::new("Connectors", "Konnektoren");
const FURTHER: Text = Text::new("and {} more", "und {} weitere");
const MODELS: Text = Text::new("Models", "Modelle");
const USE: Text = Text::new("Used for", "Verwendung");
const MODEL: Text = Text::new("Model", "Modell");
const PERSONA_TYPE: Text = Text::new("{} personas", "Personas des Typs {}");
const NO_MODELS: Text = Text::new("No model is available.", "Kein Modell ist verfügbar.");
const ALLOWED: Text = Text::new("Models to choose from", "Wählbare Modelle");
const NO_CHOICE: Text = Text::new("None: cannot choose", "Keine: keine Wahl möglich");
const BUDGETS: Text = Text::new("Credits used", "Verbrauchte Credits");
const LIMITS: Text = Text::new("Limits", "Limits");
const LIMIT: Text = Text::new("Limit", "Limit");
const VALUE: Text = Text::new("Value", "Wert");
const SOURCE: Text = Text::new("Comes from", "Stammt von");
const FROM_GROUP: Text = Text::new("Group", "Gruppe");
const FROM_DEFAULT: Text = Text::new("Server’s default", "Vorgabe des Servers");
const FROM_SETTINGS: Text = Text::new("Server’s settings", "Einstellungen des Servers");
const FROM_NONE: Text = Text::new("No limit", "Kein Limit");
