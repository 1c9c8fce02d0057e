//! Versions of a client policy.

use std::collections::HashMap;

use pia_kernel::{ClientPolicyId, UserId};
use pia_policy::{
    ClientPolicyError, PolicyComparison, PolicyVersion, PolicyVersionEntry, SettingDifference,
};
use pia_web::{ApiError, PathId, PathVersion, Route};

use super::super::bindings::{
    SIZE, expected_version, find_emails, time_cell, user_cell, with_version,
};
use super::licensed_form;
use super::view::{DOCUMENT, TITLE, VERSIONS};
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::routes::pages::page;
use crate::texts::common;
use crate::ui::{Cell, Field, Form, Row, Search, Section, Table, Text, View, format};

/// Maximum number of versions that a selection offers.
const MAX_OPTIONS: usize = 200;
/// Parameter with the number of the version to compare with.
const WITH: &str = "with";

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/admin/policies/{id}/versions", |it| it.to(list)),
        page("/admin/policies/{id}/versions/{number}", |it| it.to(show)),
        licensed_form("/admin/policies/{id}/versions/{number}/restore", |it| it.to(restore)),
    ]
}

async fn list(page: PageContext, PathId(id): PathId) -> PageResult {
    let versions = page
        .run(|api| async move { api.client_policies.versions(ClientPolicyId(id)).await })
        .await?;
    let emails = find_emails(&page, versions.iter().filter_map(|it| it.written_by)).await?;
    let newest = versions.first().map_or(0, |it| it.number);
    let name = versions.first().map(|it| it.name.clone()).unwrap_or_default();
    let path = format!("admin/policies/{id}");
    let columns = [
        ("version", VERSION),
        ("name", common::NAME),
        ("size", SIZE),
        ("saved", WRITTEN),
        ("by", WRITTEN_BY),
    ];
    let rows = versions.iter().map(|it| version_row(&page, it, &path, newest, &emails));
    // A policy has one version at least: the list is never empty.
    let table = page.list(VERSIONS, common::NO_MATCH, &columns, rows.collect());

    let view = View::new(page.t(VERSIONS))
        .intro(page.t(INTRO))
        .below(page.t(TITLE), "admin/policies")
        .below(name, path)
        .section(Section::new("versions", "").table(table));

    Ok(page.render(view))
}

fn version_row(
    page: &PageContext,
    entry: &PolicyVersionEntry,
    path: &str,
    newest: i32,
    emails: &HashMap<UserId, String>,
) -> Row {
    let number = entry.number.to_string();
    let size = u64::try_from(entry.document_bytes).unwrap_or(u64::MAX);
    let label = page.fill(VERSION_NUMBER, &[&number]);
    let detail = if entry.number == newest { page.t(IN_FORCE) } else { "" };
    Row::new(vec![
        Cell::link(label, format!("{path}/versions/{number}"))
            .detail(detail)
            .sort_value(entry.number),
        Cell::text(&entry.name),
        Cell::number(format::bytes(page.language, size)).sort_value(size),
        time_cell(page, entry.written_at),
        entry.written_by.map_or_else(Cell::default, |it| user_cell(page, it, emails)),
    ])
    .key(number)
}

async fn show(page: PageContext, PathVersion { id, number }: PathVersion) -> PageResult {
    let view = version_view(&page, ClientPolicyId(id), number).await?;
    Ok(page.render(view))
}

async fn restore(
    page: PageContext,
    PathVersion { id, number }: PathVersion,
    ProvedForm(form): ProvedForm,
) -> PageResult {
    let by = page.user();
    let id = ClientPolicyId(id);
    let expected = expected_version(&form);
    let result = page
        .run(|api| async move { api.client_policies.restore(by, id, number, expected).await })
        .await;
    match result {
        Ok(()) => page.done(&format!("admin/policies/{id}"), "saved"),
        Err(err) => page.refuse(version_view(&page, id, number).await?, err),
    }
}

async fn version_view(
    page: &PageContext,
    id: ClientPolicyId,
    number: i32,
) -> Result<View, ApiError> {
    let requested = page.query(WITH);
    let (policy, versions, comparison) = page
        .run(|api| async move {
            let policy = api.client_policies.find(id).await?;
            let versions = api.client_policies.versions(id).await?;
            let with = find_version(&versions, &requested);
            // The newest version is compared with the one before it.
            let earlier = versions.get(1).filter(|it| it.number + 1 == number).map(|it| it.number);
            let comparison = api.client_policies.compare(id, number, with.or(earlier)).await?;
            Ok::<_, ClientPolicyError>((policy, versions, comparison))
        })
        .await?;
    let emails = find_emails(page, comparison.from.written_by.into_iter()).await?;
    let path = format!("admin/policies/{id}");
    let newest = versions.first().map_or(0, |it| it.number);

    let view = View::new(page.fill(VERSION_NUMBER, &[&number.to_string()]))
        .below(page.t(TITLE), "admin/policies")
        .below(policy.draft.name, path.as_str())
        .below(page.t(VERSIONS), format!("{path}/versions"))
        .section(facts_section(page, &comparison.from, &emails))
        .section(comparison_section(page, comparison, &versions));

    if number == newest {
        return Ok(view);
    }

    let form = Form::new(format!("{path}/versions/{number}/restore"), page.t(ROLL_BACK));
    let restore = with_version(form, Some(policy.updated_at)).danger();
    let section = Section::new("restore", page.t(ROLL_BACK)).intro(page.t(ROLL_BACK_HINT));

    Ok(view.section(section.form(restore)))
}

fn facts_section(
    page: &PageContext,
    version: &PolicyVersion,
    emails: &HashMap<UserId, String>,
) -> Section {
    let writer = version.written_by.map_or_else(Cell::default, |it| user_cell(page, it, emails));
    let facts = [
        (page.t(common::NAME), Cell::text(&version.draft.name)),
        (
            page.t(common::DESCRIPTION),
            Cell::text(version.draft.description.clone().unwrap_or_default()),
        ),
        (page.t(WRITTEN), time_cell(page, version.written_at)),
        (page.t(WRITTEN_BY), writer),
    ];
    Section::new("document", page.t(DOCUMENT)).facts(facts).code(version.draft.document.as_str())
}

fn comparison_section(
    page: &PageContext,
    comparison: PolicyComparison,
    versions: &[PolicyVersionEntry],
) -> Section {
    let PolicyComparison { from, to, settings } = comparison;
    let label = |number: i32| page.fill(VERSION_NUMBER, &[&number.to_string()]);
    let search = Search {
        label: page.t(COMPARISON).to_owned(),
        fields: vec![comparison_field(page, versions, from.number, to.number)],
        submit: page.t(COMPARE).to_owned(),
        reset: None,
    };

    let table = Table {
        caption: page.t(COMPARISON).to_owned(),
        columns: vec![page.t(SETTING).to_owned(), label(from.number), label(to.number)],
        rows: settings.into_iter().map(difference_row).collect(),
        empty: page.t(NO_DIFFERENCE).to_owned(),
        search: (versions.len() > 1).then_some(search),
        ..Table::default()
    };

    Section::new("comparison", page.t(COMPARISON)).table(table)
}

/// Returns the field of the version to compare with: a selection, or a number where there are
/// too many versions.
fn comparison_field(
    page: &PageContext,
    versions: &[PolicyVersionEntry],
    from: i32,
    to: i32,
) -> Field {
    let requested = page.query(WITH);
    let is_unknown = !requested.is_empty() && find_version(versions, &requested).is_none();
    let label = page.t(COMPARE_WITH);
    let field = if versions.len() <= MAX_OPTIONS {
        let options = versions.iter().filter(|it| it.number != from).map(|it| {
            let number = it.number.to_string();
            let option_label = page.fill(VERSION_NUMBER, &[&number]);
            (number, option_label)
        });
        Field::select(WITH, label, options, &to.to_string())
    } else {
        let value = if is_unknown { requested } else { to.to_string() };
        let newest = versions.first().map_or(0, |it| it.number);
        let hint = page.fill(WITH_HINT, &[&format::number(page.language, newest)]);
        Field::input(WITH, label, "number", "off", value).hint(hint)
    };

    let mut field = field.optional();
    if is_unknown {
        page.t(UNKNOWN_VERSION).clone_into(&mut field.error);
    }
    field
}

/// Returns the number of a version, if the policy has that version.
fn find_version(versions: &[PolicyVersionEntry], number: &str) -> Option<i32> {
    let requested_number = number.trim().parse::<i32>().ok()?;
    versions.iter().map(|it| it.number).find(|it| *it == requested_number)
}

fn difference_row(difference: SettingDifference) -> Row {
    let SettingDifference { section, setting, before, after } = difference;
    Row::new(vec![
        Cell::text(format!("{section}.{setting}")),
        value_cell(before.as_ref()),
        value_cell(after.as_ref()),
    ])
}

fn value_cell(value: Option<&serde_json::Value>) -> Cell {
    Cell::text(value.map(ToString::to_string).unwrap_or_default())
}

const INTRO: Text = Text::new(
    "Each change of the policy creates a version. The newest one applies.",
    "Jede Änderung der Richtlinie erzeugt eine Version. Es gilt die neueste.",
);
const VERSION: Text = Text::new("Version", "Version");
const VERSION_NUMBER: Text = Text::new("Version {}", "Version {}");
const IN_FORCE: Text = Text::new("Current", "Aktuell");
const WRITTEN: Text = Text::new("Saved", "Gespeichert");
const WRITTEN_BY: Text = Text::new("Saved by", "Gespeichert von");
const COMPARISON: Text = Text::new("Comparison", "Vergleich");
const COMPARE_WITH: Text = Text::new("Compare with", "Vergleichen mit");
const WITH_HINT: Text =
    Text::new("The number of a version, from 1 to {}.", "Die Nummer einer Version, von 1 bis {}.");
const UNKNOWN_VERSION: Text =
    Text::new("There is no such version.", "Diese Version gibt es nicht.");
const COMPARE: Text = Text::new("Compare", "Vergleichen");
const SETTING: Text = Text::new("Setting", "Einstellung");
const NO_DIFFERENCE: Text = Text::new(
    "These versions contain the same settings.",
    "Diese Versionen enthalten dieselben Einstellungen.",
);
const ROLL_BACK: Text = Text::new("Roll back", "Version wiederherstellen");
const ROLL_BACK_HINT: Text = Text::new(
    "Creates a new version with the name, description and document of this one. The policy’s \
     groups get it at once.",
    "Erstellt eine neue Version mit Name, Beschreibung und Dokument dieser Version. Die Gruppen \
     der Richtlinie erhalten sie sofort.",
);
