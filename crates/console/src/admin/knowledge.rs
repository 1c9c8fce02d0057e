//! Knowledge bases: of the server for administrators, of their group for managers.

mod base;
mod documents;
mod questions;
mod search;
mod settings;

use pia_identity::Role;
use pia_kernel::KnowledgeBaseId;
use pia_knowledge::{BaseAccess, BaseDraft, BaseRef, KnowledgeBase, KnowledgeBaseEntry};
use pia_policy::Feature;
use pia_web::{Access, ApiError, Route};
use uuid::Uuid;

use super::bindings::day_cell;
use super::group_choice::{GroupNames, typed_group};
use super::settings as console_settings;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::{form, page_for};
use crate::texts::common;
use crate::ui::{Cell, Field, Form, Row, Section, Table, Text, View, format};

type Handler = fn(actix_web::Route) -> actix_web::Route;

/// Roles that manage knowledge bases.
const MANAGERS: &[Role] = &[Role::Admin, Role::KbManager];

pub(super) fn routes() -> Vec<Route> {
    let own = vec![
        manager_page("/admin/knowledge", |it| it.to(list)),
        admin_form("/admin/knowledge", |it| it.to(create)),
    ];
    let pages = [
        own,
        base::routes(),
        documents::routes(),
        questions::routes(),
        search::routes(),
        settings::routes(),
    ];

    pages.into_iter().flatten().collect()
}

/// Returns the row of a page for all who manage knowledge bases.
fn manager_page(path: &'static str, handler: Handler) -> Route {
    page_for(MANAGERS, path, handler)
}

/// Returns the row of a form for all who manage knowledge bases.
fn manager_form(path: &'static str, handler: Handler) -> Route {
    Route { access: Access::ConsolePage(MANAGERS), ..admin_form(path, handler) }
}

/// Returns the row of a form for administrators.
fn admin_form(path: &'static str, handler: Handler) -> Route {
    Route { feature: Some(Feature::Knowledge), ..form(path, handler) }
}

/// Returns whether the caller manages the bases of all groups.
fn is_admin(page: &PageContext) -> bool {
    page.caller.role == Role::Admin
}

/// Returns the bases that the caller manages.
fn access_of_caller(page: &PageContext) -> BaseAccess {
    if is_admin(page) { BaseAccess::Server } else { BaseAccess::Group(page.caller.group) }
}

/// Returns a base, as the caller may manage it.
fn base_ref(page: &PageContext, id: Uuid) -> BaseRef {
    BaseRef { access: access_of_caller(page), id: KnowledgeBaseId(id) }
}

/// Finds a base that the caller manages.
async fn find(page: &PageContext, id: Uuid) -> Result<KnowledgeBaseEntry, ApiError> {
    let base = base_ref(page, id);
    page.run(|api| async move { api.knowledge.documents.base(base).await }).await
}

/// Returns a page about a base, without sections.
fn below_base(page: &PageContext, entry: &KnowledgeBaseEntry, title: Text) -> View {
    let path = format!("admin/knowledge/{}", entry.base.id);
    View::new(page.t(title))
        .below(page.t(TITLE), "admin/knowledge")
        .below(entry.base.name.as_str(), path)
}

async fn list(page: PageContext) -> PageResult {
    let view = list_view(&page, &FormFields::from_pairs(Vec::new())).await?;
    Ok(page.render(view))
}

async fn create(page: PageContext, form: FormFields) -> PageResult {
    match submit(&page, &form).await {
        Ok(base) => page.done(&format!("admin/knowledge/{}", base.id), "created"),
        Err(err) => page.refuse(list_view(&page, &form).await?, err),
    }
}

/// Creates the base of a form.
async fn submit(page: &PageContext, form: &FormFields) -> Result<KnowledgeBase, ApiError> {
    let by = Some(page.user());
    let owner = typed_group(page, form, "groupId").await?;
    let draft = BaseDraft { name: form.some("name"), owner };
    page.run(|api| async move { api.knowledge.bases.create(by, draft).await }).await
}

async fn list_view(page: &PageContext, form: &FormFields) -> Result<View, ApiError> {
    let access = access_of_caller(page);
    let bases = page.run(|api| async move { api.knowledge.documents.bases(access).await }).await?;
    let mut view = View::new(page.t(TITLE)).intro(page.t(INTRO));
    if !page.api.knowledge.is_enabled {
        view = view.section(off_section(page));
    }

    let section = Section::new("bases", "");
    if !is_admin(page) {
        return Ok(view.section(section.table(group_table(page, &bases))));
    }

    let groups = GroupNames::load(page).await?;
    let owner = groups.select("groupId", page.t(OWNER), form.text("groupId"), None);
    let new = Form::new("admin/knowledge", page.t(CREATE))
        .field(Field::text("name", page.t(common::NAME), form.text("name")))
        .field(owner.hint(page.t(OWNER_HINT)));

    Ok(view
        .section(section.table(server_table(page, &bases, &groups)))
        .section(Section::new("new", page.t(NEW)).form(new)))
}

/// Returns a section that says that knowledge is turned off.
fn off_section(page: &PageContext) -> Section {
    console_settings::off_section(page, OFF, "Knowledge:ConnectionString")
}

/// Returns the bases of the caller's group.
fn group_table(page: &PageContext, bases: &[KnowledgeBaseEntry]) -> Table {
    let columns = [("name", common::NAME), ("documents", DOCUMENTS)];
    let rows = bases
        .iter()
        .map(|it| base_row(it, vec![name_cell(it), documents_cell(page, it)]))
        .collect();
    let is_enabled = page.api.knowledge.is_enabled;
    page.list(TITLE, if is_enabled { EMPTY_OF_GROUP } else { NONE }, &columns, rows)
}

/// Returns the bases of all groups.
fn server_table(page: &PageContext, bases: &[KnowledgeBaseEntry], groups: &GroupNames) -> Table {
    let columns = [
        ("name", common::NAME),
        ("group", OWNER),
        ("shared", SHARED_WITH),
        ("documents", DOCUMENTS),
        ("created", common::CREATED),
    ];
    let rows = bases.iter().map(|it| admin_row(page, it, groups)).collect();
    let is_enabled = page.api.knowledge.is_enabled;
    page.list(TITLE, if is_enabled { EMPTY } else { NONE }, &columns, rows)
}

fn name_cell(entry: &KnowledgeBaseEntry) -> Cell {
    Cell::link(entry.base.name.as_str(), format!("admin/knowledge/{}", entry.base.id))
}

fn documents_cell(page: &PageContext, entry: &KnowledgeBaseEntry) -> Cell {
    Cell::number(format::number(page.language, entry.document_count))
        .sort_value(entry.document_count)
}

fn base_row(entry: &KnowledgeBaseEntry, cells: Vec<Cell>) -> Row {
    Row::new(cells).key(entry.base.id.to_string())
}

fn admin_row(page: &PageContext, entry: &KnowledgeBaseEntry, groups: &GroupNames) -> Row {
    let cells = vec![
        name_cell(entry),
        Cell::text(groups.name(entry.base.owner)),
        Cell::text(groups.of(&entry.shared_with)),
        documents_cell(page, entry),
        day_cell(page, entry.base.created_at),
    ];
    base_row(entry, cells)
}

const TITLE: Text = Text::new("Knowledge", "Wissen");
const INTRO: Text = Text::new(
    "The assistant answers members’ questions from the documents in the knowledge bases of their \
     groups.",
    "Der Assistent beantwortet Fragen der Mitglieder aus den Dokumenten in den Wissensdatenbanken \
     ihrer Gruppen.",
);
const OFF: Text = Text::new(
    "Knowledge is turned off on this server: documents are neither added nor searched.",
    "Wissen ist auf diesem Server ausgeschaltet: Dokumente werden weder aufgenommen noch \
     durchsucht.",
);
const EMPTY: Text = Text::new(
    "There is no knowledge base yet. Create one, then add documents.",
    "Es gibt noch keine Wissensdatenbank. Erstellen Sie eine und fügen Sie dann Dokumente hinzu.",
);
const NONE: Text = Text::new("There is no knowledge base.", "Es gibt keine Wissensdatenbank.");
const EMPTY_OF_GROUP: Text = Text::new(
    "Your group has no knowledge base. An administrator can create one.",
    "Ihre Gruppe hat keine Wissensdatenbank. Eine Administratorin oder ein Administrator kann \
     eine erstellen.",
);
const OWNER: Text = Text::new("Group", "Gruppe");
const OWNER_HINT: Text = Text::new(
    "Documents count against this group’s quotas. You can share the knowledge base with other \
     groups later.",
    "Die Dokumente zählen zu den Kontingenten dieser Gruppe. Sie können die Wissensdatenbank \
     später mit anderen Gruppen teilen.",
);
const SHARED_WITH: Text = Text::new("Shared with", "Geteilt mit");
const DOCUMENTS: Text = Text::new("Documents", "Dokumente");
const NEW: Text = Text::new("New knowledge base", "Neue Wissensdatenbank");
const CREATE: Text = Text::new("Create knowledge base", "Wissensdatenbank erstellen");
