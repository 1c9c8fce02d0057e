//! Groups, plugins and knowledge bases of a managed persona.

use pia_kernel::{KnowledgeBaseId, PersonaId, PluginId};
use pia_policy::Feature;
use pia_web::{ApiError, PathId, Route};

use super::super::bindings::{GROUPS, selected_ids};
use super::super::group_choice::{GrantedGroups, GroupNames, typed_groups};
use super::super::policies::licensed_form;
use super::view::persona_view;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::texts::common;
use crate::ui::form::SelectOption;
use crate::ui::{Field, Form, Section, Text};

pub(super) fn routes() -> Vec<Route> {
    vec![
        licensed_form("/admin/personas/{id}/groups", |it| it.to(assign)),
        licensed_form("/admin/personas/{id}/plugins", |it| it.to(bind_plugins)),
        Route {
            feature: Some(Feature::Knowledge),
            ..licensed_form("/admin/personas/{id}/knowledge", |it| it.to(bind_bases))
        },
    ]
}

async fn assign(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let result = assign_to_groups(&page, PersonaId(id), &form).await;
    finish_binding(&page, PersonaId(id), "groups", &form, result).await
}

async fn assign_to_groups(
    page: &PageContext,
    id: PersonaId,
    form: &FormFields,
) -> Result<(), ApiError> {
    let by = page.user();
    let assigned_groups = page.run(|api| async move { api.personas.groups_of(id).await }).await?;
    let groups = typed_groups(page, form, assigned_groups).await?;
    page.run(|api| async move { api.personas.assign(by, id, groups).await }).await
}

async fn bind_plugins(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let by = page.user();
    let id = PersonaId(id);
    let plugins = selected_ids(&form, "pluginIds", PluginId);
    let result = page.run(|api| async move { api.personas.bind(by, id, plugins).await }).await;
    finish_binding(&page, id, "plugins", &form, result).await
}

async fn bind_bases(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let by = page.user();
    let id = PersonaId(id);
    let bases = selected_ids(&form, "knowledgeBaseIds", KnowledgeBaseId);
    let result =
        page.run(|api| async move { api.knowledge.bases.bind(Some(by), id, bases).await }).await;
    finish_binding(&page, id, "knowledge", &form, result).await
}

async fn finish_binding(
    page: &PageContext,
    id: PersonaId,
    section: &str,
    form: &FormFields,
    result: Result<(), ApiError>,
) -> PageResult {
    match result {
        Ok(()) => page.done(&format!("admin/personas/{id}#{section}"), "saved"),
        Err(err) => page.refuse_typed(persona_view(page, id, None).await?, form, err),
    }
}

/// Returns the sections of a persona's page with its groups, plugins and knowledge
/// bases.
pub(super) async fn bindings_sections(
    page: &PageContext,
    id: PersonaId,
) -> Result<[Section; 3], ApiError> {
    Ok([
        groups_section(page, id).await?,
        plugins_section(page, id).await?,
        bases_section(page, id).await?,
    ])
}

async fn groups_section(page: &PageContext, id: PersonaId) -> Result<Section, ApiError> {
    let assigned_groups = page.run(|api| async move { api.personas.groups_of(id).await }).await?;
    let granted_groups = GrantedGroups {
        title: GROUPS,
        intro: GROUPS_INTRO,
        path: format!("admin/personas/{id}/groups"),
        granted: &assigned_groups,
    };
    Ok(GroupNames::load(page).await?.section(page, granted_groups))
}

async fn plugins_section(page: &PageContext, id: PersonaId) -> Result<Section, ApiError> {
    let bound_plugins = page.run(|api| async move { api.personas.plugins_of(id).await }).await?;
    let entries = page.run(|api| async move { api.plugins.list().await }).await?;
    let section = Section::new("plugins", page.t(PLUGINS)).intro(page.t(PLUGINS_INTRO));
    if entries.is_empty() {
        return Ok(section.paragraph(page.t(NO_PLUGINS)));
    }

    let options = entries.into_iter().map(|it| SelectOption {
        is_selected: bound_plugins.contains(&it.plugin.id),
        value: it.plugin.id.to_string(),
        label: it.plugin.content.name,
    });
    let plugins = Field::checks("pluginIds", page.t(PLUGINS), options.collect());

    Ok(section.form(binding_form(page, id, "plugins", plugins)))
}

async fn bases_section(page: &PageContext, id: PersonaId) -> Result<Section, ApiError> {
    let bound_bases =
        page.run(|api| async move { api.knowledge.bases.list_bound(id).await }).await?;
    let entries = page.run(|api| async move { api.knowledge.bases.list().await }).await?;
    let section = Section::new("knowledge", page.t(BASES)).intro(page.t(BASES_INTRO));
    if entries.is_empty() {
        return Ok(section.paragraph(page.t(NO_BASES)));
    }

    let options = entries.into_iter().map(|it| SelectOption {
        is_selected: bound_bases.contains(&it.base.id),
        value: it.base.id.to_string(),
        label: it.base.name,
    });
    let bases = Field::checks("knowledgeBaseIds", page.t(BASES), options.collect());

    Ok(section.form(binding_form(page, id, "knowledge", bases)))
}

fn binding_form(page: &PageContext, id: PersonaId, action: &str, field: Field) -> Form {
    Form::new(format!("admin/personas/{id}/{action}"), page.t(common::SAVE)).field(field)
}

const GROUPS_INTRO: Text = Text::new(
    "Members of the selected groups get this persona.",
    "Die Mitglieder der ausgewählten Gruppen erhalten diese Persona.",
);
pub(super) const PLUGINS: Text = Text::new("Plugins", "Plugins");
const PLUGINS_INTRO: Text = Text::new(
    "The persona uses the selected plugins. Members need them in their group too.",
    "Die Persona nutzt die ausgewählten Plugins. Auch die Gruppen der Mitglieder müssen sie \
     haben.",
);
const NO_PLUGINS: Text = Text::new(
    "There is no plugin yet. Create one under Plugins.",
    "Es gibt noch kein Plugin. Erstellen Sie eines unter „Plugins“.",
);
const BASES: Text = Text::new("Knowledge bases", "Wissensdatenbanken");
const BASES_INTRO: Text = Text::new(
    "Chats with this persona search the selected knowledge bases.",
    "Chats mit dieser Persona durchsuchen die ausgewählten Wissensdatenbanken.",
);
const NO_BASES: Text = Text::new(
    "There is no knowledge base yet. Create one under Knowledge.",
    "Es gibt noch keine Wissensdatenbank. Erstellen Sie eine unter „Wissen“.",
);
