//! Settings of a group: limits, budgets and models.

use std::collections::BTreeMap;

use pia_assistant::{CreditStock, CreditView, Gauge};
use pia_kernel::BudgetPeriod;
use pia_policy::{GroupSettings, MODES, Quota, SettingChange};
use pia_web::{ApiError, FieldError};

use super::limits::{budget_label, quota_label, quota_value};
use crate::form_fields::FormFields;
use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::form::SelectOption;
use crate::ui::{Cell, Field, Form, Section, Text, format};

const TITLE: Text = Text::new("Settings of members", "Einstellungen der Mitglieder");
const INTRO: Text = Text::new(
    "An empty field means the server’s default. Changes apply from the next request.",
    "Ein leeres Feld bedeutet die Vorgabe des Servers. Änderungen gelten ab der nächsten Anfrage.",
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
const ENTRY_HINT: Text = Text::new(
    "ID of an entry in the server’s catalogue. If empty, the server decides.",
    "ID eines Eintrags im Katalog des Servers. Ohne Angabe entscheidet der Server.",
);
const TYPES: Text = Text::new("Models by type of persona", "Modelle nach Persona-Typ");
const TYPES_HINT: Text = Text::new(
    "One per line: type = ID of a catalogue entry.",
    "Einer je Zeile: Typ = ID eines Katalogeintrags.",
);
const MODELS: Text = Text::new("Models that members may choose", "Wählbare Modelle");
const MODELS_HINT: Text = Text::new(
    "IDs of catalogue entries, one per line. If empty, members cannot choose.",
    "IDs von Katalogeinträgen, eine je Zeile. Ohne Angabe können Mitglieder nicht wählen.",
);
const BY_SERVER: Text = Text::new("The server decides", "Bestimmt der Server");
const NUMBER: Text = Text::new(
    "Enter a whole number from 0 to 1,000,000,000,000.",
    "Geben Sie eine ganze Zahl von 0 bis 1.000.000.000.000 ein.",
);
const ENTRY: Text = Text::new(
    "Enter the ID of a catalogue entry, up to 100 characters.",
    "Geben Sie die ID eines Katalogeintrags mit bis zu 100 Zeichen ein.",
);
const PAIR: Text = Text::new(
    "Write each line as: type = ID. At most 100 types.",
    "Schreiben Sie jede Zeile als: Typ = ID. Höchstens 100 Typen.",
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

    for mode in MODES {
        let entry = settings.modes.get(mode).cloned().unwrap_or_default();
        let field = Field::text(&mode_field(mode), page.fill(MODE, &[mode]), entry);
        form = form.field(field.hint(page.t(ENTRY_HINT)).optional());
    }

    let pairs = lines(settings.persona_types.iter().map(|(name, it)| format!("{name} = {it}")));
    let types = Field::lines("personaTypes", page.t(TYPES), pairs);
    let models = Field::lines("models", page.t(MODELS), settings.models.join("\n"));
    let form = form
        .field(types.hint(page.t(TYPES_HINT)).optional())
        .field(models.hint(page.t(MODELS_HINT)).optional());

    Section::new("settings", page.t(TITLE)).intro(page.t(INTRO)).form(form)
}

/// Returns a group's settings, for managers who only read them.
pub(super) fn facts(page: &PageContext, settings: &GroupSettings) -> Section {
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
    let models = form
        .text("models")
        .lines()
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect();
    parsed.add("models", SettingChange::Models(models), ENTRY);

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

    /// Adds the entries by type, and the removal of entries that the form lacks.
    fn persona_types(&mut self, form: &FormFields, before: &BTreeMap<String, String>) {
        let mut types = BTreeMap::new();
        for line in form.text("personaTypes").lines().filter(|it| !it.trim().is_empty()) {
            let Some((name, entry)) = line.split_once('=') else {
                return self.refuse("personaTypes", PAIR);
            };
            types.insert(name.trim().to_lowercase(), entry.trim().to_owned());
        }

        let gone = before.keys().filter(|it| !types.contains_key(*it));
        self.changes.extend(gone.map(|it| SettingChange::PersonaType(it.clone(), None)));

        for (name, entry) in types {
            self.add("personaTypes", SettingChange::PersonaType(name, Some(entry)), PAIR);
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
        self.errors.push(FieldError { field, code: "invalid", message });
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

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}
