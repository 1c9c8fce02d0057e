//! Remaining credits of one's own account.

use pia_assistant::{ApiKeyBudget, CreditStock, CreditView, Gauge, WeekGauge};
use pia_web::{AccountScope, ApiError, Route};

use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::account_page;
use crate::ui::table::Tone;
use crate::ui::view::Notice;
use crate::ui::{Cell, Row, Section, Table, Text, View, format};

pub(super) fn routes() -> Vec<Route> {
    let accounts = AccountScope::Complete;
    vec![Route { accounts, ..account_page("/account/credits", |it| it.to(show)) }]
}

async fn show(page: PageContext) -> PageResult {
    let user = page.user();
    let group = page.caller.group;
    let credits = page.run(|api| async move { api.credits.view(user, group, None).await }).await?;
    let suspended = Notice::new(page.t(SUSPENDED));
    let mut view = View::new(page.t(TITLE));
    view.notice = credits.suspended.then_some(suspended);
    if !credits.limited {
        let mut section = Section::new("credits", "");
        if !credits.suspended {
            section = section.paragraph(page.t(UNLIMITED));
        }
        return Ok(page.render(view.section(section)));
    }

    let own_section = Section::new("own", page.t(OWN));
    let group_section = Section::new("group", page.t(GROUP)).intro(page.t(GROUP_HINT));
    view = view.intro(page.t(INTRO));
    view = with_budgets(&page, view, own_section, own_rows(&page, &credits));
    view = with_budgets(&page, view, group_section, group_rows(&page, &credits));

    Ok(page.render(view))
}

/// Adds a section with a table of budgets, if there are any.
fn with_budgets(page: &PageContext, view: View, section: Section, rows: Vec<Row>) -> View {
    if rows.is_empty() { view } else { view.section(with_table(page, section, rows)) }
}

/// Returns the section of a key's budget; `None` if it has none of its own.
pub(super) async fn key_section(
    page: &PageContext,
    key: ApiKeyBudget,
) -> Result<Option<Section>, ApiError> {
    let user = page.user();
    let group = page.caller.group;
    let view =
        page.run(|api| async move { api.credits.view(user, group, Some(key)).await }).await?;
    let section = Section::new("budget", page.t(TITLE));
    Ok(view.key.map(|it| with_table(page, section, vec![week(page, it)])))
}

/// Adds a table of budgets.
pub(crate) fn with_table(page: &PageContext, section: Section, rows: Vec<Row>) -> Section {
    let columns = [BUDGET, LEFT, USED, LIMIT, RENEWAL];
    let table = Table {
        caption: section.title.clone(),
        columns: columns.map(|it| page.t(it).to_owned()).into(),
        rows,
        ..Table::default()
    };
    section.table(table)
}

/// Returns the rows of a user's own budgets.
pub(crate) fn own_rows(page: &PageContext, credits: &CreditView) -> Vec<Row> {
    let hourly = credits.hourly.map(|it| rolling(page, HOURLY, HOURLY_RENEWAL, it));
    let daily = credits.daily.map(|it| rolling(page, DAILY, DAILY_RENEWAL, it));
    let weekly = credits.weekly.map(|it| week(page, it));
    [hourly, daily, weekly].into_iter().flatten().collect()
}

fn group_rows(page: &PageContext, credits: &CreditView) -> Vec<Row> {
    let pool = credits.pool.map(|it| {
        let name = Cell::text(page.t(POOL)).detail(page.t(POOL_DETAIL));
        stock_row(page, name, it.stock, format::time(page.language, it.resets_at))
    });
    let top_up = credits.top_up.map(|stock| {
        stock_row(page, Cell::text(page.t(TOP_UP)), stock, page.t(TOP_UP_RENEWAL).to_owned())
    });
    let daily = credits.group_daily.map(|it| rolling(page, DAILY, DAILY_RENEWAL, it));
    let weekly = credits.group_weekly.map(|it| week(page, it));
    [pool, top_up, daily, weekly].into_iter().flatten().collect()
}

fn rolling(page: &PageContext, name: Text, renewal: Text, gauge: Gauge) -> Row {
    gauge_row(page, page.t(name), gauge, page.t(renewal).to_owned())
}

fn week(page: &PageContext, week: WeekGauge) -> Row {
    let renewal = format::time(page.language, week.resets_at);
    gauge_row(page, page.t(WEEKLY), week.gauge, renewal)
}

fn gauge_row(page: &PageContext, name: &str, gauge: Gauge, renewal: String) -> Row {
    let Gauge { limit, used } = gauge;
    let stock = CreditStock { total: limit, used, remaining: limit.saturating_sub(used).max(0) };
    stock_row(page, Cell::text(name), stock, renewal)
}

fn stock_row(page: &PageContext, name: Cell, stock: CreditStock, renewal: String) -> Row {
    let CreditStock { total, used, remaining } = stock;
    let number = |it: i64| format::number(page.language, it);
    let left = if remaining > 0 {
        Cell::number(number(remaining))
    } else {
        Cell::badge(number(remaining), Tone::Bad)
    };
    let used = Cell::number(number(used));
    let limit = Cell::number(number(total));
    Row::new(vec![name, left, used, limit, Cell::text(renewal)])
}

const TITLE: Text = Text::new("Credits", "Credits");
const INTRO: Text = Text::new(
    "Each answer of a model uses credits from these budgets.",
    "Jede Antwort eines Modells verbraucht Credits aus diesen Budgets.",
);
const UNLIMITED: Text = Text::new("No limit applies to you.", "Für Sie gilt kein Limit.");
const SUSPENDED: Text = Text::new(
    "Free use of this server is suspended at the moment.",
    "Die kostenlose Nutzung dieses Servers ist zurzeit ausgesetzt.",
);
const OWN: Text = Text::new("Your budgets", "Ihre Budgets");
const GROUP: Text = Text::new("Budgets of your group", "Budgets Ihrer Gruppe");
const GROUP_HINT: Text = Text::new(
    "All members of your group share these budgets.",
    "Diese Budgets teilen sich alle Mitglieder Ihrer Gruppe.",
);
const BUDGET: Text = Text::new("Budget", "Budget");
const LEFT: Text = Text::new("Left", "Übrig");
const USED: Text = Text::new("Used", "Verbraucht");
const LIMIT: Text = Text::new("Limit", "Limit");
const RENEWAL: Text = Text::new("Renewal", "Erneuerung");
const HOURLY: Text = Text::new("Per hour", "Pro Stunde");
const HOURLY_RENEWAL: Text = Text::new("An hour after use", "Eine Stunde nach dem Verbrauch");
const DAILY: Text = Text::new("Per 24 hours", "Pro 24 Stunden");
const DAILY_RENEWAL: Text = Text::new("24 hours after use", "24 Stunden nach dem Verbrauch");
const WEEKLY: Text = Text::new("This week", "Diese Woche");
const POOL: Text = Text::new("Pool", "Pool");
const POOL_DETAIL: Text = Text::new(
    "Credits that members did not use last week",
    "Credits, die Mitglieder letzte Woche nicht verbraucht haben",
);
const TOP_UP: Text = Text::new("Top-ups", "Aufladungen");
const TOP_UP_RENEWAL: Text = Text::new("Do not expire", "Verfallen nicht");
