//! Groups, plugins and knowledge bases of a managed persona.

use pia_kernel::{GroupId, KnowledgeBaseId, PersonaId, PluginId};
use pia_policy::Feature;
use pia_web::{ApiError, PathId, Route};

use super::super::bindings::{GROUPS, group_checks, selected_ids};
use super::super::policies::licensed_form;
use super::view::{TypedPersona, persona_view};
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
    let by = page.user();
    let id = PersonaId(id);
    let groups = selected_ids(&form, "groupIds", GroupId);
    let typed = TypedPersona { groups: Some(groups.clone()), ..TypedPersona::default() };
    let result = page.run(|api| async move { api.personas.assign(by, id, groups).await }).await;
    finish_binding(&page, id, "groups", result, typed).await
}

async fn bind_plugins(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let by = page.user();
    let id = PersonaId(id);
    let plugins = selected_ids(&form, "pluginIds", PluginId);
    let typed = TypedPersona { plugins: Some(plugins.clone()), ..TypedPersona::default() };
    let result = page.run(|api| async move { api.personas.bind(by, id, plugins).await }).await;
    finish_binding(&page, id, "plugins", result, typed).await
}

async fn bind_bases(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let by = page.user();
    let id = PersonaId(id);
    let bases = selected_ids(&form, "knowledgeBaseIds", KnowledgeBaseId);
    let typed = TypedPersona { bases: Some(bases.clone()), ..TypedPersona::default() };
    let result =
        page.run(|api| async move { api.knowledge.bases.bind(Some(by), id, bases).await }).await;
    finish_binding(&page, id, "knowledge", result, typed).await
}

async fn finish_binding(
    page: &PageContext,
    id: PersonaId,
    section: &str,
    result: Result<(), ApiError>,
    typed: TypedPersona,
) -> PageResult {
    match result {
        Ok(()) => page.done(&format!("admin/personas/{id}#{section}"), "saved"),
        Err(err) => page.refuse(persona_view(page, id, typed).await?, err),
    }
}

/// Returns the sections of a persona's page with its groups, plugins and knowledge
/// bases, as typed into a refused form or else as stored.
pub(super) async fn bindings_sections(
    page: &PageContext,
    id: PersonaId,
    typed: TypedPersona,
) -> Result<[Section; 3], ApiError> {
    Ok([
        groups_section(page, id, typed.groups).await?,
        plugins_section(page, id, typed.plugins).await?,
        bases_section(page, id, typed.bases).await?,
    ])
}

async fn groups_section(
    page: &PageContext,
    id: PersonaId,
    typed_groups: Option<Vec<GroupId>>,
) -> Result<Section, ApiError> {
    let assigned_groups = page.run(|api| async move { api.personas.groups_of(id).await }).await?;
    let groups = group_checks(page, &typed_groups.unwrap_or(assigned_groups)).await?;
    let section = Section::new("groups", page.t(GROUPS)).intro(page.t(GROUPS_INTRO));
    Ok(section.form(binding_form(page, id, "groups", groups)))
}

async fn plugins_section(
    page: &PageContext,
    id: PersonaId,
    typed_plugins: Option<Vec<PluginId>>,
) -> Result<Section, ApiError> {
    let bound_plugins = page.run(|api| async move { api.personas.plugins_of(id).await }).await?;
    let selected_plugins = typed_plugins.unwrap_or(bound_plugins);
    let entries = page.run(|api| async move { api.plugins.list().await }).await?;
    let section = Section::new("plugins", page.t(PLUGINS)).intro(page.t(PLUGINS_INTRO));
    if entries.is_empty() {
        return Ok(section.paragraph(page.t(NO_PLUGINS)));
    }

    let options = entries.into_iter().map(|it| SelectOption {
        is_selected: selected_plugins.contains(&it.plugin.id),
        value: it.plugin.id.to_string(),
        label: it.plugin.content.name,
    });
    let plugins = Field::checks("pluginIds", page.t(PLUGINS), options.collect());

    Ok(section.form(binding_form(page, id, "plugins", plugins)))
}

async fn bases_section(
    page: &PageContext,
    id: PersonaId,
    typed_bases: Option<Vec<KnowledgeBaseId>>,
) -> Result<Section, ApiError> {
    let bound_bases =
        page.run(|api| async move { api.knowledge.bases.list_bound(id).await }).await?;
    let selected_bases = typed_bases.unwrap_or(bound_bases);
    let entries = page.run(|api| async move { api.knowledge.bases.list().await }).await?;
    let section = Section::new("knowledge", page.t(BASES)).intro(page.t(BASES_INTRO));
    if entries.is_empty() {
        return Ok(section.paragraph(page.t(NO_BASES)));
    }

    let options = entries.into_iter().map(|it| SelectOption {
        is_selected: selected_bases.contains(&it.base.id),
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
