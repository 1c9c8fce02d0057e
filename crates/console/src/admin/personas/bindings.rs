//! Groups, plugins and knowledge bases of a managed persona.

use pia_kernel::{KnowledgeBaseId, PersonaId, PluginId};
use pia_policy::Feature;
use pia_web::{ApiError, PathId, Route};

use super::super::bindings::GROUPS;
use super::super::entry_choice::{ChoiceEntries, EntryChoice};
use super::super::group_choice::{GrantedGroups, GroupNames, typed_selection};
use super::super::policies::licensed_form;
use super::view::persona_view;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::texts::common;
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
    let groups = typed_selection(page, form).await?;
    page.run(|api| async move { api.personas.assign(by, id, groups).await }).await
}

async fn bind_plugins(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let result = submit_plugins(&page, PersonaId(id), &form).await;
    finish_binding(&page, PersonaId(id), "plugins", &form, result).await
}

async fn submit_plugins(
    page: &PageContext,
    id: PersonaId,
    form: &FormFields,
) -> Result<(), ApiError> {
    let by = page.user();
    let entries = load_plugins(page, id).await?;
    let plugins = PLUGIN_CHOICE.parse(page, form, &entries)?;
    page.run(|api| async move { api.personas.bind(by, id, plugins).await }).await
}

async fn bind_bases(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let result = submit_bases(&page, PersonaId(id), &form).await;
    finish_binding(&page, PersonaId(id), "knowledge", &form, result).await
}

async fn submit_bases(
    page: &PageContext,
    id: PersonaId,
    form: &FormFields,
) -> Result<(), ApiError> {
    let by = page.user();
    let entries = load_bases(page, id).await?;
    let bases = BASE_CHOICE.parse(page, form, &entries)?;
    page.run(|api| async move { api.knowledge.bases.bind(Some(by), id, bases).await }).await
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
    let entries = load_plugins(page, id).await?;
    let section = Section::new("plugins", page.t(PLUGINS)).intro(page.t(PLUGINS_INTRO));
    if entries.is_empty() {
        return Ok(section.paragraph(page.t(NO_PLUGINS)));
    }
    Ok(section.form(binding_form(page, id, "plugins", PLUGIN_CHOICE.fields(page, entries))))
}

async fn bases_section(page: &PageContext, id: PersonaId) -> Result<Section, ApiError> {
    let entries = load_bases(page, id).await?;
    let section = Section::new("knowledge", page.t(BASES)).intro(page.t(BASES_INTRO));
    if entries.is_empty() {
        return Ok(section.paragraph(page.t(NO_BASES)));
    }
    Ok(section.form(binding_form(page, id, "knowledge", BASE_CHOICE.fields(page, entries))))
}

/// Loads all plugins, and those of a persona.
async fn load_plugins(
    page: &PageContext,
    id: PersonaId,
) -> Result<ChoiceEntries<PluginId>, ApiError> {
    let bound_plugins = page.run(|api| async move { api.personas.plugins_of(id).await }).await?;
    let entries = page.run(|api| async move { api.plugins.list().await }).await?;
    let names = entries.into_iter().map(|it| (it.plugin.id, it.plugin.content.name));
    Ok(ChoiceEntries::new(names.collect(), bound_plugins))
}

/// Loads all knowledge bases, and those of a persona.
async fn load_bases(
    page: &PageContext,
    id: PersonaId,
) -> Result<ChoiceEntries<KnowledgeBaseId>, ApiError> {
    let bound_bases =
        page.run(|api| async move { api.knowledge.bases.list_bound(id).await }).await?;
    let entries = page.run(|api| async move { api.knowledge.bases.list().await }).await?;
    let names = entries.into_iter().map(|it| (it.base.id, it.base.name));
    Ok(ChoiceEntries::new(names.collect(), bound_bases))
}

fn binding_form(page: &PageContext, id: PersonaId, action: &str, fields: Vec<Field>) -> Form {
    let form = Form::new(format!("admin/personas/{id}/{action}"), page.t(common::SAVE));
    fields.into_iter().fold(form, Form::field)
}

const PLUGIN_CHOICE: EntryChoice<PluginId> = EntryChoice {
    id: PluginId,
    checked: "pluginIds",
    label: PLUGINS,
    added: "addedPlugin",
    added_label: Text::new("Another plugin", "Weiteres Plugin"),
    unknown: Text::new("No plugin has this name.", "Kein Plugin hat diesen Namen."),
};
const BASE_CHOICE: EntryChoice<KnowledgeBaseId> = EntryChoice {
    id: KnowledgeBaseId,
    checked: "knowledgeBaseIds",
    label: BASES,
    added: "addedBase",
    added_label: Text::new("Another knowledge base", "Weitere Wissensdatenbank"),
    unknown: Text::new(
        "No knowledge base has this name.",
        "Keine Wissensdatenbank hat diesen Namen.",
    ),
};
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
