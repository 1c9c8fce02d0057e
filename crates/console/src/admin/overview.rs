//! First page of the console: what needs attention, and the server in numbers.

mod attention;

use std::cmp::Reverse;

use futures_util::future::{try_join, try_join3};
use pia_identity::Role;
use pia_policy::GroupEntry;
use pia_web::{ApiError, Route};

use super::usage;
use crate::navigation::{ALL_ROLES, CONSOLE};
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::page_for;
use crate::texts::common;
use crate::ui::chart::{Chart, ChartBar};
use crate::ui::view::{Link, SectionPart};
use crate::ui::{Cell, Section, Text, View, format};

/// Number of groups in the chart.
const MAX_BARS: usize = 10;

pub(super) fn routes() -> Vec<Route> {
    vec![page_for(ALL_ROLES, "/admin", |it| it.to(show))]
}

async fn show(page: PageContext) -> PageResult {
    let view = View::new(page.t(TITLE));
    if page.caller.role != Role::Admin {
        return Ok(page.render(view.section(areas_section(&page))));
    }

    let entries = page.run(|api| async move { api.groups.list().await }).await?;
    // Each section waits for the database, so they are loaded together.
    let (attention, usage, numbers) = try_join3(
        Box::pin(attention::section(&page, &entries)),
        Box::pin(usage::summary::section(&page)),
        numbers_section(&page, &entries),
    )
    .await?;
    let view = [attention, usage, numbers]
        .into_iter()
        .fold(view, |view, section| view.section(section.live_numbers()));
    // A chart of one group compares nothing.
    if entries.len() < 2 {
        return Ok(page.render(view));
    }

    Ok(page.render(view.section(members_section(&page, &entries))))
}

async fn numbers_section(page: &PageContext, groups: &[GroupEntry]) -> Result<Section, ApiError> {
    let (queue, pods) = try_join(
        page.run(|api| async move { api.assignments.administration.queue().await }),
        page.run(|api| async move { api.connectors.connected().await }),
    )
    .await?;

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

/// Returns the chart of the largest groups, with a link to the list if there are more.
fn members_section(page: &PageContext, groups: &[GroupEntry]) -> Section {
    let chart = SectionPart::Chart(members_chart(page, groups));
    let section = Section::new("members", "").part(chart);
    let label = match groups.len().saturating_sub(MAX_BARS) {
        0 => return section,
        1 => page.t(ONE_MORE_GROUP).to_owned(),
        count => page.fill(MORE_GROUPS, &[&count.to_string()]),
    };
    section.links(vec![Link { label, path: "admin/groups".to_owned() }])
}

fn members_chart(page: &PageContext, groups: &[GroupEntry]) -> Chart {
    let bar = |it: &GroupEntry| {
        let name = it.group.name.as_str().to_owned();
        ChartBar::new(name, format::number(page.language, it.members), it.members)
    };
    let mut largest_first: Vec<_> = groups.iter().collect();
    largest_first.sort_by_key(|it| Reverse(it.members));
    Chart {
        title: page.t(MEMBERS).to_owned(),
        numbers_label: page.t(common::AS_TABLE).to_owned(),
        label_heading: page.t(GROUP).to_owned(),
        bars: largest_first.into_iter().take(MAX_BARS).map(bar).collect(),
    }
}

/// Returns the links to the areas of a manager.
fn areas_section(page: &PageContext) -> Section {
    // The first group of the navigation is this page itself.
    let links = CONSOLE
        .iter()
        .skip(1)
        .flat_map(|it| it.items)
        .filter(|it| it.is_open_to(page.caller.role))
        .map(|it| Link { label: page.t(it.label).into(), path: it.path.into() })
        .collect();
    Section::new("areas", page.t(AREAS)).part(SectionPart::Links(links))
}

const TITLE: Text = Text::new("Overview", "Übersicht");
const NUMBERS: Text = Text::new("At a glance", "Auf einen Blick");
const ACCOUNTS: Text = Text::new("Accounts", "Konten");
const GROUPS: Text = Text::new("Groups", "Gruppen");
const QUEUED: Text = Text::new("Waiting assignments", "Wartende Aufträge");
const RUNNING: Text = Text::new("Running assignments", "Laufende Aufträge");
const PODS: Text = Text::new("Connected pods", "Verbundene Pods");
const MEMBERS: Text = Text::new("Members by group", "Mitglieder je Gruppe");
const MORE_GROUPS: Text = Text::new("And {} more groups", "Und {} weitere Gruppen");
const ONE_MORE_GROUP: Text = Text::new("And one more group", "Und eine weitere Gruppe");
const GROUP: Text = Text::new("Group", "Gruppe");
const AREAS: Text = Text::new("Your areas", "Ihre Bereiche");
