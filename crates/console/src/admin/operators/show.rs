//! Page of an operator: its skill and groups, and its deletion.

use pia_assignments::Operator;
use pia_kernel::OperatorId;
use pia_web::{ApiError, PathId, Route};
use uuid::Uuid;

use super::skill_form::{TypedSkill, add_fields, mode_text};
use super::{
    GROUPS, SKILL, STEPS, TITLE, active_field, at_field, draft_with_skill, draft_without_skill,
    find, form_with_skill, licensed_form, origin_text, page, status_cell, webhook,
};
use crate::admin::bindings::{expected_version, with_version};
use crate::admin::group_choice::{GrantedGroups, GroupNames, typed_selection};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::texts::common;
use crate::ui::{Cell, Field, Form, Section, Text, View, format};

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/admin/operators/{id}", |it| it.to(show)),
        form_with_skill("/admin/operators/{id}/edit", |it| it.to(update)),
        licensed_form("/admin/operators/{id}/groups", |it| it.to(grant)),
        licensed_form("/admin/operators/{id}/delete", |it| it.to(delete)),
    ]
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let view = operator_view(&page, id, None).await?;
    Ok(page.render(view))
}

async fn update(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let operator = find(&page, OperatorId(id)).await?;
    match submit(&page, &operator, &form).await {
        Ok(()) => page.done(&format!("admin/operators/{id}"), "saved"),
        Err(err) => page.refuse(operator_view(&page, id, Some(&form)).await?, err),
    }
}

/// Changes an operator as typed in a form.
async fn submit(
    page: &PageContext,
    operator: &Operator,
    form: &FormFields,
) -> Result<(), ApiError> {
    let id = operator.id;
    let by = Some(page.user());
    let draft = if is_editable(operator) {
        draft_with_skill(page, form)?
    } else {
        draft_without_skill(form)
    };
    let expected = expected_version(form);
    page.run(|api| async move {
        let administration = &api.assignments.administration;
        administration.update(by, id, draft, expected).await.map_err(at_field)
    })
    .await
}

async fn grant(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    match grant_to_groups(&page, OperatorId(id), &form).await {
        Ok(()) => page.done(&format!("admin/operators/{id}#groups"), "saved"),
        Err(err) => page.refuse_typed(operator_view(&page, id, None).await?, &form, err),
    }
}

async fn grant_to_groups(
    page: &PageContext,
    id: OperatorId,
    form: &FormFields,
) -> Result<(), ApiError> {
    let by = Some(page.user());
    let groups = typed_selection(page, form).await?;
    page.run(|api| async move { api.assignments.administration.grant(by, id, groups).await }).await
}

async fn delete(page: PageContext, PathId(id): PathId, _: ProvedForm) -> PageResult {
    let by = Some(page.user());
    let result = page
        .run(|api| async move { api.assignments.administration.delete(by, OperatorId(id)).await })
        .await;
    match result {
        Ok(()) => page.done("admin/operators", "deleted"),
        Err(err) => page.refuse(operator_view(&page, id, None).await?, err),
    }
}

/// Returns whether an operator's skill can be changed here.
fn is_editable(operator: &Operator) -> bool {
    operator.is_custom && operator.skill.host.is_none()
}

/// Returns the page of an operator, with what was typed in the form that edits it.
pub(super) async fn operator_view(
    page: &PageContext,
    id: Uuid,
    form: Option<&FormFields>,
) -> Result<View, ApiError> {
    let operator = find(page, OperatorId(id)).await?;
    let groups = GroupNames::load(page).await?;
    let path = format!("admin/operators/{id}");
    let skill = Cell::text(operator.skill.name.as_str());
    let steps = operator.skill.steps.iter().map(|it| it.title.as_str()).collect::<Vec<_>>();
    let facts = [
        (page.t(common::STATUS), status_cell(page, &operator)),
        (page.t(SKILL), skill.detail(page.t(mode_text(operator.skill.mode)))),
        (page.t(super::ORIGIN), Cell::text(page.t(origin_text(&operator)))),
        (page.t(STEPS), Cell::text(steps.join(" → "))),
        (page.t(UPDATED), Cell::text(format::time(page.language, operator.updated_at))),
    ];

    let granted_groups = GrantedGroups {
        title: GROUPS,
        intro: GRANT_INTRO,
        path: format!("{path}/groups"),
        granted: &operator.groups,
    };
    let view = View::new(operator.name.as_str())
        .below(page.t(TITLE), "admin/operators")
        .section(Section::new("operator", "").facts(facts))
        .section(groups.section(page, granted_groups))
        .section(webhook::section(page, &operator))
        .section(edit_section(page, &operator, form));

    if !operator.is_custom {
        return Ok(view);
    }

    let delete = Form::new(format!("{path}/delete"), page.t(DELETE_OPERATOR)).danger();

    Ok(view.section(
        Section::new("delete", page.t(DELETE_OPERATOR)).intro(page.t(DELETE_HINT)).form(delete),
    ))
}

fn edit_section(page: &PageContext, operator: &Operator, form: Option<&FormFields>) -> Section {
    let name = form.map_or(operator.name.as_str(), |it| it.text("name"));
    let is_active = form.map_or(operator.is_active, |it| it.some("isActive").is_some());
    let version = form.map_or(Some(operator.updated_at), expected_version);
    let edit = Form::new(format!("admin/operators/{}/edit", operator.id), page.t(common::SAVE));
    let edit = with_version(edit, version)
        .field(Field::text("name", page.t(common::NAME), name))
        .field(active_field(page, is_active));
    let section = Section::new("edit", page.t(EDIT));
    if !is_editable(operator) {
        return section.intro(page.t(FIXED)).form(edit);
    }
    let stored_skill = || TypedSkill::of_skill(&operator.skill);
    section.form(add_fields(page, edit, &form.map_or_else(stored_skill, TypedSkill::of_form)))
}

const UPDATED: Text = Text::new("Updated", "Aktualisiert");
const EDIT: Text = Text::new("Edit", "Bearbeiten");
const FIXED: Text = Text::new(
    "The skill itself cannot be changed: it comes with the server, or pods run it.",
    "Die Fähigkeit selbst lässt sich nicht ändern: Sie gehört zum Server, oder Pods führen sie aus.",
);
const GRANT_INTRO: Text = Text::new(
    "Members of these groups may hand assignments over to it.",
    "Mitglieder dieser Gruppen dürfen ihm Aufträge übergeben.",
);
const DELETE_OPERATOR: Text = Text::new("Delete operator", "Operator löschen");
const DELETE_HINT: Text = Text::new(
    "Nobody can use its skill any more. Assignments that were already handed over continue. This \
     can’t be undone.",
    "Seine Fähigkeit kann niemand mehr nutzen. Bereits übergebene Aufträge laufen weiter. Das \
     lässt sich nicht rückgängig machen.",
);
