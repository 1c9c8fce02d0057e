//! Assignments of all users, without their contents.

pub(super) mod schedules;
mod workers;

use std::collections::HashMap;

use pia_assignments::{Assignment, AssignmentStatus};
use pia_kernel::{AssignmentId, Page, Timestamp, UserId};
use pia_policy::Feature;
use pia_web::{ApiError, PathId, Route};
use uuid::Uuid;

use super::bindings::{find_emails, user_cell};
use super::person_filter::{PersonFilter, UnknownPerson};
use super::settings;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::routes::pages::{form, page};
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::view::Link;
use crate::ui::{Cell, Field, Form, Row, Search, Section, Table, Text, View, format};

/// Setting that turns assignments on.
pub(super) const ENABLED: &str = "Operators:Enabled";
const MICROS_PER_SECOND: i64 = 1_000_000;

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/admin/assignments", |it| it.to(list)),
        // Before the assignments, whose ids they would match.
        schedules::route(),
        workers::route(),
        page("/admin/assignments/{id}", |it| it.to(show)),
        Route {
            feature: Some(Feature::AiProxy),
            ..form("/admin/assignments/{id}/terminate", |it| it.to(terminate))
        },
    ]
}

async fn list(page: PageContext) -> PageResult {
    let status = AssignmentStatus::from_name(&page.query("status"));
    let is_enabled = page.api.assignments.is_enabled;
    let person = PersonFilter::requested(&page).await?;
    let assignments = find_assignments(&page, person.user, status).await?;
    let is_filtered = person.is_set || status.is_some();
    let emails = find_emails(&page, assignments.items.iter().map(|it| it.user)).await?;
    let is_busy = assignments.items.iter().any(|it| !it.status.is_final());
    let empty = if is_enabled { EMPTY } else { NONE };
    let columns = [SKILL, USER, common::STATUS, STEPS, TOKENS, HANDED_OVER];
    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: columns.map(|it| page.t(it).to_owned()).into(),
        rows: assignments.items.iter().map(|it| assignment_row(&page, it, &emails)).collect(),
        empty: page.t(if is_filtered { common::NO_MATCH } else { empty }).to_owned(),
        search: Some(search_form(&page, person.field, status, is_filtered)),
        sort_links: page.time_sort_links(5),
        ..page.paged(assignments.next)
    };

    let mut view = View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .action(page.t(schedules::TITLE), "admin/assignments/schedules")
        .action(page.t(workers::TITLE), "admin/assignments/workers");
    if !is_enabled {
        view = view.section(settings::off_section(&page, OFF, ENABLED));
    }
    let view = view
        .section(workers::queue_section(&page).await?)
        .section(Section::new("assignments", page.t(ALL_ASSIGNMENTS)).table(table).live(is_busy));

    Ok(page.render(view))
}

/// Finds the requested page of the assignments of a person, or of all, in a status,
/// or in any.
async fn find_assignments(
    page: &PageContext,
    person: Result<Option<UserId>, UnknownPerson>,
    status: Option<AssignmentStatus>,
) -> Result<Page<Assignment>, ApiError> {
    let Ok(user) = person else {
        return Ok(Page { items: Vec::new(), next: None });
    };
    let order = page.time_order();
    let request = page.paging()?;
    page.run(|api| async move {
        api.assignments.administration.page(user, status, order, request).await
    })
    .await
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let view = assignment_view(&page, id).await?;
    Ok(page.render(view))
}

async fn terminate(
    page: PageContext,
    PathId(id): PathId,
    ProvedForm(form): ProvedForm,
) -> PageResult {
    let by = Some(page.user());
    let reason = form.some("reason");
    let is_ended = page
        .run(|api| async move {
            api.assignments.administration.terminate(by, AssignmentId(id), reason.as_deref()).await
        })
        .await?;
    if is_ended {
        return page.done(&format!("admin/assignments/{id}"), "ended");
    }
    let view = assignment_view(&page, id).await?;
    Ok(page.render(view.error(page.t(ALREADY_ENDED))))
}

async fn assignment_view(page: &PageContext, id: Uuid) -> Result<View, ApiError> {
    let assignment = page
        .run(|api| async move { api.assignments.administration.find(AssignmentId(id)).await })
        .await?
        .ok_or_else(ApiError::not_found)?;
    let emails = find_emails(page, [assignment.user].into_iter()).await?;
    let is_final = assignment.status.is_final();
    let view = View::new(assignment.skill.as_str())
        .below(page.t(TITLE), "admin/assignments")
        .section(facts_section(page, &assignment, &emails).live(!is_final));
    if is_final {
        return Ok(view);
    }

    let end = Form::new(format!("admin/assignments/{id}/terminate"), page.t(TERMINATE))
        .field(Field::text("reason", page.t(REASON), "").optional())
        .danger();
    let section = Section::new("terminate", page.t(TERMINATE)).intro(page.t(TERMINATE_HINT));

    Ok(view.section(section.form(end)))
}

fn facts_section(
    page: &PageContext,
    assignment: &Assignment,
    emails: &HashMap<UserId, String>,
) -> Section {
    let time = |at: Option<Timestamp>| {
        Cell::text(at.map(|it| format::time(page.language, it)).unwrap_or_default())
    };
    let steps = format::number(page.language, assignment.step_count);
    Section::new("assignment", "").facts([
        (page.t(common::STATUS), status_cell(page, assignment)),
        (page.t(USER), user_cell(page, assignment.user, emails)),
        (page.t(MODE), Cell::text(assignment.mode.as_str())),
        (page.t(STEPS), Cell::text(steps)),
        (page.t(TOKENS), tokens_cell(page, assignment)),
        (page.t(HANDED_OVER), time(Some(assignment.created_at))),
        (page.t(STARTED), time(assignment.started_at)),
        (page.t(ENDED), time(assignment.completed_at)),
        (page.t(DURATION), Cell::text(duration(page, assignment))),
    ])
}

/// Returns the spent tokens; if there are any also those that were abandoned.
fn tokens_cell(page: &PageContext, assignment: &Assignment) -> Cell {
    let spent = Cell::text(format::number(page.language, assignment.tokens_spent));
    if assignment.tokens_abandoned <= 0 {
        return spent;
    }
    let abandoned = format::number(page.language, assignment.tokens_abandoned);
    spent.detail(page.fill(ABANDONED, &[&abandoned]))
}

fn assignment_row(
    page: &PageContext,
    assignment: &Assignment,
    emails: &HashMap<UserId, String>,
) -> Row {
    Row::new(vec![
        Cell::link(assignment.skill.as_str(), format!("admin/assignments/{}", assignment.id)),
        user_cell(page, assignment.user, emails),
        status_cell(page, assignment),
        Cell::number(format::number(page.language, assignment.step_count)),
        Cell::number(format::number(page.language, assignment.tokens_spent)),
        Cell::text(format::time(page.language, assignment.created_at)),
    ])
}

fn search_form(
    page: &PageContext,
    person: Field,
    status: Option<AssignmentStatus>,
    is_filtered: bool,
) -> Search {
    let options = AssignmentStatus::ALL.map(|it| (it.name(), page.t(status_text(it))));
    let options_and_all = [("", page.t(ALL))].into_iter().chain(options);
    let selected = status.map_or("", AssignmentStatus::name);
    let statuses = Field::select("status", page.t(common::STATUS), options_and_all, selected);
    let reset = Link {
        label: page.t(common::RESET_FILTERS).to_owned(),
        path: "admin/assignments".to_owned(),
    };

    Search {
        label: page.t(TITLE).to_owned(),
        fields: [person, statuses.optional()].into_iter().chain(page.sort_field()).collect(),
        submit: page.t(common::SEARCH).to_owned(),
        reset: is_filtered.then_some(reset),
    }
}

/// Returns the duration of an assignment that has ended; empty for others.
fn duration(page: &PageContext, assignment: &Assignment) -> String {
    let Some((start, end)) = assignment.started_at.zip(assignment.completed_at) else {
        return String::new();
    };
    let micros = end.micros().saturating_sub(start.micros());
    page.fill(SECONDS, &[&format::number(page.language, micros / MICROS_PER_SECOND)])
}

fn status_cell(page: &PageContext, assignment: &Assignment) -> Cell {
    let tone = match assignment.status {
        AssignmentStatus::Queued | AssignmentStatus::Cancelled => Tone::Neutral,
        AssignmentStatus::Running => Tone::Warning,
        AssignmentStatus::Completed => Tone::Good,
        AssignmentStatus::Failed => Tone::Bad,
    };
    let failure = assignment.error_code.as_deref().map(|it| failure_text(page, it));
    Cell::badge(page.t(status_text(assignment.status)), tone).detail(failure.unwrap_or_default())
}

fn status_text(status: AssignmentStatus) -> Text {
    match status {
        AssignmentStatus::Queued => Text::new("Waiting", "Wartet"),
        AssignmentStatus::Running => Text::new("Running", "Läuft"),
        AssignmentStatus::Completed => Text::new("Completed", "Abgeschlossen"),
        AssignmentStatus::Failed => Text::new("Failed", "Fehlgeschlagen"),
        AssignmentStatus::Cancelled => Text::new("Cancelled", "Abgebrochen"),
    }
}

/// Returns the reason of a failure, or its code if that is unknown.
fn failure_text(page: &PageContext, code: &str) -> String {
    let text = match code {
        "operator_token_ceiling_exceeded" => Text::new("Too many tokens", "Zu viele Token"),
        "operator_step_limit_exceeded" => Text::new("Too many steps", "Zu viele Schritte"),
        "operator_wall_clock_exceeded" => Text::new("Took too long", "Dauerte zu lange"),
        "operator_upstream_timeout" => {
            Text::new("The model did not answer in time", "Das Modell antwortete nicht rechtzeitig")
        }
        "operator_upstream_failed" => {
            Text::new("The model did not answer", "Das Modell antwortete nicht")
        }
        "operator_budget_exceeded" => Text::new("Budget used up", "Budget aufgebraucht"),
        "operator_not_permitted" => {
            Text::new("The account may not use models", "Das Konto darf keine Modelle nutzen")
        }
        "operator_pod_plane_mismatch" => {
            Text::new("No pod runs the skill", "Kein Pod führt die Fähigkeit aus")
        }
        "operator_not_started" => Text::new("Not started", "Nicht gestartet"),
        "operator_terminated" => {
            Text::new("Ended by an administrator", "Von der Verwaltung beendet")
        }
        _ => return code.to_owned(),
    };

    page.t(text).to_owned()
}

const TITLE: Text = Text::new("Assignments", "Aufträge");
const ALL_ASSIGNMENTS: Text = Text::new("All assignments", "Alle Aufträge");
const INTRO: Text = Text::new(
    "Long-running tasks that members hand over to operators. Only the members who own them can see \
     their contents.",
    "Länger laufende Aufgaben, die Mitglieder an Operatoren übergeben. Die Inhalte sehen nur die \
     Mitglieder, denen sie gehören.",
);
const OFF: Text = Text::new(
    "Assignments are turned off on this server. Earlier ones are still listed.",
    "Aufträge sind auf diesem Server ausgeschaltet. Frühere sind weiterhin aufgeführt.",
);
const EMPTY: Text = Text::new(
    "No assignments found. Grant an operator to a group so that its members can hand over tasks.",
    "Keine Aufträge gefunden. Weisen Sie einer Gruppe einen Operator zu, damit ihre Mitglieder \
     Aufgaben übergeben können.",
);
const NONE: Text = Text::new("No assignments found.", "Keine Aufträge gefunden.");
const SKILL: Text = Text::new("Skill", "Fähigkeit");
const MODE: Text = Text::new("Mode", "Modus");
const USER: Text = Text::new("User", "Konto");
const STEPS: Text = Text::new("Steps", "Schritte");
const TOKENS: Text = Text::new("Tokens", "Token");
const ABANDONED: Text = Text::new("{} more without a result", "{} weitere ohne Ergebnis");
const HANDED_OVER: Text = Text::new("Handed over", "Übergeben");
const STARTED: Text = Text::new("Started", "Begonnen");
const ENDED: Text = Text::new("Ended", "Beendet");
const DURATION: Text = Text::new("Duration", "Dauer");
const SECONDS: Text = Text::new("{} s", "{} s");
const ALL: Text = Text::new("All", "Alle");
const TERMINATE: Text = Text::new("End assignment", "Auftrag beenden");
const TERMINATE_HINT: Text = Text::new(
    "The assignment fails, and its work so far is lost. The user can see the reason.",
    "Der Auftrag schlägt fehl, und die bisherige Arbeit geht verloren. Die Begründung ist für das \
     Konto sichtbar.",
);
const REASON: Text = Text::new("Reason", "Begründung");
const ALREADY_ENDED: Text =
    Text::new("The assignment had already ended.", "Der Auftrag war bereits beendet.");
