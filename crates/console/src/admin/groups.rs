//! Groups of users.

mod members;
mod model_choice;
mod published;
mod settings;
mod top_members;
mod top_ups;

use pia_assistant::{CreditView, MemberBudget, Micros};
use pia_http::HttpError;
use pia_identity::Role;
use pia_kernel::{BudgetPeriod, ClientPolicyId, GroupId};
use pia_policy::{AssignedPolicy, ClientPolicyEntry, Feature, GroupEntry, GroupSettings};
use pia_web::{ApiError, FieldError, PathId, Route};
use uuid::Uuid;

use self::members::MEMBERS;
use super::bindings::day_cell;
use super::person_filter::{UNKNOWN_PERSON, find_user};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::routes::pages::{form, group_page, page, page_for};
use crate::texts::common;
use crate::texts::field_errors::{field_error, or_gone};
use crate::ui::view::Link;
use crate::ui::{Cell, Field, Form, Row, Section, Table, Text, View, format};

/// Path of the list, and of the form that creates a group.
const PATH: &str = "admin/groups";
/// Name of the field with the total of top-ups when the form was opened.
const TOP_UPS: &str = "topUps";

pub(super) fn routes() -> Vec<Route> {
    let changing = |route| Route { feature: Some(Feature::GroupManagement), ..route };
    vec![
        page("/admin/groups", |it| it.to(list)),
        changing(form("/admin/groups", |it| it.to(create))),
        page_for(&[Role::Admin, Role::OrgManager], "/admin/my-group", |it| it.to(show_own)),
        group_page("/admin/groups/{id}", |it| it.to(show)),
        changing(form("/admin/groups/{id}/members", |it| it.to(add_member))),
        changing(form("/admin/groups/{id}/settings", |it| it.to(change))),
        changing(form("/admin/groups/{id}/policy", |it| it.to(assign))),
        form("/admin/groups/{id}/top-up", |it| it.to(top_up)),
        changing(form("/admin/groups/{id}/rename", |it| it.to(rename))),
        changing(form("/admin/groups/{id}/delete", |it| it.to(delete))),
    ]
}

/// Redirects organisation managers to the page of their group.
async fn show_own(page: PageContext) -> PageResult {
    page.redirect(&format!("admin/groups/{}", page.caller.group))
}

async fn change(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let changed = change_settings(&page, GroupId(id), &form).await;
    finish(&page, GroupId(id), &form, changed, "saved").await
}

async fn change_settings(
    page: &PageContext,
    group: GroupId,
    form: &FormFields,
) -> Result<(), ApiError> {
    let by = Some(page.user());
    let previous = page.run(|api| async move { api.groups.settings(group).await }).await?;
    let changes = settings::changes(page, form, &previous)?;
    if changes.is_empty() {
        return Ok(());
    }
    page.run(|api| async move { api.groups.change_settings(by, group, &changes).await }).await?;
    Ok(())
}

async fn assign(page: PageContext, PathId(id): PathId, ProvedForm(form): ProvedForm) -> PageResult {
    let by = page.user();
    let policy =
        form.some("policy").map(|it| ClientPolicyId(Uuid::try_parse(&it).unwrap_or_default()));
    let assigned = page
        .run(|api| async move { api.client_policies.assign(by, GroupId(id), policy).await })
        .await
        .map_err(|err| or_gone(page.language, err, "policy", POLICY_GONE));
    finish(&page, GroupId(id), &form, assigned, "saved").await
}

async fn add_member(
    page: PageContext,
    PathId(id): PathId,
    ProvedForm(form): ProvedForm,
) -> PageResult {
    let moved = move_to_group(&page, GroupId(id), form.text("email").trim()).await;
    finish(&page, GroupId(id), &form, moved, "moved").await
}

async fn move_to_group(page: &PageContext, group: GroupId, email: &str) -> Result<(), ApiError> {
    let by = Some(page.user());
    let Some(user) = find_user(page, email).await? else {
        let field = "email".to_owned();
        let message = page.t(UNKNOWN_PERSON).to_owned();
        return Err(ApiError::invalid(vec![FieldError { field, code: "malformed", message }]));
    };
    page.run(|api| async move { api.groups.move_member(by, user, group).await }).await
}

async fn top_up(page: PageContext, PathId(id): PathId, ProvedForm(form): ProvedForm) -> PageResult {
    let by = page.user();
    let number = form.text("credits").parse().unwrap_or_default();
    // The total that the form was opened with: a second click finds another one.
    let expected = form.text(TOP_UPS).parse().ok().map(Micros);
    let added = page
        .run(|api| async move { api.credits.top_up(by, GroupId(id), number, expected).await })
        .await
        .map_err(|err| {
            let (code, _) = err.code_and_message();
            if code == "precondition_failed" {
                field_error(page.language, "credits", ADDED_MEANWHILE)
            } else {
                err
            }
        });
    finish(&page, GroupId(id), &form, added, "topped-up").await
}

/// Confirms the change of a group, or renders the page with the error.
async fn finish(
    page: &PageContext,
    group: GroupId,
    form: &FormFields,
    result: Result<(), ApiError>,
    done: &str,
) -> PageResult {
    match result {
        Ok(()) => page.done(&format!("admin/groups/{group}"), done),
        Err(err) => page.refuse_typed(group_view(page, group).await?, form, err),
    }
}

async fn list(page: PageContext) -> PageResult {
    let view = list_view(&page, "").await?;
    Ok(page.render(view))
}

async fn create(page: PageContext, form: FormFields) -> PageResult {
    let by = Some(page.user());
    let name = form.text("name").to_owned();
    match page.run(|api| async move { api.groups.create(by, &name).await }).await {
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
    let by = Some(page.user());
    let name = form.text("name").to_owned();
    let renamed =
        page.run(|api| async move { api.groups.rename(by, GroupId(id), &name).await }).await;
    finish(&page, GroupId(id), &form, renamed, "saved").await
}

async fn delete(page: PageContext, PathId(id): PathId, _: ProvedForm) -> PageResult {
    let by = Some(page.user());
    match page.run(|api| async move { api.groups.delete(by, GroupId(id)).await }).await {
        Ok(()) => page.done(PATH, "deleted"),
        Err(err) => page.refuse(group_view(&page, GroupId(id)).await?, err),
    }
}

async fn list_view(page: &PageContext, name: &str) -> Result<View, ApiError> {
    let entries = page.run(|api| async move { api.groups.list().await }).await?;
    let columns = [("name", common::NAME), ("members", MEMBERS), ("created", common::CREATED)];
    let rows = entries.iter().map(|it| group_row(page, it)).collect();
    // The default group cannot be deleted: the list is never empty.
    let table = page.list(TITLE, common::NO_MATCH, &columns, rows);

    let new =
        Form::new(PATH, page.t(CREATE)).field(Field::text("name", page.t(common::NAME), name));

    let mut view = View::new(page.t(TITLE)).intro(page.t(INTRO));
    if page.licence_refusal(PATH).is_none() {
        // The form is below a long list.
        view = view.action(page.t(NEW), format!("{PATH}#new"));
    }

    Ok(view
        .section(Section::new("groups", "").table(table))
        .section(Section::new("new", page.t(NEW)).form(new)))
}

fn group_row(page: &PageContext, GroupEntry { group, members }: &GroupEntry) -> Row {
    let detail = if group.is_default { page.t(DEFAULT) } else { "" };
    let name = Cell::link(group.name.as_str(), format!("admin/groups/{}", group.id));
    Row::new(vec![
        name.detail(detail),
        Cell::number(format::number(page.language, *members)).sort_value(*members),
        day_cell(page, group.created_at),
    ])
    .key(group.id.to_string())
}

/// Group with all data that the page displays.
struct GroupDetail {
    entry: GroupEntry,
    settings: GroupSettings,
    policy: AssignedPolicy,
    /// Policies to choose from, for administrators.
    policies: Vec<ClientPolicyEntry>,
    credits: CreditView,
    /// Total of its top-ups, used or not.
    top_ups: Micros,
    /// Members who used most of each budget.
    top_members: Vec<(BudgetPeriod, Vec<MemberBudget>)>,
}

async fn load(page: &PageContext, id: GroupId) -> Result<GroupDetail, ApiError> {
    let user = page.user();
    let loads_policies = is_admin(page);
    page.run(|api| async move {
        let entry = api.groups.find(id).await?;
        let policies = if loads_policies { api.client_policies.list().await? } else { Vec::new() };
        Ok::<_, HttpError>(GroupDetail {
            entry,
            settings: api.groups.settings(id).await?,
            policy: api.client_policies.of_group(id).await?,
            policies,
            credits: api.credits.view(user, id, None).await?,
            top_ups: api.credits.top_ups(id).await?,
            top_members: api.credits.top_members(id).await?,
        })
    })
    .await
}

fn is_admin(page: &PageContext) -> bool {
    page.caller.role == Role::Admin
}

async fn group_view(page: &PageContext, id: GroupId) -> Result<View, ApiError> {
    let detail = load(page, id).await?;
    let path = format!("admin/groups/{id}");
    let mut view = View::new(detail.entry.group.name.as_str());
    if is_admin(page) {
        view = view.below(page.t(TITLE), PATH);
    }

    if let Some(usage_section) = settings::usage_section(page, &detail.credits, &detail.top_members)
    {
        view = view.section(usage_section);
    }

    for section in top_members::sections(page, &detail.top_members).await? {
        view = view.section(section);
    }

    let may_change = is_admin(page) && page.licence_refusal(&format!("{path}/settings")).is_none();
    view = if may_change {
        view.section(settings::section(page, &detail.settings, &path))
            .section(policy_section(page, &detail, &path))
    } else {
        view.section(settings::facts_section(page, &detail.settings))
            .section(policy_facts(page, &detail))
    };
    if !is_admin(page) {
        return Ok(view.section(members::section(page, id, &path).await?));
    }

    view = view
        .section(top_up_section(page, &detail, &path, top_ups::table(page, id).await?))
        .section(published::section(page, id).await?)
        .section(members::newest_section(page, &detail.entry, &path).await?);
    if may_change {
        view = view.section(rename_section(page, &detail, &path));
    }

    Ok(view.section(delete_section(page, &path)))
}

fn policy_facts(page: &PageContext, detail: &GroupDetail) -> Section {
    let policy = detail.policy.as_ref().map_or(page.t(NO_POLICY), |it| it.draft.name.as_str());
    Section::new("policy", page.t(POLICY)).facts([(page.t(POLICY), Cell::text(policy))])
}

fn policy_section(page: &PageContext, detail: &GroupDetail, path: &str) -> Section {
    let policies = detail.policies.iter().map(|it| (it.id.to_string(), it.name.as_str()));
    let options = [(String::new(), page.t(NO_POLICY))].into_iter().chain(policies);
    let current = detail.policy.as_ref().map(|it| it.id.to_string()).unwrap_or_default();
    let select = Field::select("policy", page.t(POLICY), options, &current).optional();
    let form = Form::new(format!("{path}/policy"), page.t(ASSIGN)).field(select);
    Section::new("policy", page.t(POLICY)).intro(page.t(POLICY_INTRO)).form(form)
}

fn top_up_section(page: &PageContext, detail: &GroupDetail, path: &str, latest: Table) -> Section {
    let credits = Field::input("credits", page.t(TOP_UP_CREDITS), "number", "off", "");
    let total = detail.top_ups.0.to_string();
    let form = Form::new(format!("{path}/top-up"), page.t(TOP_UP));
    let form = form.field(credits).hidden(TOP_UPS, total);
    let log = Link {
        label: page.t(TOP_UP_LOG).to_owned(),
        path: format!("admin/audit?action={}", top_ups::ACTION),
    };
    Section::new("top-up", page.t(TOP_UP))
        .intro(page.t(TOP_UP_INTRO))
        .form(form)
        .table(latest)
        .links(vec![log])
}

fn rename_section(page: &PageContext, detail: &GroupDetail, path: &str) -> Section {
    let name = Field::text("name", page.t(common::NAME), detail.entry.group.name.as_str());
    let form = Form::new(format!("{path}/rename"), page.t(RENAME)).field(name);
    Section::new("rename", page.t(RENAME)).form(form)
}

fn delete_section(page: &PageContext, path: &str) -> Section {
    let form = Form::new(format!("{path}/delete"), page.t(DELETE_GROUP)).danger();
    Section::new("delete", page.t(DELETE_GROUP)).intro(page.t(DELETE_HINT)).form(form)
}

const TITLE: Text = Text::new("Groups", "Gruppen");
const INTRO: Text = Text::new(
    "A group decides which models, budgets, policies and knowledge its members have.",
    "Eine Gruppe bestimmt, welche Modelle, Budgets, Richtlinien und welches Wissen ihre \
     Mitglieder haben.",
);
const DEFAULT: Text = Text::new("Default group", "Standardgruppe");
const NEW: Text = Text::new("New group", "Neue Gruppe");
const CREATE: Text = Text::new("Create group", "Gruppe erstellen");
const RENAME: Text = Text::new("Rename group", "Gruppe umbenennen");
const DELETE_GROUP: Text = Text::new("Delete group", "Gruppe löschen");
const DELETE_HINT: Text = Text::new(
    "You can delete a group once it has no members, invitations, personas, plugins or knowledge \
     bases. This can’t be undone.",
    "Sie können eine Gruppe löschen, sobald sie keine Mitglieder, Einladungen, Personas, Plugins \
     und Wissensdatenbanken hat. Das lässt sich nicht rückgängig machen.",
);

const POLICY: Text = Text::new("Client policy", "Client-Richtlinie");
const POLICY_INTRO: Text = Text::new(
    "Settings that the members’ apps apply with their next synchronisation.",
    "Einstellungen, die die Apps der Mitglieder bei der nächsten Synchronisierung übernehmen.",
);
const NO_POLICY: Text = Text::new("None", "Keine");
const POLICY_GONE: Text =
    Text::new("This policy does not exist any more.", "Diese Richtlinie gibt es nicht mehr.");
const ASSIGN: Text = Text::new("Assign policy", "Richtlinie zuweisen");
const TOP_UP: Text = Text::new("Add credits", "Credits hinzufügen");
const TOP_UP_INTRO: Text = Text::new(
    "Added credits do not expire. Members use them once their weekly credits are used up.",
    "Hinzugefügte Credits verfallen nicht. Mitglieder verbrauchen sie, sobald ihre Wochen-Credits \
     aufgebraucht sind.",
);
const ADDED_MEANWHILE: Text = Text::new(
    "Credits were added in the meantime. Check the latest top-ups before you add more.",
    "Inzwischen wurden Credits hinzugefügt. Prüfen Sie die letzten Aufladungen, bevor Sie weitere \
     hinzufügen.",
);
const TOP_UP_CREDITS: Text = Text::new("Credits", "Credits");
const TOP_UP_LOG: Text =
    Text::new("All top-ups in the audit log", "Alle Aufladungen im Audit-Protokoll");
