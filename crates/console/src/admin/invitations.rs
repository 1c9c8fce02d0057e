//! Invitations to register.

use pia_identity::{DEFAULT_INVITATION_DAYS, Invitation, InvitationEntry, InvitationFilter, Role};
use pia_kernel::{InvitationId, TimeOrder};
use pia_web::{ApiError, PathId, Route};

use super::group_choice::{GroupNames, typed_group};
use super::users::{EMAIL, ROLE, role_name, role_options, search_form, typed_role};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ask_for_proof;
use crate::routes::pages::{form, page};
use crate::texts::common;
use crate::texts::field_errors::field_error;
use crate::ui::view::SectionPart;
use crate::ui::{Cell, Field, Form, Row, Section, Table, Text, View, format};

const PATH: &str = "admin/invitations";
/// Numbers of days to choose from, of those that an invitation may be valid for.
const LIFETIMES: [u16; 4] = [1, DEFAULT_INVITATION_DAYS, 30, 90];

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/admin/invitations", |it| it.to(list)),
        form("/admin/invitations", |it| it.to(create)),
        form("/admin/invitations/{id}/revoke", |it| it.to(revoke)),
    ]
}

async fn list(page: PageContext) -> PageResult {
    let view = list_view(&page, None).await?;
    Ok(page.render(view))
}

async fn create(page: PageContext, form: FormFields) -> PageResult {
    if typed_role(&page, &form).is_ok_and(|it| it != Role::User)
        && let Some(question) = ask_for_proof(&page, &form).await?
    {
        return Ok(question);
    }
    match invite(&page, &form).await {
        Ok(link) => {
            let view = list_view(&page, Some(link)).await?;
            Ok(page.render(view))
        }
        Err(err) => page.refuse_typed(list_view(&page, None).await?, &form, err),
    }
}

async fn invite(page: &PageContext, form: &FormFields) -> Result<String, ApiError> {
    let role = typed_role(page, form)?;
    let group = typed_group(page, form, "group").await?;
    let number_error = || field_error(page.language, "days", common::WHOLE_NUMBER);
    let days = match form.some("days") {
        Some(days) => days.parse::<u16>().map_err(|_err| number_error())?,
        None => DEFAULT_INVITATION_DAYS,
    };
    let invitation = Invitation { email: form.some("email"), role, group, days };
    let by = Some(page.user());

    let created = page
        .run(|api| async move { api.administration.invitations.create(by, invitation).await })
        .await?;
    Ok(created.link.expose().clone())
}

async fn revoke(page: PageContext, PathId(id): PathId, _: FormFields) -> PageResult {
    let by = Some(page.user());
    let is_revoked = page
        .run(|api| async move { api.administration.invitations.revoke(by, InvitationId(id)).await })
        .await?;
    if !is_revoked {
        return Err(ApiError::not_found());
    }
    page.done(PATH, "revoked")
}

async fn list_view(page: &PageContext, link: Option<String>) -> Result<View, ApiError> {
    let request = page.paging()?;
    let filter = requested_filter(page);
    let is_searched = !filter.search.is_empty();
    let entries = page
        .run(|api| async move { api.administration.invitations.page(&filter, request).await })
        .await?;
    let groups = GroupNames::load(page).await?;
    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: [EMAIL, ROLE, GROUP, common::CREATED, EXPIRES].map(|it| page.t(it).into()).into(),
        rows: entries.items.iter().map(|it| invitation_row(page, it, &groups)).collect(),
        empty: page.t(if is_searched { common::NO_MATCH } else { EMPTY }).to_owned(),
        search: Some(search_form(page, EMAIL, PATH, Vec::new())),
        sort_links: page.sort_links(&["", "", "", "created", "expires"]),
        ..page.paged(entries.next)
    };

    let mut view = View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .below(page.t(super::users::TITLE), "admin/users");

    if let Some(link) = link {
        view = view.section(link_section(page, link));
    }

    Ok(view
        .section(Section::new("invitations", "").table(table))
        .section(Section::new("new", page.t(NEW)).form(new_form(page, &groups))))
}

/// Returns the section with the link of a new invitation, which is displayed once.
fn link_section(page: &PageContext, link: String) -> Section {
    let secret = SectionPart::Secret(page.t(LINK).to_owned(), link);
    Section::new("created", page.t(CREATED)).intro(page.t(ONCE)).part(secret)
}

/// Returns the selection that the query names: the newest invitation first unless
/// it names another order.
fn requested_filter(page: &PageContext) -> InvitationFilter {
    let sort = page.query("sort");
    InvitationFilter {
        search: page.query("search").trim().to_owned(),
        is_by_expiry: sort.ends_with("expires"),
        order: if sort == "expires" { TimeOrder::Oldest } else { page.time_order() },
    }
}

fn new_form(page: &PageContext, groups: &GroupNames) -> Form {
    let email = Field::input("email", page.t(EMAIL), "email", "off", "");
    let group = groups.select("group", page.t(GROUP), "", Some(page.t(DEFAULT_GROUP)));

    let lifetimes = LIFETIMES.map(|days| {
        let label = match days {
            1 => page.t(ONE_DAY).to_owned(),
            _ => page.fill(DAYS, &[&days.to_string()]),
        };
        (days.to_string(), label)
    });

    let selected_days = DEFAULT_INVITATION_DAYS.to_string();
    let role = Field::select("role", page.t(ROLE), role_options(page), Role::User.name());
    Form::new(PATH, page.t(INVITE))
        .field(email.hint(page.t(ADDRESS_HINT)).optional())
        .field(role)
        .field(group.hint(page.t(GROUP_HINT)))
        .field(Field::select("days", page.t(VALID_FOR), lifetimes, &selected_days))
}

fn invitation_row(page: &PageContext, entry: &InvitationEntry, groups: &GroupNames) -> Row {
    let email = entry.email.as_deref().unwrap_or(page.t(ANYONE));
    let group = entry.group.map_or(page.t(DEFAULT_GROUP), |it| groups.name(it));
    let revoke = Form::new(format!("{PATH}/{}/revoke", entry.id), page.t(REVOKE));
    Row::new(vec![
        Cell::text(email),
        Cell::text(role_name(page, entry.role.name())),
        Cell::text(group),
        Cell::text(format::day(page.language, entry.at)),
        Cell::text(format::time(page.language, entry.expires_at)),
    ])
    .form(revoke.about(email).danger())
}

const TITLE: Text = Text::new("Invitations", "Einladungen");
const INTRO: Text = Text::new(
    "An invitation lets someone create an account, even if registration is closed.",
    "Mit einer Einladung kann jemand ein Konto erstellen, auch wenn die Registrierung geschlossen \
     ist.",
);
const EMPTY: Text = Text::new(
    "No open invitations. Invite someone below.",
    "Keine offenen Einladungen. Laden Sie unten jemanden ein.",
);
const ANYONE: Text = Text::new("Anyone with the link", "Alle mit dem Link");
const ADDRESS_HINT: Text = Text::new(
    "The invitation is emailed there, and works for this address only. Leave empty for a link \
     that anyone can use once.",
    "Die Einladung geht per E-Mail dorthin und gilt nur für diese Adresse. Leer lassen für einen \
     Link, den eine beliebige Person einmal benutzen kann.",
);
const GROUP: Text = Text::new("Group", "Gruppe");
const DEFAULT_GROUP: Text = Text::new("Default group", "Standardgruppe");
const GROUP_HINT: Text = Text::new(
    "Without a choice, the account joins the default group.",
    "Ohne Auswahl kommt das Konto in die Standardgruppe.",
);
const VALID_FOR: Text = Text::new("Valid for", "Gültig für");
const DAYS: Text = Text::new("{} days", "{} Tage");
const ONE_DAY: Text = Text::new("1 day", "1 Tag");
const EXPIRES: Text = Text::new("Expires", "Läuft ab");
const NEW: Text = Text::new("Invite someone", "Jemanden einladen");
const INVITE: Text = Text::new("Create invitation", "Einladung erstellen");
const REVOKE: Text = Text::new("Revoke", "Widerrufen");
const CREATED: Text = Text::new("Your new invitation", "Ihre neue Einladung");
const LINK: Text = Text::new("Link to register", "Link zum Registrieren");
const ONCE: Text = Text::new(
    "Copy the link now if you want to pass it on. It is not shown again.",
    "Kopieren Sie den Link jetzt, wenn Sie ihn weitergeben möchten. Er wird nicht noch einmal \
     angezeigt.",
);
