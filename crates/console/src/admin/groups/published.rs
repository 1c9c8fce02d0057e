//! Personas, plugins and knowledge bases of a group.

use pia_kernel::GroupId;
use pia_knowledge::BaseAccess;
use pia_web::ApiError;

use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::{Cell, Row, Section, Table, Text};

/// Returns the section with the links to everything that a group has.
pub(super) async fn section(page: &PageContext, group: GroupId) -> Result<Section, ApiError> {
    let personas = page.run(|api| async move { api.personas.names_of_group(group).await }).await?;
    let plugins = page.run(|api| async move { api.plugins.names_of_group(group).await }).await?;
    let bases = page
        .run(|api| async move { api.knowledge.documents.bases(BaseAccess::Server).await })
        .await?;

    let row = |kind: Text, name: Cell| Row::new(vec![Cell::text(page.t(kind)), name]);
    let personas = personas
        .iter()
        .map(|(id, name)| row(PERSONA, Cell::link(name, format!("admin/personas/{id}"))));
    let plugins = plugins
        .iter()
        .map(|(id, name)| row(PLUGIN, Cell::link(name, format!("admin/plugins/{id}"))));
    let bases = bases
        .iter()
        .filter(|it| it.base.owner == group || it.shared_with.contains(&group))
        .map(|it| {
            let detail = if it.base.owner == group { "" } else { page.t(SHARED) };
            let path = format!("admin/knowledge/{}", it.base.id);
            row(BASE, Cell::link(it.base.name.as_str(), path).detail(detail))
        });

    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: [KIND, common::NAME].map(|it| page.t(it).to_owned()).into(),
        rows: personas.chain(plugins).chain(bases).collect(),
        empty: page.t(EMPTY).to_owned(),
        ..Table::default()
    };

    Ok(Section::new("published", page.t(TITLE)).intro(page.t(INTRO)).table(table))
}

const TITLE: Text = Text::new("Personas, plugins and knowledge", "Personas, Plugins und Wissen");
const INTRO: Text = Text::new(
    "What members get beyond their apps. Change the groups on the page of each entry.",
    "Was Mitglieder über ihre Apps hinaus erhalten. Ändern Sie die Gruppen auf der Seite des \
     jeweiligen Eintrags.",
);
const KIND: Text = Text::new("Kind", "Art");
const PERSONA: Text = Text::new("Persona", "Persona");
const PLUGIN: Text = Text::new("Plugin", "Plugin");
const BASE: Text = Text::new("Knowledge base", "Wissensdatenbank");
const SHARED: Text = Text::new("Shared by another group", "Von einer anderen Gruppe geteilt");
const EMPTY: Text = Text::new(
    "No personas, plugins or knowledge bases.",
    "Keine Personas, Plugins und Wissensdatenbanken.",
);
