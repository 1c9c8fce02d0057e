//! Members of a group.
//!
//! Administrators see the newest ones and find all in the list of users, which managers do not
//! have: their page lists all members.

use pia_kernel::{GroupId, PageRequest, SortCursor};
use pia_policy::{GroupEntry, MemberFilter};
use pia_web::ApiError;

use crate::admin::users::{
    EMAIL, SEARCH, member_order, search_form, sort_links, user_columns, user_row,
};
use crate::page_context::PageContext;
use crate::ui::view::Link;
use crate::ui::{Field, Form, Section, Table, Text, format};

/// Page of the newest members.
const NEWEST: PageRequest<SortCursor> = PageRequest { after: None, limit: 10 };

/// Returns the section with the newest members of a group, and the form that adds one.
pub(super) async fn newest_section(
    page: &PageContext,
    entry: &GroupEntry,
    path: &str,
) -> Result<Section, ApiError> {
    let group = entry.group.id;
    let filter = MemberFilter { group: Some(group), ..MemberFilter::default() };
    let newest = page.run(|api| async move { api.groups.members(filter, NEWEST).await }).await?;
    let table = Table {
        caption: page.t(MEMBERS).to_owned(),
        columns: user_columns(page),
        rows: newest.items.iter().map(|it| user_row(page, it)).collect(),
        empty: page.t(NO_MEMBERS).to_owned(),
        ..Table::default()
    };

    let email = Field::input("email", page.t(EMAIL), "email", "off", "").hint(page.t(ADD_HINT));
    let add = Form::new(format!("{path}/members"), page.t(ADD_MEMBER)).field(email);
    let mut section = Section::new("members", page.t(MEMBERS)).table(table);
    if newest.next.is_some() {
        let count = format::number(page.language, entry.members);
        let label = page.fill(ALL_MEMBERS, &[&count]);
        let all = Link { label, path: format!("admin/users?group={group}") };
        section = section.intro(page.t(NEWEST_HINT)).links(vec![all]);
    }

    Ok(section.form(add))
}

/// Returns the section with all members of a group, for its managers.
pub(super) async fn section(
    page: &PageContext,
    group: GroupId,
    path: &str,
) -> Result<Section, ApiError> {
    let order = member_order(page);
    let request = page.sorted_paging(order.is_by_text())?;
    let search = page.query("search");
    let filter = MemberFilter { group: Some(group), search, order, ..MemberFilter::default() };
    let members = page.run(|api| async move { api.groups.members(filter, request).await }).await?;

    let rows = members.items.iter().map(|it| {
        let mut row = user_row(page, it);
        // Managers have no page of a user.
        for cell in &mut row.cells {
            cell.path = None;
        }
        row
    });

    let search = search_form(page, SEARCH, path, Vec::new());
    let table = Table {
        caption: page.t(MEMBERS).to_owned(),
        columns: user_columns(page),
        rows: rows.collect(),
        empty: page.t(search.empty_text(NO_MEMBERS)).to_owned(),
        search: Some(search),
        sort_links: sort_links(page),
        ..page.paged_sorted(members.next.as_ref())
    };

    Ok(Section::new("members", page.t(MEMBERS)).table(table))
}

pub(super) const MEMBERS: Text = Text::new("Members", "Mitglieder");
const NO_MEMBERS: Text = Text::new(
    "No members yet. Administrators move users to this group.",
    "Noch keine Mitglieder. Administratoren verschieben Konten in diese Gruppe.",
);
const NEWEST_HINT: Text = Text::new("The ten newest accounts.", "Die zehn neuesten Konten.");
const ALL_MEMBERS: Text = Text::new("All {} members", "Alle {} Mitglieder");
const ADD_MEMBER: Text = Text::new("Move user to this group", "Konto in diese Gruppe verschieben");
const ADD_HINT: Text = Text::new(
    "The user leaves their current group. From the next request they have the models, budgets, \
     policy and knowledge of this one.",
    "Das Konto verlässt seine bisherige Gruppe. Ab der nächsten Anfrage gelten Modelle, Budgets, \
     Richtlinie und Wissen dieser Gruppe.",
);
