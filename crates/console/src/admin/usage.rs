//! Usage by day, group, model or person.

pub(super) mod summary;
mod view;

use pia_assistant::{UsageGrouping, UsageRange, UsageRangeError, UsageSum};
use pia_web::{ApiError, Route};

use self::view::UsageView;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::page;

/// Number of groups, models or people on the page.
const MAX_ROWS: u32 = 100;
/// Maximum number of days in a report.
const MAX_DAYS: u32 = 366;

pub(super) fn routes() -> Vec<Route> {
    vec![page("/admin/usage", |it| it.to(show)), page("/admin/usage/export", |it| it.to(export))]
}

async fn show(page: PageContext) -> PageResult {
    let grouping = requested_grouping(&page);
    let (range, error) = match requested_range(&page) {
        Ok(range) => (range, None),
        Err(err) => (page.api.usage.last_days(30), Some(err)),
    };
    let days = sums(&page, range, UsageGrouping::Day).await?;
    let rows = if grouping == UsageGrouping::Day {
        days.clone()
    } else {
        sums(&page, range, grouping).await?
    };
    let view = UsageView { page: &page, grouping, range, error, days: &days, rows: &rows };
    Ok(page.render(view.render()))
}

/// Returns a CSV file. An invalid range is displayed instead.
async fn export(page: PageContext) -> PageResult {
    match requested_range(&page) {
        Ok(range) => Ok(pia_http::export_usage(&page.api, range, requested_grouping(&page)).await?),
        Err(_invalid) => page.redirect("admin/usage"),
    }
}

async fn sums(
    page: &PageContext,
    range: UsageRange,
    grouping: UsageGrouping,
) -> Result<Vec<UsageSum>, ApiError> {
    let report = page.api.usage.clone();
    let limit = if grouping == UsageGrouping::Day { MAX_DAYS } else { MAX_ROWS };
    page.run(async move { report.sums(range, grouping, limit).await }).await
}

fn requested_grouping(page: &PageContext) -> UsageGrouping {
    UsageGrouping::from_name(&page.query("by")).unwrap_or(UsageGrouping::Day)
}

fn requested_range(page: &PageContext) -> Result<UsageRange, UsageRangeError> {
    let day = |name| Some(page.query(name).trim().to_owned()).filter(|it| !it.is_empty());
    page.api.usage.range(day("from").as_deref(), day("to").as_deref())
}
