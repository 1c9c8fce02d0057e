//! Settings of a group: limits, budgets and models.

use std::collections::BTreeMap;

use pia_assistant::{CreditStock, CreditView, Gauge, MemberBudget};
use pia_kernel::BudgetPeriod;
use pia_policy::{GroupSettings, MODES, Quota, SettingChange};
use pia_web::{ApiError, FieldError};

use super::super::models::{self, mode_label};
use super::model_choice;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, path_segment};
use crate::texts::common;
use crate::texts::limits::{budget_label, quota_label, quota_value};
use crate::ui::form::SelectOption;
use crate::ui::view::Link;
use crate::ui::{Cell, Field, Form, Section, Text, format};

/// Returns the form of a group's settings.
pub(super) fn section(page: &PageContext, settings: &GroupSettings, path: &str) -> Section {
    let quota_fields = Quota::ALL.into_iter().map(|it| quota_field(page, settings, it));
    let budget_fields = BudgetPeriod::ALL.into_iter().map(|it| budget_field(page, settings, it));
    let choice = model_choice::checks_field(page, "models", page.t(MODELS), &settings.models);
    let has_models = choice.is_some();
    let fields = quota_fields
        .chain(budget_fields)
        .chain([pool_field(page, settings)])
        .chain(model_fields(page, settings, choice));

    let form = Form::new(format!("{path}/settings"), page.t(common::SAVE));
    let mut section = Section::new("settings", page.t(TITLE)).intro(page.t(INTRO));
    if !has_models {
        let label = page.t(models::TITLE).to_owned();
        let to_models = Link { label, path: "admin/models".to_owned() };
        section = section.paragraph(page.t(NO_MODELS)).links(vec![to_models]);
    }

    section.form(fields.fold(form, Form::field).with_originals())
}

fn quota_field(page: &PageContext, settings: &GroupSettings, quota: Quota) -> Field {
    let own_limit = settings.quotas.get(&quota).map(i64::to_string).unwrap_or_default();
    let hint = match quota.default_limit() {
        Some(limit) => page.fill(DEFAULT, &[&quota_value(page.language, quota, limit)]),
        None => page.t(BY_SETTINGS).to_owned(),
    };
    let hint = match quota {
        Quota::KnowledgeStorageBytes | Quota::UserStorageBytes => page.fill(BYTES, &[&hint]),
        _ => hint,
    };
    number_field(&quota_name(quota), page.t(quota_label(quota)), own_limit).hint(hint)
}

fn budget_field(page: &PageContext, settings: &GroupSettings, period: BudgetPeriod) -> Field {
    let limit = settings.credits.of(period);
    let own_limit = if limit > 0 { limit.to_string() } else { String::new() };
    number_field(&budget_name(period), page.t(budget_label(period)), own_limit)
        .hint(page.t(NO_LIMIT))
}

fn pool_field(page: &PageContext, settings: &GroupSettings) -> Field {
    let option = SelectOption {
        value: "true".to_owned(),
        label: page.t(POOL_OPTION).to_owned(),
        is_selected: settings.credits.pool,
    };
    Field::checks("pool", page.t(POOL), vec![option])
}

/// Returns the fields of models by mode and type of persona, and that of the models to choose
/// from.
fn model_fields(page: &PageContext, settings: &GroupSettings, choice: Option<Field>) -> Vec<Field> {
    let modes = MODES.into_iter().map(|mode| {
        let label = page.fill(MODE, &[&mode_label(page, mode)]);
        model_choice::select_field(page, &mode_name(mode), label, settings.modes.get(mode))
    });
    let types = settings.persona_types.iter().map(|(name, entry)| {
        model_choice::select_field(page, &type_name(name), page.fill(TYPE, &[name]), Some(entry))
    });
    let new_type = Field::text("newType", page.t(NEW_TYPE), "").hint(page.t(NEW_TYPE_HINT));
    let choice = choice.map(|it| it.hint(page.t(MODELS_HINT)));
    // The check boxes span the form, so the last two fields share a row.
    let new_fields = [
        new_type.optional(),
        model_choice::select_field(page, "newTypeModel", page.t(NEW_TYPE_MODEL), None),
    ];

    modes.chain(types).chain(choice).chain(new_fields).collect()
}

/// Returns a group's settings, to be read only.
pub(super) fn facts_section(page: &PageContext, settings: &GroupSettings) -> Section {
    let quotas = Quota::ALL.into_iter().map(|quota| {
        let value = match settings.quota(quota) {
            Some(limit) => quota_value(page.language, quota, limit),
            None => page.t(BY_SERVER).to_owned(),
        };
        (page.t(quota_label(quota)).to_owned(), value)
    });

    let budgets = BudgetPeriod::ALL.into_iter().map(|period| {
        let value = match settings.credits.of(period) {
            0 => page.t(UNLIMITED).to_owned(),
            limit => format::number(page.language, limit),
        };
        (page.t(budget_label(period)).to_owned(), value)
    });

    let pool = if settings.credits.pool { common::YES } else { common::NO };

    let modes = MODES.into_iter().map(|mode| {
        let entry = settings.modes.get(mode).cloned();
        (
            page.fill(MODE, &[&mode_label(page, mode)]),
            entry.unwrap_or_else(|| page.t(BY_SERVER).to_owned()),
        )
    });

    let types = settings.persona_types.iter().map(|(name, it)| format!("{name}: {it}"));
    let models = match settings.models.as_slice() {
        [] => page.t(NO_CHOICE).to_owned(),
        models => models.join(", "),
    };
    let other_facts = [
        (page.t(POOL).to_owned(), page.t(pool).to_owned()),
        (page.t(TYPES).to_owned(), types.collect::<Vec<_>>().join(", ")),
        (page.t(MODELS).to_owned(), models),
    ];
    let facts = quotas
        .chain(budgets)
        .chain(modes)
        .chain(other_facts)
        .map(|(label, value)| (label, Cell::text(value)));

    Section::new("settings", page.t(TITLE)).facts(facts)
}

/// Returns the usage of a group's budgets, and whether its members have used none of theirs;
/// `None` if there is nothing to state.
pub(super) fn usage_section(
    page: &PageContext,
    view: &CreditView,
    top_members: &[(BudgetPeriod, Vec<MemberBudget>)],
) -> Option<Section> {
    let number = |it: i64| format::number(page.language, it);
    let gauge = |it: Gauge| page.fill(OF, &[&number(it.used), &number(it.limit)]);
    let stock = |it: CreditStock| page.fill(OF, &[&number(it.remaining), &number(it.total)]);
    let budgets = [
        (budget_label(BudgetPeriod::GroupDaily), view.group_daily.map(gauge)),
        (budget_label(BudgetPeriod::GroupWeekly), view.group_weekly.map(|it| gauge(it.gauge))),
        (POOL_LEFT, view.pool.map(|it| stock(it.stock))),
        (TOP_UP, view.top_up.map(stock)),
    ];

    let facts: Vec<_> = budgets
        .into_iter()
        .filter_map(|(label, usage)| Some((page.t(label), Cell::text(usage?))))
        .collect();

    let mut section = Section::new("use", page.t(USED));
    if !facts.is_empty() {
        section = section.facts(facts);
    }
    if !top_members.is_empty() && top_members.iter().all(|(_, members)| members.is_empty()) {
        section = section.paragraph(page.t(UNUSED));
    }
    (!section.parts.is_empty()).then_some(section)
}

/// Returns the changes that a person made in a form. Other settings may have been changed since
/// it was opened, and stay as they are.
pub(super) fn changes(
    page: &PageContext,
    form: &FormFields,
    before: &GroupSettings,
) -> Result<Vec<SettingChange>, ApiError> {
    let mut parsed = ParsedChanges { page, form, changes: Vec::new(), errors: Vec::new() };
    for quota in Quota::ALL {
        let name = quota_name(quota);
        parsed.add_limit(&name, |limit| SettingChange::Quota(quota, limit));
    }

    for period in BudgetPeriod::ALL {
        let name = budget_name(period);
        parsed.add_limit(&name, |limit| SettingChange::Credits(period, limit));
    }

    let pool = SettingChange::Pool(form.all("pool").any(|it| it == "true"));
    parsed.add("pool", pool, NUMBER);

    for mode in MODES {
        let name = mode_name(mode);
        let change = SettingChange::Mode(mode.to_owned(), form.some(&name));
        parsed.add(&name, change, ENTRY);
    }

    parsed.add_persona_types(&before.persona_types);
    let models = form.all("models").map(str::to_owned).collect();
    parsed.add("models", SettingChange::Models(models), TOO_MANY);

    if parsed.errors.is_empty() {
        Ok(parsed.changes)
    } else {
        Err(ApiError::invalid(parsed.errors))
    }
}

/// Changes of a form, and the errors at its fields.
struct ParsedChanges<'a> {
    page: &'a PageContext,
    form: &'a FormFields,
    changes: Vec<SettingChange>,
    errors: Vec<FieldError>,
}

impl ParsedChanges<'_> {
    /// Adds the change of a limit; an empty field removes it.
    fn add_limit(&mut self, name: &str, change: impl Fn(Option<i64>) -> SettingChange) {
        match self.form.some(name).map(|it| it.parse()).transpose() {
            Ok(limit) => self.add(name, change(limit), NUMBER),
            Err(_) => self.refuse(name, NUMBER),
        }
    }

    /// Adds the models of the previous types, of which the form may remove some,
    /// and of a new one.
    fn add_persona_types(&mut self, before: &BTreeMap<String, String>) {
        let form = self.form;
        for name in before.keys() {
            let field = type_name(name);
            if form.all(&field).next().is_some() {
                let change = SettingChange::PersonaType(name.clone(), form.some(&field));
                self.add(&field, change, ENTRY);
            }
        }

        let Some(name) = form.some("newType") else { return };
        match form.some("newTypeModel") {
            Some(entry) => {
                let change = SettingChange::PersonaType(name, Some(entry));
                self.add("newType", change, TYPE_NAME);
            }
            None => self.refuse("newTypeModel", ENTRY),
        }
    }

    /// Adds the change of a field that differs from its original value, or an error at the field
    /// if the change is invalid in itself.
    fn add(&mut self, field: &str, change: SettingChange, text: Text) {
        if !self.form.is_changed(field) {
            return;
        }
        match GroupSettings::default().with(std::slice::from_ref(&change)) {
            Ok(_) => self.changes.push(change),
            Err(_) => self.refuse(field, text),
        }
    }

    fn refuse(&mut self, field: &str, text: Text) {
        let field = field.to_owned();
        let message = self.page.t(text).to_owned();
        self.errors.push(FieldError { field, code: "malformed", message });
    }
}

fn number_field(name: &str, label: &str, value: String) -> Field {
    Field::input(name, label, "number", "off", value).optional()
}

fn quota_name(quota: Quota) -> String {
    format!("quota.{}", quota.name())
}

fn budget_name(period: BudgetPeriod) -> String {
    format!("credits.{}", period.name())
}

fn mode_name(mode: &str) -> String {
    format!("mode.{mode}")
}

fn type_name(persona_type: &str) -> String {
    format!("type.{}", path_segment(persona_type))
}

const TITLE: Text = Text::new("Member settings", "Einstellungen der Mitglieder");
const INTRO: Text = Text::new(
    "Empty fields use the server’s default. Changes apply from the next request.",
    "Für leere Felder gilt die Vorgabe des Servers. Änderungen gelten ab der nächsten Anfrage.",
);
const DEFAULT: Text = Text::new("Server’s default: {}", "Vorgabe des Servers: {}");
const BY_SETTINGS: Text =
    Text::new("Default: the server’s settings", "Vorgabe: die Einstellungen des Servers");
const NO_LIMIT: Text = Text::new("Empty or 0: no limit", "Leer oder 0: kein Limit");
const UNLIMITED: Text = Text::new("No limit", "Kein Limit");
const POOL: Text = Text::new("Pool", "Pool");
const POOL_OPTION: Text = Text::new(
    "Members share unused weekly credits in the following week",
    "Mitglieder teilen sich in der Folgewoche, was von ihren Wochen-Credits übrig bleibt",
);
const MODE: Text = Text::new("Model for {} mode", "Modell für den Modus {}");
const TYPES: Text = Text::new("Models by persona type", "Modelle nach Persona-Typ");
const TYPE: Text = Text::new("Model for {} personas", "Modell für den Persona-Typ {}");
const NEW_TYPE: Text = Text::new("Another persona type", "Weiterer Persona-Typ");
const NEW_TYPE_HINT: Text = Text::new(
    "Chats with personas of this type use the next model.",
    "Chats mit Personas dieses Typs nutzen das folgende Modell.",
);
const NEW_TYPE_MODEL: Text = Text::new("Model for this type", "Modell für diesen Typ");
const MODELS: Text = Text::new("Models that members may choose", "Wählbare Modelle");
const MODELS_HINT: Text = Text::new(
    "If none is selected, members cannot choose.",
    "Ist keines ausgewählt, können Mitglieder nicht wählen.",
);
const NO_MODELS: Text = Text::new(
    "There are no models for members to choose from yet: the catalogue has none with an ID.",
    "Es gibt noch keine Modelle, die Mitglieder wählen können: Im Katalog hat keines eine ID.",
);
const NO_CHOICE: Text = Text::new("Members cannot choose", "Mitglieder können nicht wählen");
const BY_SERVER: Text = Text::new("The server decides", "Bestimmt der Server");
const NUMBER: Text = Text::new(
    "Enter a whole number from 0 to 1,000,000,000,000.",
    "Geben Sie eine ganze Zahl von 0 bis 1.000.000.000.000 ein.",
);
const ENTRY: Text =
    Text::new("Choose a model of the catalogue.", "Wählen Sie ein Modell des Katalogs.");
const TOO_MANY: Text = Text::new("Select fewer models.", "Wählen Sie weniger Modelle.");
const TYPE_NAME: Text = Text::new(
    "Enter a type of up to 50 characters.",
    "Geben Sie einen Typ mit bis zu 50 Zeichen ein.",
);
const USED: Text = Text::new("Usage", "Verbrauch");
const UNUSED: Text = Text::new(
    "No member has used any of their credits in the current periods.",
    "In den laufenden Zeiträumen hat kein Mitglied eigene Credits verbraucht.",
);
const TOP_UP: Text = Text::new("Top-ups left", "Übrige Aufladungen");
const BYTES: Text = Text::new("In bytes. {}", "In Byte. {}");
const POOL_LEFT: Text = Text::new("Pool left this week", "Übriger Pool dieser Woche");
const OF: Text = Text::new("{} of {}", "{} von {}");
