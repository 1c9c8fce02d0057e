//! Users of the server.

mod actions;
mod detail;
mod effective;

use pia_identity::Role;
use pia_kernel::{Cursor, Page, PageRequest, SortCursor, TimeOrder};
use pia_policy::{GroupMember, MemberFilter, MemberOrder};
use pia_web::{ApiError, Paging, Route, SortedPaging};

use super::bindings::day_cell;
use super::group_choice::{GroupNames, UNKNOWN_GROUP, find_group};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::page;
use crate::texts::common;
use crate::texts::field_errors::field_error;
use crate::ui::table::{SortLink, Tone};
use crate::ui::view::Link;
use crate::ui::{Cell, Field, Row, Search, Section, Table, Text, View, format};

/// Path of the list of administrators without a second factor, as they are counted.
pub(super) const ADMINS_WITHOUT_FACTOR: &str = "admin/users?role=admin&status=active&factor=none";
/// Name of the time of entries in the query of their order.
const CREATED: &str = "created";
/// Parameter with the cursor that a page begins after.
const CURSOR: &str = "cursor";
/// Number of rows on a page.
pub(super) const PAGE_ROWS: u16 = 50;

pub(super) fn routes() -> Vec<Route> {
    let list = page("/admin/users", |it| it.to(list));
    [list].into_iter().chain(actions::routes()).collect()
}

async fn list(page: PageContext) -> PageResult {
    let groups = GroupNames::load(&page).await?;
    let mut fields = filter_fields(&page, &groups);
    let filter = requested_filter(&page, &mut fields).await?;
    let members = find_members(&page, filter).await?;
    let search = search_form(&page, SEARCH, "admin/users", fields);
    let users: Vec<_> = members.items.iter().map(|it| it.user).collect();
    let last_uses = page.run(|api| async move { api.groups.last_uses(users).await }).await?;
    let rows = members.items.iter().map(|it| {
        let mut row = user_row(&page, it);
        let last_use = last_uses.get(&it.user);
        row.cells.push(groups.cell(it.group));
        row.cells.push(last_use.map_or_else(Cell::default, |at| day_cell(&page, *at)));
        row
    });

    let mut columns = user_columns(&page);
    columns.extend([GROUP, LAST_USE].map(|it| page.t(it).to_owned()));

    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns,
        rows: rows.collect(),
        empty: page.t(search.empty_text(EMPTY)).to_owned(),
        search: Some(search),
        sort_links: sort_links(&page),
        ..page.paged_sorted(members.next.as_ref())
    };

    let view = View::new(page.t(TITLE)).action(page.t(INVITE), "admin/invitations");

    Ok(page.render(view.section(Section::new("users", "").table(table))))
}

/// Returns the requested page of the selected users; none without a filter.
async fn find_members(
    page: &PageContext,
    filter: Option<MemberFilter>,
) -> Result<Page<GroupMember, SortCursor>, ApiError> {
    let Some(filter) = filter else { return Ok(Page { items: Vec::new(), next: None }) };
    let request = page.sorted_paging(filter.order.is_by_text())?;
    page.run(|api| async move { api.groups.members(filter, request).await }).await
}

/// Returns the filter that the query names; `None` if it names an unknown group, which gives
/// the field of the group an error.
async fn requested_filter(
    page: &PageContext,
    fields: &mut [Field],
) -> Result<Option<MemberFilter>, ApiError> {
    let group_name = page.query("group").trim().to_owned();
    let group = if group_name.is_empty() { None } else { find_group(page, &group_name).await? };
    if group.is_none() && !group_name.is_empty() {
        for field in fields.iter_mut().filter(|it| it.name == "group") {
            page.t(UNKNOWN_GROUP).clone_into(&mut field.error);
        }
        return Ok(None);
    }

    Ok(Some(MemberFilter {
        group,
        search: page.query("search"),
        role: Role::of_name(&page.query("role")).map(|it| it.name().to_owned()),
        is_active: match page.query("status").as_str() {
            "active" => Some(true),
            "deactivated" => Some(false),
            _ => None,
        },
        is_without_factor: page.query("factor") == "none",
        order: member_order(page),
    }))
}

/// Returns the filters of the search form.
fn filter_fields(page: &PageContext, groups: &GroupNames) -> Vec<Field> {
    let all = || ("", page.t(ALL).to_owned());
    let roles = std::iter::once(all()).chain(role_options(page));
    let statuses = [("active", ACTIVE), ("deactivated", DEACTIVATED)];
    let statuses = statuses.map(|(name, text)| (name, page.t(text).to_owned()));
    let factors = [all(), ("none", page.t(WITHOUT_FACTOR).to_owned())];
    let select = |name: &str, label: Text, options: Vec<(&'static str, String)>| {
        Field::select(name, page.t(label), options, &page.query(name)).optional()
    };

    vec![
        groups.select("group", page.t(GROUP), page.query("group").trim(), Some(page.t(ALL))),
        select("role", ROLE, roles.collect()),
        select("status", common::STATUS, std::iter::once(all()).chain(statuses).collect()),
        select("factor", FACTOR, factors.into()),
    ]
}

/// Returns the requested order: the newest account first unless the query names
/// another one.
pub(super) fn member_order(page: &PageContext) -> MemberOrder {
    match page.query("sort").as_str() {
        "email" => MemberOrder::Email,
        "-email" => MemberOrder::EmailDescending,
        "role" => MemberOrder::Role,
        "-role" => MemberOrder::RoleDescending,
        "status" => MemberOrder::Status,
        "-status" => MemberOrder::StatusDescending,
        CREATED => MemberOrder::Oldest,
        _ => MemberOrder::Newest,
    }
}

/// Returns the headings of a table of users.
pub(super) fn user_columns(page: &PageContext) -> Vec<String> {
    [EMAIL, ROLE, common::STATUS, common::CREATED].map(|it| page.t(it).to_owned()).into()
}

/// Returns the links of these headings.
pub(super) fn sort_links(page: &PageContext) -> Vec<Option<SortLink>> {
    page.sort_links(&["email", "role", "status", CREATED])
}

/// Returns the row of a user.
pub(super) fn user_row(page: &PageContext, user: &GroupMember) -> Row {
    let name = user.display_name.clone().unwrap_or_default();
    Row::new(vec![
        Cell::link(&user.email, format!("admin/users/{}", user.user)).detail(name),
        Cell::text(role_name(page, &user.role)),
        status_cell(page, user),
        Cell::text(format::day(page.language, user.created_at)),
    ])
}

/// Returns the status of a user: active or deactivated.
fn status_cell(page: &PageContext, user: &GroupMember) -> Cell {
    if user.is_active {
        Cell::badge(page.t(ACTIVE), Tone::Good)
    } else {
        Cell::badge(page.t(DEACTIVATED), Tone::Neutral)
    }
}

/// Returns the roles as options of a selection.
pub(super) fn role_options(page: &PageContext) -> [(&'static str, String); 4] {
    Role::ALL.map(|it| (it.name(), role_name(page, it.name())))
}

/// Returns the name of a role, by its name in the database.
pub(super) fn role_name(page: &PageContext, role: &str) -> String {
    let text = match Role::of_name(role) {
        Some(Role::User) => Text::new("User", "Benutzer"),
        Some(Role::KbManager) => Text::new("Knowledge manager", "Wissensverwalter"),
        Some(Role::OrgManager) => Text::new("Organisation manager", "Organisationsverwalter"),
        Some(Role::Admin) => Text::new("Administrator", "Administrator"),
        None => return role.to_owned(),
    };
    page.t(text).to_owned()
}

/// Returns the role that a form names.
pub(super) fn typed_role(page: &PageContext, form: &FormFields) -> Result<Role, ApiError> {
    let role = Role::of_name(form.text("role"));
    role.ok_or_else(|| field_error(page.language, "role", UNKNOWN_ROLE))
}

/// Returns a search field and filters above a table of a page.
pub(super) fn search_form(
    page: &PageContext,
    label: Text,
    path: &str,
    filters: Vec<Field>,
) -> Search {
    let value = page.query("search");
    let is_filtered =
        !value.is_empty() || filters.iter().any(|it| !page.query(&it.name).is_empty());
    let reset = Link { label: page.t(common::RESET_FILTERS).to_owned(), path: path.to_owned() };
    Search {
        label: page.t(label).to_owned(),
        reset: is_filtered.then_some(reset),
        fields: [Field::input("search", page.t(label), "search", "off", value).optional()]
            .into_iter()
            .chain(filters)
            .chain(page.sort_field())
            .collect(),
        submit: page.t(common::SEARCH).to_owned(),
    }
}

impl PageContext {
    /// Returns the requested page of a list; an error if its cursor is malformed.
    pub(crate) fn paging(&self) -> Result<PageRequest, ApiError> {
        self.paging_by(CURSOR)
    }

    /// Returns the requested page of a list whose cursor is in this parameter.
    pub(crate) fn paging_by(&self, parameter: &str) -> Result<PageRequest, ApiError> {
        let after = Paging::read_cursor(&self.query(parameter))?;
        Ok(PageRequest { limit: PAGE_ROWS, after })
    }

    /// Returns the requested page of a list that is sorted by a text, or else by a number.
    pub(crate) fn sorted_paging(&self, is_text: bool) -> Result<PageRequest<SortCursor>, ApiError> {
        let after = SortedPaging::read_cursor(&self.query(CURSOR), is_text)?;
        Ok(PageRequest { limit: PAGE_ROWS, after })
    }

    /// Returns the requested order of a list by time: the newest entry first unless
    /// the query names the other order.
    pub(crate) fn time_order(&self) -> TimeOrder {
        if self.query("sort") == CREATED { TimeOrder::Oldest } else { TimeOrder::Newest }
    }

    /// Returns the links of headings, of which that of the time at this position
    /// reverses the order.
    pub(crate) fn time_sort_links(&self, position: usize) -> Vec<Option<SortLink>> {
        let names: Vec<_> = std::iter::repeat_n("", position).chain([CREATED]).collect();
        self.sort_links(&names)
    }

    /// Returns a table with its link to the next page.
    pub(crate) fn paged(&self, next: Option<Cursor>) -> Table {
        self.paged_after(next.map(Paging::format_cursor))
    }

    /// Returns a table of a list that is sorted by a column, with its link to the next
    /// page.
    pub(crate) fn paged_sorted(&self, next: Option<&SortCursor>) -> Table {
        self.paged_after(next.map(SortedPaging::format_cursor))
    }

    fn paged_after(&self, next: Option<String>) -> Table {
        Table {
            first: self.first_page(CURSOR),
            next: next.map(|it| self.query_with(CURSOR, &it)),
            next_label: self.t(common::NEXT_PAGE).to_owned(),
            ..Table::default()
        }
    }
}

pub(super) const TITLE: Text = Text::new("Users", "Konten");
const EMPTY: Text = Text::new(
    "No users yet. Invite people, or let them register.",
    "Noch keine Konten. Laden Sie Personen ein, oder lassen Sie sie sich registrieren.",
);
pub(super) const SEARCH: Text = Text::new("Email address or name", "E-Mail-Adresse oder Name");
pub(super) const EMAIL: Text = Text::new("Email address", "E-Mail-Adresse");
pub(super) const ROLE: Text = Text::new("Role", "Rolle");
const UNKNOWN_ROLE: Text = Text::new("Choose a role.", "Wählen Sie eine Rolle.");
const GROUP: Text = Text::new("Group", "Gruppe");
const LAST_USE: Text = Text::new("Last active", "Zuletzt aktiv");
const INVITE: Text = Text::new("Invitations", "Einladungen");
const ACTIVE: Text = Text::new("Active", "Aktiv");
const DEACTIVATED: Text = Text::new("Deactivated", "Deaktiviert");
const ALL: Text = Text::new("All", "Alle");
const FACTOR: Text = Text::new("Second factor", "Zweiter Faktor");
const WITHOUT_FACTOR: Text = Text::new(
    "Password only: neither second factor nor passkey",
    "Nur Passwort: weder zweiter Faktor noch Passkey",
);
