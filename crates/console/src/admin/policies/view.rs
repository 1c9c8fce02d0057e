//! Pages of client policies.

use pia_kernel::{ClientPolicyId, GroupId, Timestamp};
use pia_policy::{ClientPolicy, ClientPolicyEntry, ClientPolicyError};
use pia_web::ApiError;

use super::super::bindings::{CHANGED, GROUPS, SIZE, time_cell, with_version};
use super::super::group_choice::GroupNames;
use super::document::CHECK;
use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::{Cell, Field, Form, Row, Section, Text, View, format};

/// Contents of a policy, as typed into a form.
pub(super) struct Contents {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) document: String,
    /// Version that the form changes.
    pub(super) version: Option<Timestamp>,
}

impl Default for Contents {
    fn default() -> Self {
        let document = "{\n  \"defaults\": {},\n  \"enforce\": {}\n}".to_owned();
        Self { name: String::new(), description: String::new(), document, version: None }
    }
}

impl From<ClientPolicy> for Contents {
    fn from(ClientPolicy { draft, updated_at, .. }: ClientPolicy) -> Self {
        Self {
            name: draft.name,
            description: draft.description.unwrap_or_default(),
            document: draft.document.into_string(),
            version: Some(updated_at),
        }
    }
}

/// Returns the list of policies.
pub(super) async fn list_view(page: &PageContext) -> Result<View, ApiError> {
    let entries = page.run(|api| async move { api.client_policies.list().await }).await?;
    let columns =
        [("name", common::NAME), ("groups", GROUPS), ("size", SIZE), ("changed", CHANGED)];
    let rows = entries.iter().map(|it| entry_row(page, it)).collect();
    let table = page.list(TITLE, EMPTY, &columns, rows);

    Ok(View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .action(page.t(NEW), "admin/policies/new")
        .section(Section::new("policies", "").table(table)))
}

fn entry_row(page: &PageContext, entry: &ClientPolicyEntry) -> Row {
    let size = u64::try_from(entry.document_bytes).unwrap_or(u64::MAX);
    let name = Cell::link(&entry.name, format!("admin/policies/{}", entry.id));
    Row::new(vec![
        name.detail(entry.description.clone().unwrap_or_default()),
        Cell::number(format::number(page.language, entry.group_count))
            .sort_value(entry.group_count),
        Cell::number(format::bytes(page.language, size)).sort_value(size),
        time_cell(page, entry.updated_at),
    ])
    .key(entry.id.to_string())
}

/// Returns the page of a new policy.
pub(super) fn new_view(page: &PageContext, contents: &Contents) -> View {
    let form = with_fields(page, Form::new("admin/policies", page.t(CREATE)), contents);
    View::new(page.t(NEW))
        .below(page.t(TITLE), "admin/policies")
        .section(Section::new("contents", "").form(form))
}

fn with_fields(page: &PageContext, form: Form, contents: &Contents) -> Form {
    let description =
        Field::lines("description", page.t(common::DESCRIPTION), &contents.description);
    form.field(Field::text("name", page.t(common::NAME), &contents.name))
        .field(description.rows(2).hint(page.t(DESCRIPTION_HINT)).optional())
        .field(
            Field::lines("document", page.t(DOCUMENT), &contents.document)
                .rows(20)
                .hint(page.t(DOCUMENT_HINT))
                .json(page.t(common::INVALID_JSON))
                .checked_by(format!("{}{CHECK}", page.root()))
                .optional(),
        )
}

/// Returns the page of a policy, with what was typed into its form, if that was
/// refused.
pub(super) async fn policy_view(
    page: &PageContext,
    id: ClientPolicyId,
    typed: Option<Contents>,
) -> Result<View, ApiError> {
    let (policy, groups_with_policy) = page
        .run(|api| async move {
            let policy = api.client_policies.find(id).await?;
            Ok::<_, ClientPolicyError>((policy, api.client_policies.groups_of(id).await?))
        })
        .await?;
    let ids_with_policy: Vec<_> = groups_with_policy.iter().map(|it| it.0).collect();
    let other_groups = GroupNames::load(page).await?.without(&ids_with_policy);

    let path = format!("admin/policies/{id}");
    let name = policy.draft.name.clone();
    let contents = typed.unwrap_or_else(|| policy.into());
    let save = Form::new(format!("{path}/save"), page.t(common::SAVE));
    let save_version = with_version(with_fields(page, save, &contents), contents.version);
    let delete = Form::new(format!("{path}/delete"), page.t(DELETE_POLICY)).danger();
    Ok(View::new(name)
        .below(page.t(TITLE), "admin/policies")
        .action(page.t(VERSIONS), format!("{path}/versions"))
        .section(Section::new("contents", page.t(CONTENTS)).form(save_version))
        .section(groups_section(page, &path, groups_with_policy, &other_groups))
        .section(
            Section::new("delete", page.t(DELETE_POLICY)).intro(page.t(DELETE_HINT)).form(delete),
        ))
}

fn groups_section(
    page: &PageContext,
    path: &str,
    groups_with_policy: Vec<(GroupId, String)>,
    other_groups: &GroupNames,
) -> Section {
    let row = |(id, name): (GroupId, String)| {
        let withdraw = Form::new(format!("{path}/withdraw"), page.t(WITHDRAW))
            .about(&name)
            .hidden("group", id.to_string());
        Row::new(vec![Cell::link(name, format!("admin/groups/{id}"))])
            .key(id.to_string())
            .form(withdraw)
    };

    let rows = groups_with_policy.into_iter().map(row).collect();
    let table = page.list(GROUPS, NO_GROUPS, &[("name", common::NAME)], rows);
    let section = Section::new("groups", page.t(GROUPS)).intro(page.t(GROUPS_INTRO)).table(table);
    if other_groups.is_empty() {
        return section;
    }

    let group = other_groups.select("group", page.t(GROUP), "", None).hint(page.t(GROUP_HINT));

    section.form(Form::new(format!("{path}/publish"), page.t(PUBLISH)).field(group))
}

pub(super) const TITLE: Text = Text::new("Client policies", "Client-Richtlinien");
const INTRO: Text = Text::new(
    "A client policy sets defaults in the apps of a group’s members, or enforces settings there.",
    "Eine Client-Richtlinie gibt in den Apps der Mitglieder einer Gruppe Standardwerte vor oder \
     erzwingt Einstellungen.",
);
const EMPTY: Text = Text::new(
    "There is no client policy yet. Create one, then publish it to groups.",
    "Es gibt noch keine Client-Richtlinie. Erstellen Sie eine und veröffentlichen Sie sie dann \
     für Gruppen.",
);
const NEW: Text = Text::new("New policy", "Neue Richtlinie");
const CREATE: Text = Text::new("Create policy", "Richtlinie erstellen");
const CONTENTS: Text = Text::new("Contents", "Inhalt");
pub(super) const DOCUMENT: Text = Text::new("Document", "Dokument");
const DOCUMENT_HINT: Text = Text::new(
    "A JSON object with the sections “defaults” (members may change them) and “enforce” (they \
     may not), at most 64 KiB.",
    "Ein JSON-Objekt mit den Abschnitten „defaults“ (von Mitgliedern änderbar) und „enforce“ \
     (nicht änderbar), höchstens 64 KiB.",
);
const DESCRIPTION_HINT: Text =
    Text::new("Only administrators see it.", "Nur für Administratoren sichtbar.");
const GROUPS_INTRO: Text = Text::new(
    "Members of these groups get this policy. A group has one policy at most.",
    "Die Mitglieder dieser Gruppen erhalten diese Richtlinie. Eine Gruppe hat höchstens eine.",
);
const NO_GROUPS: Text = Text::new(
    "No group has this policy. Publish it below.",
    "Keine Gruppe hat diese Richtlinie. Veröffentlichen Sie sie unten.",
);
const GROUP: Text = Text::new("Group", "Gruppe");
const GROUP_HINT: Text = Text::new(
    "If the group has another policy, this one replaces it.",
    "Hat die Gruppe eine andere Richtlinie, so wird sie durch diese ersetzt.",
);
const PUBLISH: Text = Text::new("Publish to group", "Für Gruppe veröffentlichen");
const WITHDRAW: Text = Text::new("Remove", "Entfernen");
pub(super) const VERSIONS: Text = Text::new("Versions", "Versionen");
const DELETE_POLICY: Text = Text::new("Delete policy", "Richtlinie löschen");
const DELETE_HINT: Text = Text::new(
    "The policy and all its versions are deleted. This can’t be undone. Remove the policy from its \
     groups first.",
    "Die Richtlinie und alle ihre Versionen werden gelöscht. Das lässt sich nicht rückgängig \
     machen. Entfernen Sie sie zuerst von ihren Gruppen.",
);
