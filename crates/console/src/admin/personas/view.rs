//! Pages of managed personas.

use pia_kernel::PersonaId;
use pia_policy::{PersonaDraft, PersonaEntry};
use pia_web::ApiError;

use super::super::bindings::{
    ACTIVE, CHANGED, GROUPS, INACTIVE, VersionedDraft, time_cell, with_version,
};
use super::bindings::{PLUGINS, bindings_sections};
use super::form::{stored_draft, with_fields};
use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::{Cell, Form, Row, Section, Text, View, format};

/// Returns the list of personas.
pub(super) async fn list_view(page: &PageContext) -> Result<View, ApiError> {
    let entries = page.run(|api| async move { api.personas.list().await }).await?;
    let columns = [
        ("name", common::NAME),
        ("status", common::STATUS),
        ("groups", GROUPS),
        ("plugins", PLUGINS),
        ("changed", CHANGED),
    ];
    let rows = entries.iter().map(|it| entry_row(page, it)).collect();
    let table = page.list(TITLE, EMPTY, &columns, rows);

    Ok(View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .action(page.t(NEW), "admin/personas/new")
        .section(Section::new("personas", "").table(table)))
}

fn entry_row(page: &PageContext, entry: &PersonaEntry) -> Row {
    let PersonaEntry { persona, group_count, plugin_count } = entry;
    let content = &persona.content;
    let emoji = content.emoji.as_deref().unwrap_or_default();
    let name = format!("{emoji} {}", content.name).trim_start().to_owned();

    let status = if persona.is_active {
        Cell::badge(page.t(ACTIVE), Tone::Good)
    } else {
        Cell::badge(page.t(INACTIVE), Tone::Neutral)
    };

    Row::new(vec![
        Cell::link(name, format!("admin/personas/{}", persona.id))
            .detail(content.tagline.clone().unwrap_or_default()),
        status,
        Cell::number(format::number(page.language, *group_count)).sort_value(*group_count),
        Cell::number(format::number(page.language, *plugin_count)).sort_value(*plugin_count),
        time_cell(page, persona.updated_at),
    ])
    .key(persona.id.to_string())
}

/// Returns the page of a new persona.
pub(super) fn new_view(page: &PageContext, draft: PersonaDraft) -> View {
    let form = with_fields(page, Form::new("admin/personas", page.t(CREATE)), draft);
    View::new(page.t(NEW))
        .below(page.t(TITLE), "admin/personas")
        .section(Section::new("contents", "").form(form))
}

/// Returns the page of a persona, with the contents that were typed into a refused form.
pub(super) async fn persona_view(
    page: &PageContext,
    id: PersonaId,
    typed: Option<VersionedDraft<PersonaDraft>>,
) -> Result<View, ApiError> {
    let persona = page.run(|api| async move { api.personas.find(id).await }).await?;
    let path = format!("admin/personas/{id}");
    let name = persona.content.name.clone();
    let contents = typed.unwrap_or_else(|| VersionedDraft {
        version: Some(persona.updated_at),
        draft: stored_draft(persona),
    });
    let save = Form::new(format!("{path}/save"), page.t(common::SAVE));
    let save_version = with_fields(page, with_version(save, contents.version), contents.draft);
    let delete = Form::new(format!("{path}/delete"), page.t(DELETE_PERSONA)).danger();
    let mut view = View::new(name)
        .below(page.t(TITLE), "admin/personas")
        .section(Section::new("contents", page.t(CONTENTS)).form(save_version));
    view.sections.extend(bindings_sections(page, id).await?);

    Ok(view.section(
        Section::new("delete", page.t(DELETE_PERSONA)).intro(page.t(DELETE_HINT)).form(delete),
    ))
}

const TITLE: Text = Text::new("Personas", "Personas");
const INTRO: Text = Text::new(
    "A persona is an assistant with its own instructions. Members of its groups find it in their \
     apps.",
    "Eine Persona ist ein Assistent mit eigenen Anweisungen. Die Mitglieder ihrer Gruppen finden \
     sie in ihren Apps.",
);
const EMPTY: Text = Text::new(
    "There is no persona yet. Create one, then choose its groups.",
    "Es gibt noch keine Persona. Erstellen Sie eine und wählen Sie dann ihre Gruppen.",
);
const NEW: Text = Text::new("New persona", "Neue Persona");
const CREATE: Text = Text::new("Create persona", "Persona erstellen");
const CONTENTS: Text = Text::new("Contents", "Inhalt");
const DELETE_PERSONA: Text = Text::new("Delete persona", "Persona löschen");
const DELETE_HINT: Text = Text::new(
    "Members lose the persona when their apps next synchronise. To keep it for later, make it \
     inactive instead.",
    "Die Mitglieder verlieren die Persona, sobald ihre Apps das nächste Mal synchronisieren. \
     Um sie für später aufzuheben, machen Sie sie stattdessen inaktiv.",
);
