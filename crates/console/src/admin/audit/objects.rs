//! Objects of entries: `group:…` is displayed as the group's name, with a link.

use std::collections::{BTreeSet, HashMap};

use pia_knowledge::BaseAccess;
use pia_web::ApiError;
use uuid::Uuid;

use crate::page_context::{PageContext, path_segment};
use crate::ui::{Cell, Text};

/// Pages of the objects of a kind.
enum ObjectPages {
    /// No object has a page.
    None,
    /// Each object has one below this path.
    All(&'static str),
    /// Objects have one below this path as long as [`list_names`] has them.
    Named(&'static str),
}

/// Kinds of objects, by the word before their id.
const KINDS: &[(&str, Text, ObjectPages)] = &[
    ("api-key", Text::new("API key", "API-Schlüssel"), ObjectPages::None),
    ("assignment", Text::new("Assignment", "Auftrag"), ObjectPages::All("admin/assignments")),
    (
        "certificate",
        Text::new("Certificate", "Zertifikat"),
        ObjectPages::Named("admin/certificates"),
    ),
    (
        "client-policy",
        Text::new("Client policy", "Client-Richtlinie"),
        ObjectPages::Named("admin/policies"),
    ),
    ("connector", Text::new("Connector", "Konnektor"), ObjectPages::Named("admin/connectors")),
    ("device", Text::new("Device", "Gerät"), ObjectPages::None),
    ("feedback", Text::new("Feedback", "Rückmeldung"), ObjectPages::All("admin/feedback")),
    ("group", Text::new("Group", "Gruppe"), ObjectPages::Named("admin/groups")),
    ("invitation", Text::new("Invitation", "Einladung"), ObjectPages::None),
    (
        "knowledge-base",
        Text::new("Knowledge base", "Wissensdatenbank"),
        ObjectPages::Named("admin/knowledge"),
    ),
    ("knowledge-document", Text::new("Document", "Dokument"), ObjectPages::None),
    ("licence", Text::new("Licence", "Lizenz"), ObjectPages::None),
    ("mail", Text::new("Email", "E-Mail"), ObjectPages::None),
    ("managed-persona", Text::new("Persona", "Persona"), ObjectPages::Named("admin/personas")),
    ("model", Text::new("Model", "Modell"), ObjectPages::All("admin/models")),
    ("operator", Text::new("Operator", "Operator"), ObjectPages::Named("admin/operators")),
    ("plugin", Text::new("Plugin", "Plugin"), ObjectPages::Named("admin/plugins")),
    ("pod", Text::new("Pod", "Pod"), ObjectPages::None),
    ("scim-token", Text::new("SCIM token", "SCIM-Token"), ObjectPages::None),
    ("setting", Text::new("Setting", "Einstellung"), ObjectPages::All("admin/settings")),
];

/// Returns the names of those objects that still exist, if their kind has names.
pub(super) async fn find_names<'a>(
    page: &PageContext,
    objects: impl Iterator<Item = &'a str>,
) -> Result<HashMap<String, String>, ApiError> {
    let kinds: BTreeSet<&str> = objects.filter_map(|it| Some(it.split_once(':')?.0)).collect();
    let mut names = HashMap::new();

    for kind in kinds {
        let named = list_names(page, kind).await?;
        names.extend(named.into_iter().map(|(id, name)| (format!("{kind}:{id}"), name)));
    }

    Ok(names)
}

/// Returns the ids and names of all objects of a kind; none if the kind has no names.
async fn list_names(page: &PageContext, kind: &str) -> Result<Vec<(String, String)>, ApiError> {
    let names: Vec<_> = match kind {
        "certificate" => {
            let items = page.run(|api| async move { api.certificates.list().await }).await?;
            items.into_iter().map(|it| (it.id.to_string(), it.name)).collect()
        }
        "client-policy" => {
            let items = page.run(|api| async move { api.client_policies.list().await }).await?;
            items.into_iter().map(|it| (it.id.to_string(), it.name)).collect()
        }
        "connector" => {
            let items = page.run(|api| async move { api.connectors.list().await }).await?;
            items.into_iter().map(|it| (it.id.to_string(), it.name)).collect()
        }
        "group" => {
            let items = page.run(|api| async move { api.groups.list().await }).await?;
            items
                .iter()
                .map(|it| (it.group.id.to_string(), it.group.name.as_str().to_owned()))
                .collect()
        }
        "knowledge-base" => {
            let items = page
                .run(|api| async move { api.knowledge.documents.bases(BaseAccess::Server).await })
                .await?;
            items
                .iter()
                .map(|it| (it.base.id.to_string(), it.base.name.as_str().to_owned()))
                .collect()
        }
        "managed-persona" => {
            let items = page.run(|api| async move { api.personas.list().await }).await?;
            items
                .into_iter()
                .map(|it| (it.persona.id.to_string(), it.persona.content.name))
                .collect()
        }
        "operator" => {
            let items = page
                .run(|api| async move { api.assignments.administration.operators().await })
                .await?;
            items.into_iter().map(|it| (it.id.to_string(), it.name)).collect()
        }
        "plugin" => {
            let items = page.run(|api| async move { api.plugins.list().await }).await?;
            items.into_iter().map(|it| (it.plugin.id.to_string(), it.plugin.content.name)).collect()
        }
        _ => Vec::new(),
    };

    Ok(names)
}

/// Returns the cell of an object: its name, or else the end of its id, and its kind.
pub(super) fn object_cell(
    page: &PageContext,
    object: Option<&str>,
    names: &HashMap<String, String>,
) -> Cell {
    let object = object.unwrap_or_default();
    let named_kind = object
        .split_once(':')
        .and_then(|(kind, id)| Some((KINDS.iter().find(|it| it.0 == kind)?, id)));
    let Some(((_, kind, pages), id)) = named_kind else { return Cell::text(object) };

    let name = names.get(object);
    let text = name.cloned().unwrap_or_else(|| shorten_id(id));
    let folder = match pages {
        ObjectPages::None => None,
        ObjectPages::All(folder) => Some(folder),
        ObjectPages::Named(folder) => name.is_some().then_some(folder),
    };

    let cell = match folder {
        Some(folder) => Cell::link(text, format!("{folder}/{}", path_segment(id))),
        None => Cell::text(text),
    };
    cell.detail(page.t(*kind))
}

/// Shortens an id to its last digits, as the first ones are a time. Returns other texts as they
/// are.
pub(super) fn shorten_id(text: &str) -> String {
    match text.rsplit_once('-') {
        Some((_, end)) if Uuid::try_parse(text).is_ok() => format!("…{end}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_shortened_to_their_end() {
        assert_eq!(shorten_id("018f0000-0000-7000-8000-0000000000aa"), "…0000000000aa");
        assert_eq!(shorten_id("Ai:Model-name"), "Ai:Model-name");
    }
}
