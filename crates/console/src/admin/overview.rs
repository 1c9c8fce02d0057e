//! First page of the console: what needs attention, and the server in numbers.

use pia_identity::Role;
use pia_kernel::Timestamp;
use pia_policy::{GroupEntry, Licensed};
use pia_web::{ApiError, Route};

use super::usage;
use crate::navigation::{ALL_ROLES, CONSOLE};
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::page_for;
use crate::texts::common;
use crate::ui::chart::{Chart, ChartBar};
use crate::ui::table::Tone;
use crate::ui::view::{Link, SectionPart};
use crate::ui::{Cell, Section, Text, View, format};

const TITLE: Text = Text::new("Overview", "Übersicht");
const ATTENTION: Text = Text::new("Needs attention", "Braucht Aufmerksamkeit");
const ALL_GOOD: Text =
    Text::new("Nothing needs your attention.", "Nichts braucht Ihre Aufmerksamkeit.");
const LICENCE: Text = Text::new("Licence", "Lizenz");
const LICENCE_MISSING: Text = Text::new("No licence is in force", "Es gilt keine Lizenz");
const LICENCE_EXPIRED: Text = Text::new("Expired on {}", "Abgelaufen am {}");
const LICENCE_ENDS: Text = Text::new("Ends on {}", "Endet am {}");
const NUMBERS: Text = Text::new("In numbers", "In Zahlen");
const ACCOUNTS: Text = Text::new("Accounts", "Konten");
const GROUPS: Text = Text::new("Groups", "Gruppen");
const QUEUED: Text = Text::new("Waiting assignments", "Wartende Aufträge");
const RUNNING: Text = Text::new("Running assignments", "Laufende Aufträge");
const PODS: Text = Text::new("Connected pods", "Verbundene Pods");
const MEMBERS: Text = Text::new("Members by group", "Mitglieder je Gruppe");
const GROUP: Text = Text::new("Group", "Gruppe");
const AREAS: Text = Text::new("Your areas", "Ihre Bereiche");
/// Time before its end at which a licence needs attention, in microseconds.
const SOON_MICROS: i64 = 30 * 24 * 3600 * 1_000_000;
/// Number of groups in the chart.
const MAX_BARS: usize = 30;

pub(super) fn routes() -> Vec<Route> {
    vec![page_for(ALL_ROLES, "/admin", |it| it.to(show))]
}

async fn show(page: PageContext) -> PageResult {
    let view = View::new(page.t(TITLE));
    if page.caller.role != Role::Admin {
        return Ok(page.render(view.section(areas(&page))));
    }
    let groups = page.api.groups.clone();
    let entries = page.run(async move { groups.list().await }).await?;
    let view = view
        .section(attention(&page)?)
        .section(usage::summary::section(&page).await?)
        .section(numbers(&page, &entries).await?)
        .section(Section::new("members", "").part(SectionPart::Chart(chart(&page, &entries))));
    Ok(page.render(view))
}

/// Returns the section of what an administrator should act on.
fn attention(page: &PageContext) -> Result<Section, ApiError> {
    let section = Section::new("attention", page.t(ATTENTION));
    let gates = page.gates()?;
    let (state, now) = (gates.licence.get(), gates.clock.now());
    let day =
        |at: Option<Timestamp>| at.map_or_else(String::new, |it| format::day(page.language, it));
    let ends_soon =
        |at: Option<Timestamp>| at.is_some_and(|it| it.micros() - now.micros() < SOON_MICROS);
    let (text, tone) = match state.at(now) {
        Licensed::Not => (page.t(LICENCE_MISSING).to_owned(), Tone::Bad),
        Licensed::Expired(it) => (page.fill(LICENCE_EXPIRED, &[&day(it.expires_at)]), Tone::Bad),
        Licensed::Valid(it) if ends_soon(it.expires_at) => {
            (page.fill(LICENCE_ENDS, &[&day(it.expires_at)]), Tone::Warning)
        }
        Licensed::Valid(_) => return Ok(section.paragraph(page.t(ALL_GOOD))),
    };
    Ok(section.facts([(page.t(LICENCE), Cell::badge(text, tone))]))
}

async fn numbers(page: &PageContext, groups: &[GroupEntry]) -> Result<Section, ApiError> {
    let (administration, connectors) =
        (page.api.assignments.administration.clone(), page.api.connectors.clone());
    let queue = page.run(async move { administration.queue().await }).await?;
    let pods = page.run(async move { connectors.connected().await }).await?;
    let number = |it: i128| Cell::text(format::number(page.language, it));
    let count = |it: usize| number(i128::try_from(it).unwrap_or(i128::MAX));
    let members = groups.iter().map(|it| i128::from(it.members)).sum();
    Ok(Section::new("numbers", page.t(NUMBERS)).facts([
        (page.t(ACCOUNTS), number(members)),
        (page.t(GROUPS), count(groups.len())),
        (page.t(QUEUED), number(queue.queued.into())),
        (page.t(RUNNING), number(queue.running.into())),
        (page.t(PODS), count(pods.len())),
    ]))
}

fn chart(page: &PageContext, groups: &[GroupEntry]) -> Chart {
    let bar = |it: &GroupEntry| {
        let name = it.group.name.as_str().to_owned();
        ChartBar::new(name, format::number(page.language, it.members), it.members)
    };
    Chart {
        title: page.t(MEMBERS).to_owned(),
        numbers_label: page.t(common::AS_TABLE).to_owned(),
        label_heading: page.t(GROUP).to_owned(),
        bars: groups.iter().take(MAX_BARS).map(bar).collect(),
    }
}

/// Returns the links to the areas of a manager.
fn areas(page: &PageContext) -> Section {
    let items = CONSOLE.iter().skip(1).flat_map(|it| it.items);
    let items = items.filter(|it| it.is_open_to(page.caller.role));
    let links = items.map(|it| Link { label: page.t(it.label).into(), path: it.path.into() });
    Section::new("areas", page.t(AREAS)).part(SectionPart::Links(links.collect()))
}
