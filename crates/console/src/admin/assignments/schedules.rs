//! Schedules of all users, without their inputs.

use pia_assignments::{LastStart, ScheduleEntry, SkipReason};
use pia_kernel::{Page, UserId};
use pia_web::{ApiError, Route};

use crate::admin::bindings::{ACTIVE, INACTIVE, find_emails, user_cell};
use crate::admin::person_filter::{PersonFilter, UnknownPerson};
use crate::admin::settings;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::page;
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::view::Link;
use crate::ui::{Cell, Row, Search, Section, Table, Text, View, format};

pub(super) fn route() -> Route {
    page("/admin/assignments/schedules", |it| it.to(list))
}

async fn list(page: PageContext) -> PageResult {
    let person = PersonFilter::requested(&page).await?;
    let schedules = find_schedules(&page, person.user).await?;
    let search = search_form(&page, person);
    let emails = find_emails(&page, schedules.items.iter().map(|it| it.user)).await?;
    let rows = schedules
        .items
        .iter()
        .map(|it| schedule_row(&page, it, Some(user_cell(&page, it.user, &emails))));
    let is_enabled = page.api.assignments.is_enabled;
    let columns = [super::SKILL, super::USER, TIMES, common::STATUS, NEXT, LAST];
    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: columns.map(|it| page.t(it).to_owned()).into(),
        rows: rows.collect(),
        empty: page.t(search.empty_text(if is_enabled { EMPTY } else { NONE })).to_owned(),
        search: Some(search),
        ..page.paged(schedules.next)
    };

    let mut view = View::new(page.t(TITLE))
        .below(page.t(super::TITLE), "admin/assignments")
        .intro(page.t(INTRO));
    if !is_enabled {
        view = view.section(settings::off_section(&page, OFF, super::ENABLED));
    }

    Ok(page.render(view.section(Section::new("schedules", "").table(table))))
}

/// Finds the requested page of the schedules of a person, or of all.
async fn find_schedules(
    page: &PageContext,
    person: Result<Option<UserId>, UnknownPerson>,
) -> Result<Page<ScheduleEntry>, ApiError> {
    let Ok(user) = person else {
        return Ok(Page { items: Vec::new(), next: None });
    };
    let request = page.paging()?;
    page.run(|api| async move { api.assignments.administration.schedules(user, request).await })
        .await
}

fn search_form(page: &PageContext, person: PersonFilter) -> Search {
    let reset = Link {
        label: page.t(common::RESET_FILTERS).to_owned(),
        path: "admin/assignments/schedules".to_owned(),
    };
    Search {
        label: page.t(TITLE).to_owned(),
        fields: vec![person.field],
        submit: page.t(common::SEARCH).to_owned(),
        reset: person.is_set.then_some(reset),
    }
}

/// Returns the schedules of one user, for the user's page.
pub(in crate::admin) fn of_user(page: &PageContext, schedules: &[ScheduleEntry]) -> Section {
    let columns = [super::SKILL, TIMES, common::STATUS, NEXT, LAST];
    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: columns.map(|it| page.t(it).to_owned()).into(),
        rows: schedules.iter().map(|it| schedule_row(page, it, None)).collect(),
        ..Table::default()
    };
    Section::new("schedules", page.t(TITLE)).intro(page.t(INTRO)).table(table)
}

/// Returns the row of a schedule, with its user in a list of all.
fn schedule_row(page: &PageContext, schedule: &ScheduleEntry, user: Option<Cell>) -> Row {
    let next = schedule.next_at.map(|it| format::time(page.language, it));
    let status = if next.is_some() {
        Cell::badge(page.t(ACTIVE), Tone::Good)
    } else {
        Cell::badge(page.t(INACTIVE), Tone::Neutral)
    };

    let cells = [
        Some(Cell::text(&schedule.skill)),
        user,
        Some(Cell::text(&schedule.cron).detail(&schedule.time_zone)),
        Some(status),
        Some(Cell::text(next.unwrap_or_default())),
        Some(last_cell(page, schedule.last)),
    ];

    Row::new(cells.into_iter().flatten().collect())
}

fn last_cell(page: &PageContext, last: Option<LastStart>) -> Cell {
    let Some(LastStart { due_at, outcome }) = last else {
        return Cell::text(page.t(common::NEVER));
    };
    let outcome = outcome.map_or_else(skip_text, |_| super::HANDED_OVER);
    Cell::text(format::time(page.language, due_at)).detail(page.t(outcome))
}

fn skip_text(reason: SkipReason) -> Text {
    match reason {
        SkipReason::Missed => {
            Text::new("Missed: no server was running", "Verpasst: kein Server lief")
        }
        SkipReason::TooManyAssignments => {
            Text::new("Too many unfinished assignments", "Zu viele offene Aufträge")
        }
        SkipReason::SkillNotGranted => {
            Text::new("The skill is not granted any more", "Fähigkeit nicht mehr freigegeben")
        }
        SkipReason::InputRefused => {
            Text::new("The skill refuses the input", "Die Fähigkeit lehnt die Eingabe ab")
        }
        SkipReason::Unreadable => Text::new("Could not be read", "Nicht lesbar"),
    }
}

pub(super) const TITLE: Text = Text::new("Schedules", "Zeitpläne");
const INTRO: Text = Text::new(
    "Recurring times at which members hand over assignments. Only the members who own them can see \
     their contents, and change or delete them.",
    "Wiederkehrende Zeiten, zu denen Mitglieder Aufträge übergeben. Nur die Mitglieder, denen sie \
     gehören, sehen die Inhalte und können sie ändern oder löschen.",
);
const OFF: Text = Text::new(
    "Assignments are turned off on this server, so no schedule starts one.",
    "Aufträge sind auf diesem Server ausgeschaltet, daher startet kein Zeitplan einen.",
);
const EMPTY: Text = Text::new(
    "No schedules. Members create them in the Pia app.",
    "Keine Zeitpläne. Mitglieder legen sie in der Pia-App an.",
);
const NONE: Text = Text::new("No schedules.", "Keine Zeitpläne.");
const TIMES: Text = Text::new("Times", "Zeiten");
const NEXT: Text = Text::new("Next run", "Nächster Lauf");
const LAST: Text = Text::new("Last run", "Letzter Lauf");
