//! Settings of a group: limits, budgets and models.

use std::collections::BTreeMap;

use pia_assistant::{CreditStock, CreditView, Gauge};
use pia_kernel::BudgetPeriod;
use pia_policy::{GroupSettings, MODES, Quota, SettingChange};
use pia_web::{ApiError, FieldError};

use super::entries;
use super::limits::{budget_label, quota_label, quota_value};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, path_segment};
use crate::texts::common;
use crate::ui::form::SelectOption;
use crate::ui::{Cell, Field, Form, Section, Text, format};

const TITLE: Text = Text::new("Settings of members", "Einstellungen der Mitglieder");
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
const MODE: Text = Text::new("Model for the mode {}", "Modell für den Modus {}");
const TYPES: Text = Text::new("Models by type of persona", "Modelle nach Persona-Typ");
const TYPE: Text = Text::new("Model for personas of the type {}", "Modell für den Persona-Typ {}");
const NEW_TYPE: Text = Text::new("Another type of persona", "Weiterer Persona-Typ");
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
const TOP_UP: Text = Text::new("Top-ups left", "Übrige Aufladungen");
const POOL_LEFT: Text = Text::new("Pool left this week", "Übriger Pool dieser Woche");
const OF: Text = Text::new("{} of {}", "{} von {}");

/// Returns the form of a group's settings.
pub(super) fn section(page: &PageContext, settings: &GroupSettings, path: &str) -> Section {
    let mut form = Form::new(format!("{path}/settings"), page.t(common::SAVE));
    for quota in Quota::ALL {
        let own = settings.quotas.get(&quota).map(i64::to_string).unwrap_or_default();
        let default = quota.default_limit().map_or_else(
            || page.t(BY_SETTINGS).to_owned(),
            |it| page.fill(DEFAULT, &[&quota_value(page.language, quota, it)]),
        );
        let field = number(&quota_field(quota), page.t(quota_label(quota)), own);
        form = form.field(field.hint(default));
    }

    for period in BudgetPeriod::ALL {
        let own = match settings.credits.of(period) {
            limit if limit > 0 => limit.to_string(),
            _ => String::new(),
        };
        let field = number(&credits_field(period), page.t(budget_label(period)), own);
        form = form.field(field.hint(page.t(NO_LIMIT)));
    }

    let pool = SelectOption {
        value: "true".to_owned(),
        label: page.t(POOL_OPTION).to_owned(),
        is_selected: settings.credits.pool,
    };
    form = form.field(Field::checks("pool", page.t(POOL), vec![pool]));

    for field in model_fields(page, settings) {
        form = form.field(field);
    }

    Section::new("settings", page.t(TITLE)).intro(page.t(INTRO)).form(form)
}

/// Returns the fields of models by mode and type of persona, and to choose from.
fn model_fields(page: &PageContext, settings: &GroupSettings) -> Vec<Field> {
    let modes = MODES.into_iter().map(|mode| {
        let label = page.fill(MODE, &[mode]);
        entries::select(page, &mode_field(mode), label, settings.modes.get(mode))
    });
    let types = settings.persona_types.iter().map(|(name, entry)| {
        entries::select(page, &type_field(name), page.fill(TYPE, &[name]), Some(entry))
    });
    let new_type = Field::text("newType", page.t(NEW_TYPE), "").hint(page.t(NEW_TYPE_HINT));
    let others = [
        new_type.optional(),
        entries::select(page, "newTypeModel", page.t(NEW_TYPE_MODEL), None),
        entries::checks(page, "models", page.t(MODELS), &settings.models).hint(page.t(MODELS_HINT)),
    ];

    modes.chain(types).chain(others).collect()
}

/// Returns a group's settings, for managers who only read them.
pub(super) fn facts_section(page: &PageContext, settings: &GroupSettings) -> Section {
    let language = page.language;
    let quotas = Quota::ALL.into_iter().map(|quota| {
        let value = settings
            .quota(quota)
            .map_or_else(|| page.t(BY_SERVER).to_owned(), |it| quota_value(language, quota, it));
        (page.t(quota_label(quota)).to_owned(), value)
    });

    let budgets = BudgetPeriod::ALL.into_iter().map(|period| {
        let value = match settings.credits.of(period) {
            0 => page.t(UNLIMITED).to_owned(),
            limit => format::number(language, limit),
        };
        (page.t(budget_label(period)).to_owned(), value)
    });

    let pool = if settings.credits.pool { common::YES } else { common::NO };

    let modes = MODES.into_iter().map(|mode| {
        let entry = settings.modes.get(mode).cloned();
        (page.fill(MODE, &[mode]), entry.unwrap_or_else(|| page.t(BY_SERVER).to_owned()))
    });

    let types = settings.persona_types.iter().map(|(name, it)| format!("{name}: {it}"));
    let other_facts = [
        (page.t(POOL).to_owned(), page.t(pool).to_owned()),
        (page.t(TYPES).to_owned(), types.collect::<Vec<_>>().join(", ")),
        (page.t(MODELS).to_owned(), settings.models.join(", ")),
    ];
    let facts = quotas
        .chain(budgets)
        .chain(modes)
        .chain(other_facts)
        .map(|(label, value)| (label, Cell::text(value)));

    Section::new("settings", page.t(TITLE)).facts(facts)
}

/// Returns the usage of a group's budgets; `None` if it has no budget.
pub(super) fn usage(page: &PageContext, view: &CreditView) -> Option<Section> {
    let language = page.language;
    let of = |part: i64, whole: i64| {
        let numbers = [format::number(language, part), format::number(language, whole)];
        page.fill(OF, &[&numbers[0], &numbers[1]])
    };

    let gauge = |it: Gauge| of(it.used, it.limit);
    let stock = |it: CreditStock| of(it.remaining, it.total);
    let facts = [
        (budget_label(BudgetPeriod::GroupDaily), view.group_daily.map(gauge)),
        (budget_label(BudgetPeriod::GroupWeekly), view.group_weekly.map(|it| gauge(it.gauge))),
        (POOL_LEFT, view.pool.map(|it| stock(it.0))),
        (TOP_UP, view.top_up.map(stock)),
    ];

    let facts: Vec<_> = facts
        .into_iter()
        .filter_map(|(label, value)| Some((page.t(label), Cell::text(value?))))
        .collect();

    (!facts.is_empty()).then(|| Section::new("use", page.t(USED)).facts(facts))
}

/// Returns the changes that a form makes to the settings that it replaces.
pub(super) fn changes(
    page: &PageContext,
    form: &FormFields,
    before: &GroupSettings,
) -> Result<Vec<SettingChange>, ApiError> {
    let mut parsed = Parsed { page, changes: Vec::new(), errors: Vec::new() };
    for quota in Quota::ALL {
        let name = quota_field(quota);
        parsed.limit(form, &name, |limit| SettingChange::Quota(quota, limit));
    }

    for period in BudgetPeriod::ALL {
        let name = credits_field(period);
        parsed.limit(form, &name, |limit| SettingChange::Credits(period, limit));
    }

    parsed.changes.push(SettingChange::Pool(form.all("pool").any(|it| it == "true")));

    for mode in MODES {
        let name = mode_field(mode);
        let change = SettingChange::Mode(mode.to_owned(), form.some(&name));
        parsed.add(&name, change, ENTRY);
    }

    parsed.persona_types(form, &before.persona_types);
    let models = form.all("models").map(str::to_owned).collect();
    parsed.add("models", SettingChange::Models(models), TOO_MANY);

    if parsed.errors.is_empty() {
        Ok(parsed.changes)
    } else {
        Err(ApiError::invalid(parsed.errors))
    }
}

/// Changes of a form, and the errors at its fields.
struct Parsed<'a> {
    page: &'a PageContext,
    changes: Vec<SettingChange>,
    errors: Vec<FieldError>,
}

impl Parsed<'_> {
    fn limit(
        &mut self,
        form: &FormFields,
        name: &str,
        change: impl Fn(Option<i64>) -> SettingChange,
    ) {
        match form.some(name).map(|it| it.parse()).transpose() {
            Ok(limit) => self.add(name, change(limit), NUMBER),
            Err(_) => self.refuse(name, NUMBER),
        }
    }

    /// Adds the models of the previous types, of which the form may remove some,
    /// and of a new one.
    fn persona_types(&mut self, form: &FormFields, before: &BTreeMap<String, String>) {
        for name in before.keys() {
            let field = type_field(name);
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

    /// Adds a change, or an error at its field if it is invalid in itself.
    fn add(&mut self, field: &str, change: SettingChange, text: Text) {
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

fn number(name: &str, label: &str, value: String) -> Field {
    Field::input(name, label, "number", "off", value).optional()
}

fn quota_field(quota: Quota) -> String {
    format!("quota.{}", quota.name())
}

fn credits_field(period: BudgetPeriod) -> String {
    format!("credits.{}", period.name())
}

fn mode_field(mode: &str) -> String {
    format!("mode.{mode}")
}

fn type_field(name: &str) -> String {
    format!("type.{}", path_segment(name))
}
