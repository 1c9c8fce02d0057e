//! Personas, plugins, knowledge bases, operators and connectors of a group.

use pia_kernel::GroupId;
use pia_knowledge::BaseAccess;
use pia_web::ApiError;

use crate::admin::bindings::INACTIVE;
use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::view::Link;
use crate::ui::{Cell, Row, Section, Table, Text, format};

/// Maximum number of entries of a kind.
const MAX_ENTRIES: usize = 50;

/// Entries of a kind.
struct Entries {
    kind: Text,
    cells: Vec<Cell>,
    /// Label of the link to their list, which has all.
    all: Text,
    /// Path of the list.
    list: &'static str,
}

/// Returns the section with the links to everything that a group has.
pub(super) async fn section(page: &PageContext, group: GroupId) -> Result<Section, ApiError> {
    let mut rows = Vec::new();
    let mut links = Vec::new();
    for entries in load(page, group).await? {
        let Entries { kind, cells, all, list } = entries;
        if cells.len() > MAX_ENTRIES {
            let count = format::number(page.language, cells.len() as u64);
            links.push(Link { label: page.fill(all, &[&count]), path: list.to_owned() });
        }
        let entry_row = |cell| Row::new(vec![cell, Cell::text(page.t(kind))]);
        rows.extend(cells.into_iter().take(MAX_ENTRIES).map(entry_row));
    }

    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: [common::NAME, KIND].map(|it| page.t(it).to_owned()).into(),
        rows,
        empty: page.t(EMPTY).to_owned(),
        ..Table::default()
    };

    let section = Section::new("published", page.t(TITLE)).intro(page.t(INTRO)).table(table);
    Ok(if links.is_empty() { section } else { section.links(links) })
}

async fn load(page: &PageContext, group: GroupId) -> Result<[Entries; 5], ApiError> {
    let personas = page.run(|api| async move { api.personas.names_of_group(group).await }).await?;
    let plugins = page.run(|api| async move { api.plugins.names_of_group(group).await }).await?;
    Ok([
        Entries {
            kind: PERSONA,
            cells: personas.into_iter().map(|it| named_link("personas", it)).collect(),
            all: ALL_PERSONAS,
            list: "admin/personas",
        },
        Entries {
            kind: PLUGIN,
            cells: plugins.into_iter().map(|it| named_link("plugins", it)).collect(),
            all: ALL_PLUGINS,
            list: "admin/plugins",
        },
        Entries {
            kind: BASE,
            cells: base_cells(page, group).await?,
            all: ALL_BASES,
            list: "admin/knowledge",
        },
        Entries {
            kind: OPERATOR,
            cells: operator_cells(page, group).await?,
            all: ALL_OPERATORS,
            list: "admin/operators",
        },
        Entries {
            kind: CONNECTOR,
            cells: connector_cells(page, group).await?,
            all: ALL_CONNECTORS,
            list: "admin/connectors",
        },
    ])
}

/// Returns the link to an entry of a list, by its id and name.
fn named_link<T: std::fmt::Display>(list: &str, (id, name): (T, String)) -> Cell {
    Cell::link(name, format!("admin/{list}/{id}"))
}

async fn base_cells(page: &PageContext, group: GroupId) -> Result<Vec<Cell>, ApiError> {
    let bases = page
        .run(|api| async move { api.knowledge.documents.bases(BaseAccess::Server).await })
        .await?;
    let cells = bases
        .into_iter()
        .filter(|it| it.base.owner == group || it.shared_with.contains(&group))
        .map(|it| {
            let detail = if it.base.owner == group { "" } else { page.t(SHARED) };
            named_link("knowledge", (it.base.id, it.base.name)).detail(detail)
        });
    Ok(cells.collect())
}

async fn operator_cells(page: &PageContext, group: GroupId) -> Result<Vec<Cell>, ApiError> {
    let operators =
        page.run(|api| async move { api.assignments.administration.operators().await }).await?;
    let cells = operators.into_iter().filter(|it| it.groups.contains(&group)).map(|it| {
        let detail = if it.is_active { "" } else { page.t(INACTIVE) };
        named_link("operators", (it.id, it.name)).detail(detail)
    });
    Ok(cells.collect())
}

async fn connector_cells(page: &PageContext, group: GroupId) -> Result<Vec<Cell>, ApiError> {
    let connectors = page.run(|api| async move { api.connectors.list().await }).await?;
    let of_group = connectors.into_iter().filter(|it| it.groups.contains(&group));
    Ok(of_group.map(|it| named_link("connectors", (it.id, it.name))).collect())
}

const TITLE: Text = Text::new("Available to members", "Für Mitglieder verfügbar");
const INTRO: Text = Text::new(
    "What members get beyond their apps. Change the groups on the page of each entry.",
    "Was Mitglieder über ihre Apps hinaus erhalten. Ändern Sie die Gruppen auf der Seite des \
     jeweiligen Eintrags.",
);
const KIND: Text = Text::new("Kind", "Art");
const PERSONA: Text = Text::new("Persona", "Persona");
const PLUGIN: Text = Text::new("Plugin", "Plugin");
const BASE: Text = Text::new("Knowledge base", "Wissensdatenbank");
const OPERATOR: Text = Text::new("Operator", "Operator");
const CONNECTOR: Text = Text::new("Connector", "Konnektor");
const ALL_PERSONAS: Text =
    Text::new("All personas, {} of this group", "Alle Personas, {} dieser Gruppe");
const ALL_PLUGINS: Text =
    Text::new("All plugins, {} of this group", "Alle Plugins, {} dieser Gruppe");
const ALL_BASES: Text =
    Text::new("All knowledge bases, {} of this group", "Alle Wissensdatenbanken, {} dieser Gruppe");
const ALL_OPERATORS: Text =
    Text::new("All operators, {} of this group", "Alle Operatoren, {} dieser Gruppe");
const ALL_CONNECTORS: Text =
    Text::new("All connectors, {} of this group", "Alle Konnektoren, {} dieser Gruppe");
const SHARED: Text = Text::new("Shared by another group", "Von einer anderen Gruppe geteilt");
const EMPTY: Text = Text::new(
    "No personas, plugins, knowledge bases, operators or connectors.",
    "Keine Personas, Plugins, Wissensdatenbanken, Operatoren und Konnektoren.",
);
