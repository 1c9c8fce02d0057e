//! Groups of users.

use pia_kernel::GroupId;
use pia_policy::{GroupEntry, MemberFilter};
use pia_web::{PathId, Route};

use super::users::{search_form, user_row};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::{form, group_page, page};
use crate::texts::common;
use crate::ui::{Cell, Field, Form, Row, Section, Table, Text, View, format};

const TITLE: Text = Text::new("Groups", "Gruppen");
const INTRO: Text = Text::new(
    "A group decides which models, budgets, policies and knowledge its members have.",
    "Eine Gruppe bestimmt, welche Modelle, Budgets, Richtlinien und welches Wissen ihre \
     Mitglieder haben.",
);
const MEMBERS: Text = Text::new("Members", "Mitglieder");
const NO_MEMBERS: Text = Text::new(
    "No member matches. Move users into this group from their own pages.",
    "Kein Mitglied passt dazu. Verschieben Sie Konten auf deren Seiten in diese Gruppe.",
);
const DEFAULT: Text = Text::new("Group of new accounts", "Gruppe neuer Konten");
const NEW: Text = Text::new("New group", "Neue Gruppe");
const CREATE: Text = Text::new("Create group", "Gruppe erstellen");
const RENAME: Text = Text::new("Rename", "Umbenennen");
const DELETE_GROUP: Text = Text::new("Delete group", "Gruppe löschen");
const DELETE_HINT: Text = Text::new(
    "Only a group without members and assignments can be deleted.",
    "Nur eine Gruppe ohne Mitglieder und Zuweisungen lässt sich löschen.",
);

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/admin/groups", |it| it.to(list)),
        form("/admin/groups", |it| it.to(create)),
        group_page("/admin/groups/{id}", |it| it.to(show)),
        form("/admin/groups/{id}/rename", |it| it.to(rename)),
        form("/admin/groups/{id}/delete", |it| it.to(delete)),
    ]
}

async fn list(page: PageContext) -> PageResult {
    let view = list_view(&page, "").await?;
    Ok(page.render(view))
}

async fn create(page: PageContext, form: FormFields) -> PageResult {
    let (groups, by) = (page.api.groups.clone(), Some(page.user()));
    let name = form.text("name").to_owned();
    match page.run(async move { groups.create(by, &name).await }).await {
        Ok(group) => page.done(&format!("admin/groups/{}", group.id), "created"),
        Err(err) => {
            let view = list_view(&page, form.text("name")).await?;
            page.refuse(view, err)
        }
    }
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let view = group_view(&page, GroupId(id)).await?;
    Ok(page.render(view))
}

async fn rename(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let (groups, by) = (page.api.groups.clone(), Some(page.user()));
    let name = form.text("name").to_owned();
    match page.run(async move { groups.rename(by, GroupId(id), &name).await }).await {
        Ok(()) => page.done(&format!("admin/groups/{id}"), "saved"),
        Err(err) => page.refuse(group_view(&page, GroupId(id)).await?, err),
    }
}

async fn delete(page: PageContext, PathId(id): PathId, _: FormFields) -> PageResult {
    let (groups, by) = (page.api.groups.clone(), Some(page.user()));
    match page.run(async move { groups.delete(by, GroupId(id)).await }).await {
        Ok(()) => page.done("admin/groups", "deleted"),
        Err(err) => page.refuse(group_view(&page, GroupId(id)).await?, err),
    }
}

async fn list_view(page: &PageContext, name: &str) -> Result<View, pia_web::ApiError> {
    let groups = page.api.groups.clone();
    let entries = page.run(async move { groups.list().await }).await?;
    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: [common::NAME, MEMBERS, common::CREATED].map(|it| page.t(it).into()).into(),
        rows: entries.iter().map(|it| group_row(page, it)).collect(),
        ..Table::default()
    };
    let new = Form::new("admin/groups", page.t(CREATE)).field(Field::text(
        "name",
        page.t(common::NAME),
        name,
    ));
    Ok(View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .section(Section::new("groups", "").table(table))
        .section(Section::new("new", page.t(NEW)).form(new)))
}

fn group_row(page: &PageContext, GroupEntry { group, members }: &GroupEntry) -> Row {
    let detail = if group.is_default { page.t(DEFAULT) } else { "" };
    let name = Cell::link(group.name.as_str(), format!("admin/groups/{}", group.id));
    Row::new(vec![
        name.detail(detail),
        Cell::number(format::number(page.language, *members)),
        Cell::text(format::day(page.language, group.created_at)),
    ])
}

async fn group_view(page: &PageContext, id: GroupId) -> Result<View, pia_web::ApiError> {
    let groups = page.api.groups.clone();
    let (search, request) = (page.query("search"), page.paging());
    let read = async move {
        let entry = groups.find(id).await?;
        let filter = MemberFilter { group: Some(id), search };
        let members = groups.members(filter, request).await?;
        Ok::<_, pia_policy::GroupError>((entry, members))
    };
    let (GroupEntry { group, .. }, members) = page.run(read).await?;
    let path = format!("admin/groups/{id}");
    let table = Table {
        caption: page.t(MEMBERS).to_owned(),
        columns: super::users::columns(page),
        rows: members.items.iter().map(|it| user_row(page, it)).collect(),
        empty: page.t(NO_MEMBERS).to_owned(),
        search: Some(search_form(page, super::users::SEARCH, &path)),
        ..page.paged(members.next)
    };
    let view = View::new(group.name.as_str())
        .below(page.t(TITLE), "admin/groups")
        .section(Section::new("members", page.t(MEMBERS)).table(table));
    if page.caller.role != pia_identity::Role::Admin {
        return Ok(view);
    }
    let rename = Form::new(format!("{path}/rename"), page.t(RENAME)).field(Field::text(
        "name",
        page.t(common::NAME),
        group.name.as_str(),
    ));
    let delete = Form::new(format!("{path}/delete"), page.t(DELETE_GROUP)).danger();
    Ok(view.section(Section::new("rename", page.t(RENAME)).form(rename)).section(
        Section::new("delete", page.t(DELETE_GROUP)).intro(page.t(DELETE_HINT)).form(delete),
    ))
}
