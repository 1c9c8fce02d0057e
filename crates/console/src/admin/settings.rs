//! Settings in force, which administrators change where that needs no restart.
//!
//! `list` shows the areas, or the settings of one or of a search, and `show` one setting.
//! `change` and `reset` write to the settings of the console, which every instance follows; a
//! refused value comes back in its form with the reason. The list also shows changes of settings
//! that this version does not have, which can only be removed.

mod areas;

use actix_web::web::Path;
use pia_identity::Role;
use pia_policy::{BlankMeaning, ListedSetting, OverrideValue, RunningSetting, SettingOverride};
use pia_web::{ApiError, Route};

use super::bindings::{find_emails, time_cell, user_cell};
use super::first_steps;
use crate::page_context::{PageContext, PageResult, path_segment};
use crate::proof::{ProvedForm, SECRET_VALUE};
use crate::routes::pages::{form, page};
use crate::texts::common;
use crate::texts::field_errors::at_fields;
use crate::texts::settings::description;
use crate::ui::table::Tone;
use crate::ui::view::{Link, SectionPart};
use crate::ui::{Cell, Field, Form, Row, Search, Section, Table, Text, View, format};
use areas::{AREAS, SettingArea};

/// Source of a setting that was changed here.
const CONSOLE_SOURCE: &str = "the console";
const ENVIRONMENT_SOURCE: &str = "the environment";
const COMMAND_LINE_SOURCE: &str = "the command line";
/// Maximum size of the form.
const FORM_BYTES: usize = 20 * 1024;

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/admin/settings", |it| it.to(list)),
        page("/admin/settings/{key}", |it| it.to(show)),
        setting_form("/admin/settings/{key}/change", |it| it.to(change)),
        setting_form("/admin/settings/{key}/reset", |it| it.to(reset)),
    ]
}

/// Returns the row of a form that changes a setting.
fn setting_form(path: &'static str, handler: fn(actix_web::Route) -> actix_web::Route) -> Route {
    Route { body_limit: FORM_BYTES, ..form(path, handler) }
}

/// Returns the settings in force, with their changes.
pub(super) async fn load_settings(page: &PageContext) -> Result<Vec<ListedSetting>, ApiError> {
    page.run(|api| async move { api.settings.list().await }).await
}

async fn list(page: PageContext) -> PageResult {
    let searched_text = page.query("search").trim().to_lowercase();
    let area = page.query("area");
    let mut settings = load_settings(&page).await?;
    let mut unused = page.run(|api| async move { api.settings.unused().await }).await?;
    unused.retain(|it| area.is_empty() && it.key.to_lowercase().contains(&searched_text));

    let mut sections: Vec<Section> = if searched_text.is_empty() && area.is_empty() {
        vec![areas_section(&page, &settings)]
    } else {
        settings.retain(|it| is_found(&page, &it.setting.key, &searched_text));
        let areas = AREAS.iter().filter(|it| area.is_empty() || it.id == area);
        areas.filter_map(|it| area_section(&page, it, &settings)).collect()
    };
    sections.extend(unused_section(&page, &unused));
    let mut search_section =
        Section::new("search", "").part(SectionPart::Search(Box::new(settings_search(&page))));
    if sections.is_empty() {
        search_section = search_section.paragraph(page.t(common::NO_MATCH));
    }

    let view = View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .action(page.t(first_steps::TITLE), first_steps::PATH)
        .section(search_section);

    Ok(page.render(sections.into_iter().fold(view, View::section)))
}

/// Returns whether the name or the description of a setting contains a text, which is in
/// lower case.
fn is_found(page: &PageContext, key: &str, text: &str) -> bool {
    [key, description_text(page, key)].iter().any(|it| it.to_lowercase().contains(text))
}

/// Returns the description of a setting; empty for none.
fn description_text(page: &PageContext, key: &str) -> &'static str {
    description(key).map(|it| page.t(it)).unwrap_or_default()
}

/// Returns the list of the areas that have settings, with their numbers.
fn areas_section(page: &PageContext, settings: &[ListedSetting]) -> Section {
    let number = |count: usize| Cell::number(format::number(page.language, count as u64));
    let rows = AREAS.iter().filter_map(|area| {
        let of_area: Vec<_> = settings.iter().filter(|it| area.contains(&it.setting.key)).collect();
        let changed_count = of_area.iter().filter(|it| it.change.is_some()).count();
        let link = Cell::link(page.t(area.title), path_of_area(area));
        let cells = vec![link, number(of_area.len()), number(changed_count)];
        (!of_area.is_empty()).then(|| Row::new(cells))
    });
    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: [AREA, TITLE, CHANGED_HERE].map(|it| page.t(it).to_owned()).into(),
        rows: rows.collect(),
        ..Table::default()
    };
    Section::new("areas", "").table(table)
}

/// Returns the settings of an area, if there are any.
fn area_section(
    page: &PageContext,
    area: &SettingArea,
    settings: &[ListedSetting],
) -> Option<Section> {
    let rows = settings
        .iter()
        .filter(|it| area.contains(&it.setting.key))
        .map(|it| setting_row(page, &it.setting))
        .collect();
    let table = Table {
        caption: page.t(area.title).to_owned(),
        columns: [SETTING, VALUE, SOURCE].map(|it| page.t(it).into()).into(),
        rows,
        ..Table::default()
    };
    let section = Section::new(area.id, page.t(area.title));
    (!table.rows.is_empty()).then(|| section.table(table))
}

/// Returns the changes of settings that this version does not have, if there are any.
fn unused_section(page: &PageContext, unused: &[SettingOverride]) -> Option<Section> {
    let table = Table {
        caption: page.t(UNUSED).to_owned(),
        columns: [SETTING, VALUE, CHANGED].map(|it| page.t(it).into()).into(),
        rows: unused.iter().map(|it| unused_row(page, it)).collect(),
        ..Table::default()
    };
    let section = Section::new("unused", page.t(UNUSED)).intro(page.t(UNUSED_HINT));
    (!unused.is_empty()).then(|| section.table(table))
}

fn unused_row(page: &PageContext, change: &SettingOverride) -> Row {
    let value = match &change.value {
        OverrideValue::Plain(text) => Cell::text(text),
        OverrideValue::Secret(_) | OverrideValue::Unreadable => {
            Cell::badge(page.t(SECRET), Tone::Neutral)
        }
    };
    let remove = Form::new(format!("{}/reset", path_of(&change.key)), page.t(REMOVE)).danger();
    Row::new(vec![Cell::text(&change.key), value, time_cell(page, change.updated_at)])
        .form(remove.about(&change.key))
}

fn settings_search(page: &PageContext) -> Search {
    let value = page.query("search");
    let area = page.query("area");
    let areas = std::iter::once(("", page.t(ALL_AREAS)))
        .chain(AREAS.iter().map(|it| (it.id, page.t(it.title))));
    let reset =
        Link { label: page.t(common::RESET_FILTERS).to_owned(), path: "admin/settings".to_owned() };
    let has_filter = !(value.is_empty() && area.is_empty());
    Search {
        label: page.t(SEARCH).to_owned(),
        fields: vec![
            Field::input("search", page.t(SEARCH), "search", "off", value).optional(),
            Field::select("area", page.t(AREA), areas, &area).optional(),
        ],
        submit: page.t(common::SEARCH).to_owned(),
        reset: has_filter.then_some(reset),
    }
}

fn setting_row(page: &PageContext, setting: &RunningSetting) -> Row {
    Row::new(vec![
        Cell::link(&setting.key, path_of(&setting.key))
            .detail(description_text(page, &setting.key)),
        value_cell(page, setting),
        source_cell(page, setting),
    ])
}

/// Returns the instructions for a setting that needs a restart.
pub(super) fn restart_hint(page: &PageContext, key: &str) -> String {
    page.fill(RESTART_HINT, &[key, &key.replace(':', "__")])
}

fn value_cell(page: &PageContext, setting: &RunningSetting) -> Cell {
    match &setting.value {
        _ if !setting.is_set => Cell::text(page.t(NOT_SET)),
        Some(value) => Cell::text(value),
        None => Cell::badge(page.t(SECRET), Tone::Neutral),
    }
}

fn source_cell(page: &PageContext, setting: &RunningSetting) -> Cell {
    if is_of_console(setting) {
        return Cell::badge(page.t(CONSOLE), Tone::Neutral);
    }
    let restart = setting.needs_restart.then(|| page.t(NEEDS_RESTART));
    Cell::text(source(page, setting)).detail(restart.unwrap_or_default())
}

/// Returns whether a change in the console is in force.
pub(super) fn is_of_console(setting: &RunningSetting) -> bool {
    setting.origin.as_deref() == Some(CONSOLE_SOURCE)
}

/// Returns the source of a setting: the console, the environment, or the name
/// of a file.
pub(super) fn source(page: &PageContext, setting: &RunningSetting) -> String {
    let text = match setting.origin.as_deref() {
        None => DEFAULT,
        Some(CONSOLE_SOURCE) => CONSOLE,
        Some(ENVIRONMENT_SOURCE) => ENVIRONMENT,
        Some(COMMAND_LINE_SOURCE) => COMMAND_LINE,
        Some(file) => return file.to_owned(),
    };
    page.t(text).to_owned()
}

async fn show(page: PageContext, key: Path<String>) -> PageResult {
    let view = setting_view(&page, &key, None).await?;
    Ok(page.render(view))
}

async fn change(page: PageContext, key: Path<String>, ProvedForm(form): ProvedForm) -> PageResult {
    let by = page.user();
    let name = key.clone();
    // A secret may begin or end with a blank.
    let secret = form.secret(SECRET_VALUE).reveal();
    let value = if secret.is_empty() { form.text("value").to_owned() } else { secret };
    let result =
        page.run(|api| async move { api.settings.set(by, &[(name.as_str(), value)]).await }).await;
    match result {
        Ok(()) => page.done(&path_of(&key), "saved"),
        Err(err) => {
            let view = setting_view(&page, &key, Some(form.text("value"))).await?;
            page.refuse(view, at_fields(err, &[("value", key.as_str())]))
        }
    }
}

async fn reset(page: PageContext, key: Path<String>, _: ProvedForm) -> PageResult {
    let by = page.user();
    let name = key.clone();
    let result = page.run(|api| async move { api.settings.reset(by, &name).await }).await;
    // A setting that is no longer used has no page.
    match (result, setting_view(&page, &key, None).await) {
        (Ok(()), Ok(_)) => page.done(&path_of(&key), "saved"),
        (Ok(()), Err(_)) => page.done("admin/settings", "removed"),
        (Err(err), Ok(view)) => page.refuse(view, at_fields(err, &[("value", key.as_str())])),
        (Err(err), Err(_)) => Err(err),
    }
}

async fn setting_view(
    page: &PageContext,
    key: &str,
    typed: Option<&str>,
) -> Result<View, ApiError> {
    let ListedSetting { setting, change } = load_settings(page)
        .await?
        .into_iter()
        .find(|it| it.setting.key.eq_ignore_ascii_case(key))
        .ok_or_else(ApiError::not_found)?;
    let path = path_of(&setting.key);
    let mut view = View::new(&setting.key)
        .intro(description_text(page, &setting.key))
        .below(page.t(TITLE), "admin/settings");
    if let Some(area) = AREAS.iter().find(|it| it.contains(&setting.key)) {
        view = view.below(page.t(area.title), path_of_area(area));
    }

    let view = view.section(facts_section(page, &setting, change.as_ref()).await?);
    let change_path = format!("{path}/change");
    if setting.needs_restart {
        return Ok(view);
    }

    // In place of an omitted form its fields are displayed, but the facts state the value already.
    let is_permitted = page.licence_refusal(&change_path).is_none();
    let field = is_permitted.then(|| value_field(page, &setting, typed));
    let change_form = Form::new(change_path, page.t(common::SAVE));
    let change_form = field.into_iter().fold(change_form, Form::field);
    let view = view.section(Section::new("change", page.t(CHANGE)).form(change_form));
    if change.is_none() {
        return Ok(view);
    }

    let reset_form = Form::new(format!("{path}/reset"), page.t(RESET));
    let reset_section = Section::new("reset", page.t(RESET)).intro(page.t(RESET_HINT));

    Ok(view.section(reset_section.form(reset_form)))
}

async fn facts_section(
    page: &PageContext,
    setting: &RunningSetting,
    change: Option<&SettingOverride>,
) -> Result<Section, ApiError> {
    let mut facts = vec![
        (page.t(VALUE), value_cell(page, setting)),
        (page.t(SOURCE), source_cell(page, setting)),
    ];

    if let Some(change) = change {
        let emails = find_emails(page, change.updated_by.into_iter()).await?;
        let by = change.updated_by.map_or_else(Cell::default, |it| user_cell(page, it, &emails));
        facts.push((page.t(CHANGED), time_cell(page, change.updated_at)));
        facts.push((page.t(CHANGED_BY), by));
    }

    let section = Section::new("setting", "").facts(facts);
    Ok(match change.map(|it| &it.value) {
        Some(OverrideValue::Unreadable) => section.paragraph(page.t(UNREADABLE)),
        _ if setting.needs_restart => section.paragraph(restart_hint(page, &setting.key)),
        _ => section,
    })
}

/// Returns the field of a value: a selection if the possible values are few.
fn value_field(page: &PageContext, setting: &RunningSetting, typed: Option<&str>) -> Field {
    if setting.is_secret {
        let field = Field::password(SECRET_VALUE, page.t(VALUE), "new-password");
        return field.hint(page.t(SECRET_HINT));
    }

    let value = typed.or(setting.value.as_deref()).unwrap_or_default();
    if !setting.choices.is_empty() {
        let may_be_unset = setting.blank == BlankMeaning::Unset || setting.value.is_none();
        let not_set = may_be_unset.then(|| ("", page.t(NOT_SET)));
        let choices = setting.choices.iter().map(|it| (*it, choice_label(page, it)));
        let options = not_set.into_iter().chain(choices);
        let field = Field::select("value", page.t(VALUE), options, value);
        return if may_be_unset { field.optional() } else { field };
    }

    let field = Field::lines("value", page.t(VALUE), value).rows(2);
    field.hint(page.t(VALUE_HINT)).optional()
}

/// Returns the label of a possible value.
fn choice_label<'a>(page: &PageContext, choice: &'a str) -> &'a str {
    match choice {
        "true" => page.t(ON),
        "false" => page.t(OFF),
        name => name,
    }
}

/// Returns a section about something that is turned off, with the setting that turns it
/// on. Only administrators may open that.
pub(super) fn off_section(page: &PageContext, text: Text, key: &str) -> Section {
    let section =
        Section::new("off", "").paragraph(page.t(text)).paragraph(page.fill(TURNED_ON_BY, &[key]));
    if page.caller.role != Role::Admin {
        return section;
    }

    let link = Link { label: page.t(SHOW_SETTING).to_owned(), path: path_of(key) };
    section.links(vec![link])
}

/// Returns the path of a setting's page, without the leading slash.
pub(super) fn path_of(key: &str) -> String {
    format!("admin/settings/{}", path_segment(key))
}

fn path_of_area(area: &SettingArea) -> String {
    format!("admin/settings?area={}", area.id)
}

const TITLE: Text = Text::new("Settings", "Einstellungen");
const TURNED_ON_BY: Text =
    Text::new("The setting {} turns this on.", "Die Einstellung {} schaltet das ein.");
const SHOW_SETTING: Text = Text::new("Show setting", "Einstellung anzeigen");
const INTRO: Text = Text::new(
    "Values in effect and where they are set. Changes made here take effect at once on all \
     instances of the server. Settings that need a restart can only be changed in files or the \
     environment.",
    "Wirksame Werte und ihre Herkunft. Änderungen auf dieser Seite wirken sofort auf allen \
     Instanzen des Servers. Einstellungen, die einen Neustart brauchen, lassen sich nur in Dateien \
     oder der Umgebung ändern.",
);
const SEARCH: Text = Text::new("Name or description", "Name oder Beschreibung");
const CHANGED_HERE: Text = Text::new("Changed here", "Hier geändert");
const AREA: Text = Text::new("Area", "Bereich");
const ALL_AREAS: Text = Text::new("All", "Alle");
const SETTING: Text = Text::new("Setting", "Einstellung");
const VALUE: Text = Text::new("Value", "Wert");
const VALUE_HINT: Text = Text::new(
    "As in a settings file, such as true, 30s, or a list separated by commas.",
    "Wie in einer Einstellungsdatei, etwa true, 30s oder eine durch Kommas getrennte Liste.",
);
const SOURCE: Text = Text::new("Source", "Herkunft");
const DEFAULT: Text = Text::new("Default", "Standard");
const CONSOLE: Text = Text::new("Console", "Konsole");
const ENVIRONMENT: Text = Text::new("Environment", "Umgebung");
const COMMAND_LINE: Text = Text::new("Command line", "Befehlszeile");

const SECRET: Text = Text::new("Set, not displayed", "Gesetzt, nicht angezeigt");
const SECRET_HINT: Text = Text::new(
    "Stored encrypted with the master key, and never displayed.",
    "Wird mit dem Hauptschlüssel verschlüsselt gespeichert und nie angezeigt.",
);
const UNREADABLE: Text = Text::new(
    "The stored value was encrypted with another master key and is not in effect. Set it again.",
    "Der gespeicherte Wert wurde mit einem anderen Hauptschlüssel verschlüsselt und gilt nicht. \
     Setzen Sie ihn erneut.",
);
pub(super) const NOT_SET: Text = Text::new("Not set", "Nicht gesetzt");
const NEEDS_RESTART: Text = Text::new("Needs a restart", "Neustart erforderlich");
const RESTART_HINT: Text = Text::new(
    "Set {} in a settings file, or the environment variable {}, and restart the server.",
    "Setzen Sie {} in einer Einstellungsdatei oder die Umgebungsvariable {}, und starten Sie den \
     Server neu.",
);
const CHANGED: Text = Text::new("Changed", "Geändert");
const CHANGED_BY: Text = Text::new("Changed by", "Geändert von");
const CHANGE: Text = Text::new("Change value", "Wert ändern");
const RESET: Text = Text::new("Reset value", "Wert zurücksetzen");
const RESET_HINT: Text = Text::new(
    "Restores the value from files or the environment, or else the default.",
    "Stellt den Wert aus Dateien oder der Umgebung wieder her, andernfalls den Standard.",
);
const UNUSED: Text = Text::new("No longer used", "Nicht mehr verwendet");
const UNUSED_HINT: Text = Text::new(
    "Values that were set here for settings of another version. They have no effect.",
    "Hier gesetzte Werte für Einstellungen einer anderen Version. Sie haben keine Wirkung.",
);
const REMOVE: Text = Text::new("Remove", "Entfernen");
const ON: Text = Text::new("On (true)", "Ein (true)");
const OFF: Text = Text::new("Off (false)", "Aus (false)");
