//! Operators: skills that administrators grant to groups.

mod show;
mod skill_form;
mod webhook;

use pia_assignments::{Operator, OperatorDraft, OperatorError, OperatorField};
use pia_http::HttpError;
use pia_kernel::OperatorId;
use pia_policy::Feature;
use pia_web::{ApiError, FieldError, Route};

use super::group_choice::{GROUPS, GroupNames};
use super::{assignments, settings};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::{form, page};
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::{Cell, Field, Form, Row, Section, Text, View, format};

type Handler = fn(actix_web::Route) -> actix_web::Route;

/// Body limit of a form with a skill.
const SKILL_BODY: usize = 4 * 1024 * 1024;

pub(super) fn routes() -> Vec<Route> {
    let own = vec![
        page("/admin/operators", |it| it.to(list)),
        page("/admin/operators/new", |it| it.to(new)),
        form_with_skill("/admin/operators", |it| it.to(create)),
    ];
    [own, show::routes(), webhook::routes()].into_iter().flatten().collect()
}

/// Returns the row of a form, for which the licence must include the AI proxy.
fn licensed_form(path: &'static str, handler: Handler) -> Route {
    Route { feature: Some(Feature::AiProxy), ..form(path, handler) }
}

/// Returns the row of such a form that contains a skill.
fn form_with_skill(path: &'static str, handler: Handler) -> Route {
    Route { body_limit: SKILL_BODY, ..licensed_form(path, handler) }
}

async fn list(page: PageContext) -> PageResult {
    let operators =
        page.run(|api| async move { api.assignments.administration.operators().await }).await?;
    let groups = GroupNames::load(&page).await?;
    let columns = [
        ("name", common::NAME),
        ("skill", SKILL),
        ("steps", STEPS),
        ("origin", ORIGIN),
        ("groups", GROUPS),
        ("status", common::STATUS),
    ];
    let rows = operators.iter().map(|it| operator_row(&page, it, &groups)).collect();
    let table = page.list(TITLE, EMPTY, &columns, rows);

    let mut view =
        View::new(page.t(TITLE)).intro(page.t(INTRO)).action(page.t(NEW), "admin/operators/new");
    if !page.api.assignments.is_enabled {
        view = view.section(settings::off_section(&page, OFF, assignments::ENABLED));
    }

    Ok(page.render(view.section(Section::new("operators", "").table(table))))
}

fn operator_row(page: &PageContext, operator: &Operator, groups: &GroupNames) -> Row {
    let steps = operator.skill.steps.len() as u64;
    Row::new(vec![
        Cell::link(operator.name.as_str(), format!("admin/operators/{}", operator.id)),
        Cell::text(operator.skill.name.as_str())
            .detail(page.t(skill_form::mode_text(operator.skill.mode))),
        Cell::number(format::number(page.language, steps)).sort_value(steps),
        Cell::text(page.t(origin_text(operator))),
        Cell::text(groups.of(&operator.groups)),
        status_cell(page, operator),
    ])
    .key(operator.id.to_string())
}

fn status_cell(page: &PageContext, operator: &Operator) -> Cell {
    if operator.is_active {
        Cell::badge(page.t(ACTIVE), Tone::Good)
    } else {
        Cell::badge(page.t(INACTIVE), Tone::Neutral)
    }
}

/// Returns the provider of an operator's skill.
fn origin_text(operator: &Operator) -> Text {
    if operator.skill.host.is_some() {
        Text::new("Pods", "Pods")
    } else if operator.is_custom {
        Text::new("Administrators", "Verwaltung")
    } else {
        Text::new("Built in", "Mitgeliefert")
    }
}

async fn new(page: PageContext) -> PageResult {
    Ok(page.render(new_view(&page, None)))
}

async fn create(page: PageContext, form: FormFields) -> PageResult {
    match submit(&page, &form).await {
        Ok(operator) => page.done(&format!("admin/operators/{}", operator.id), "created"),
        Err(err) => page.refuse(new_view(&page, Some(&form)), err),
    }
}

/// Creates the operator of a form.
async fn submit(page: &PageContext, form: &FormFields) -> Result<Operator, ApiError> {
    let by = Some(page.user());
    let draft = draft_with_skill(page, form)?;
    page.run(|api| async move {
        api.assignments.administration.create(by, draft).await.map_err(at_field)
    })
    .await
}

/// Returns an error, that of an invalid value at the field of its form.
fn at_field(err: OperatorError) -> HttpError {
    let OperatorError::Invalid(field, rule) = err else { return err.into() };
    let field = match field {
        OperatorField::Name => "name".to_owned(),
        OperatorField::Skill => "skillName".to_owned(),
        OperatorField::Steps => "title1".to_owned(),
        OperatorField::StepTitle(index) => format!("title{}", index + 1),
        OperatorField::StepInstructions(index) => format!("instructions{}", index + 1),
        OperatorField::StepOutput(index) => format!("maxOutput{}", index + 1),
        OperatorField::WebhookUrl => "url".to_owned(),
    };
    ApiError::invalid(vec![FieldError { field, code: "invalid", message: rule.to_owned() }]).into()
}

/// Returns the page of a new operator, with what was typed before it was refused.
fn new_view(page: &PageContext, form: Option<&FormFields>) -> View {
    let name = form.map_or("", |it| it.text("name"));
    let is_active = form.is_none_or(|it| it.some("isActive").is_some());
    let operator_form = Form::new("admin/operators", page.t(CREATE))
        .field(Field::text("name", page.t(common::NAME), name))
        .field(active_field(page, is_active));
    let typed_skill = form.map(skill_form::TypedSkill::of_form).unwrap_or_default();
    let new = skill_form::add_fields(page, operator_form, &typed_skill);
    View::new(page.t(NEW))
        .below(page.t(TITLE), "admin/operators")
        .section(Section::new("new", "").form(new))
}

fn active_field(page: &PageContext, is_active: bool) -> Field {
    let option = crate::ui::form::SelectOption {
        value: "true".to_owned(),
        label: page.t(IN_USE).to_owned(),
        is_selected: is_active,
    };
    Field::checks("isActive", page.t(common::STATUS), vec![option])
}

/// Parses an operator and its skill.
fn draft_with_skill(page: &PageContext, form: &FormFields) -> Result<OperatorDraft, ApiError> {
    let skill = skill_form::TypedSkill::of_form(form).parse(page.language)?;
    Ok(OperatorDraft { skill: Some(skill), ..draft_without_skill(form) })
}

/// Parses an operator whose skill does not change.
fn draft_without_skill(form: &FormFields) -> OperatorDraft {
    OperatorDraft {
        name: form.text("name").to_owned(),
        is_active: Some(form.some("isActive").is_some()),
        skill: None,
    }
}

/// Finds an operator.
async fn find(page: &PageContext, id: OperatorId) -> Result<Operator, ApiError> {
    let operators =
        page.run(|api| async move { api.assignments.administration.operators().await }).await?;
    operators.into_iter().find(|it| it.id == id).ok_or_else(ApiError::not_found)
}

const TITLE: Text = Text::new("Operators", "Operatoren");
const INTRO: Text = Text::new(
    "An operator works on assignments with its skill, step by step. Members can use the operators \
     that are granted to their group.",
    "Ein Operator bearbeitet Aufträge mit seiner Fähigkeit, Schritt für Schritt. Mitglieder nutzen \
     die Operatoren, die ihrer Gruppe zugewiesen sind.",
);
const OFF: Text = Text::new(
    "Assignments are turned off on this server, so members cannot hand over tasks to operators.",
    "Aufträge sind auf diesem Server ausgeschaltet, daher können Mitglieder keine Aufgaben an \
     Operatoren übergeben.",
);
const EMPTY: Text = Text::new(
    "There is no operator yet. Create one, then grant it to groups.",
    "Es gibt noch keinen Operator. Erstellen Sie einen und weisen Sie ihn dann Gruppen zu.",
);
const NEW: Text = Text::new("New operator", "Neuer Operator");
const CREATE: Text = Text::new("Create operator", "Operator erstellen");
const SKILL: Text = Text::new("Skill", "Fähigkeit");
const STEPS: Text = Text::new("Steps", "Schritte");
const ORIGIN: Text = Text::new("Origin", "Herkunft");
const ACTIVE: Text = Text::new("Active", "Aktiv");
const INACTIVE: Text = Text::new("Inactive", "Inaktiv");
const IN_USE: Text = Text::new("Members may use it", "Mitglieder dürfen ihn nutzen");
