//! Problems that an administrator should act on.

use pia_assistant::GroupBudget;
use pia_kernel::{BudgetPeriod, Timestamp};
use pia_policy::{GroupEntry, Licensed};
use pia_web::ApiError;

use crate::admin::{first_steps, licence};
use crate::page_context::PageContext;
use crate::ui::table::Tone;
use crate::ui::{Cell, Section, Text, format};

const TITLE: Text = Text::new("Needs attention", "Erfordert Aufmerksamkeit");
const ALL_GOOD: Text =
    Text::new("Nothing needs your attention.", "Nichts erfordert Ihre Aufmerksamkeit.");
const LICENCE: Text = Text::new("Licence", "Lizenz");
const LICENCE_MISSING: Text = Text::new("No licence is in force", "Es gilt keine Lizenz");
const LICENCE_EXPIRED: Text = Text::new("Expired on {}", "Abgelaufen am {}");
const LICENCE_ENDS: Text = Text::new("Ends on {}", "Endet am {}");
const OPEN_STEP: Text = Text::new("One step left to do", "Ein Schritt ist noch zu erledigen");
const OPEN_STEPS: Text = Text::new("{} steps left to do", "{} Schritte sind noch zu erledigen");
const BUDGET: Text = Text::new("Budget of {}", "Budget von {}");
const DAILY_USED: Text = Text::new(
    "{} % of the {} credits for 24 hours are used",
    "{} % von {} Credits für 24 Stunden sind verbraucht",
);
const WEEKLY_USED: Text = Text::new(
    "{} % of the {} credits for this week are used",
    "{} % von {} Credits dieser Woche sind verbraucht",
);
/// Maximum number of budgets; the fullest come first.
const MAX_BUDGETS: usize = 10;

/// Returns the section of what needs attention.
pub(super) async fn section(
    page: &PageContext,
    groups: &[GroupEntry],
) -> Result<Section, ApiError> {
    let mut facts = Vec::new();
    facts.extend(licence(page)?.map(|it| (page.t(LICENCE).to_owned(), it)));
    facts.extend(
        open_steps(page, groups.len()).await?.map(|it| (page.t(first_steps::TITLE).to_owned(), it)),
    );
    facts.extend(budgets(page, groups).await?);
    let section = Section::new("attention", page.t(TITLE));
    if facts.is_empty() {
        return Ok(section.paragraph(page.t(ALL_GOOD)));
    }
    Ok(section.facts(facts))
}

fn licence(page: &PageContext) -> Result<Option<Cell>, ApiError> {
    let gates = page.gates()?;
    let (state, now) = (gates.licence.get(), gates.clock.now());
    let day =
        |at: Option<Timestamp>| at.map_or_else(String::new, |it| format::day(page.language, it));
    let ends_soon = |at: Option<Timestamp>| {
        at.is_some_and(|it| it.micros() - now.micros() < licence::SOON_MICROS)
    };
    let (text, tone) = match state.at(now) {
        Licensed::Not => (page.t(LICENCE_MISSING).to_owned(), Tone::Bad),
        Licensed::Expired(it) => (page.fill(LICENCE_EXPIRED, &[&day(it.expires_at)]), Tone::Bad),
        Licensed::Valid(it) if ends_soon(it.expires_at) => {
            (page.fill(LICENCE_ENDS, &[&day(it.expires_at)]), Tone::Warning)
        }
        Licensed::Valid(_) => return Ok(None),
    };
    Ok(Some(Cell::badge(text, tone)))
}

async fn open_steps(page: &PageContext, groups: usize) -> Result<Option<Cell>, ApiError> {
    let text = match first_steps::count_open(page, groups).await? {
        0 => return Ok(None),
        1 => page.t(OPEN_STEP).to_owned(),
        count => page.fill(OPEN_STEPS, &[&format::number(page.language, count as u64)]),
    };
    Ok(Some(Cell::link(text, first_steps::PATH)))
}

/// Returns the budgets of groups that are nearly used up.
async fn budgets(
    page: &PageContext,
    groups: &[GroupEntry],
) -> Result<Vec<(String, Cell)>, ApiError> {
    let credits = page.api.credits.clone();
    let budgets = page.run_identity(async move { credits.nearly_used_budgets().await }).await?;
    let row = |it: &GroupBudget| {
        let group = &groups.iter().find(|entry| entry.group.id == it.group)?.group;
        let text = if it.period == BudgetPeriod::GroupDaily { DAILY_USED } else { WEEKLY_USED };
        let number = |it: i64| format::number(page.language, it);
        let text = page.fill(text, &[&number(it.percent()), &number(it.limit)]);
        let label = page.fill(BUDGET, &[group.name.as_str()]);
        Some((label, Cell::link(text, format!("admin/groups/{}", group.id))))
    };
    Ok(budgets.iter().filter_map(row).take(MAX_BUDGETS).collect())
}
