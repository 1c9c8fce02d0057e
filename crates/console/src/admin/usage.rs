//! Usage by day, group, model or person.
//!
//! Days, groups and models are loaded completely; people are paged by the database,
//! with a cursor of spent credits, calls and id. `usage/view.rs` renders the page.

pub(super) mod summary;
mod view;

use pia_assistant::{
    Micros, UsageCursor, UsageGrouping, UsageRange, UsageRangeError, UsageSum, UsageUsers,
};
use pia_identity::Role;
use pia_kernel::{Page, UserId};
use pia_web::{ApiError, Route, optional_cursor};
use uuid::Uuid;

use self::view::UsageView;
use super::person_filter::{PersonFilter, UnknownPerson};
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::page_for;
use crate::ui::Field;

/// Number of people on a page.
const PAGE_ROWS: u32 = 100;
/// Maximum number of days, groups or models, of which the list has all.
const MAX_ROWS: u32 = 100_000;
/// Parameter with the position that a page of people begins after.
const AFTER: &str = "after";

/// Managers of an organisation see the usage of their group.
const MANAGERS: &[Role] = &[Role::Admin, Role::OrgManager];

pub(super) fn routes() -> Vec<Route> {
    vec![
        page_for(MANAGERS, "/admin/usage", |it| it.to(show)),
        page_for(MANAGERS, "/admin/usage/export", |it| it.to(export)),
    ]
}

async fn show(page: PageContext) -> PageResult {
    let grouping = requested_grouping(&page);
    let (range, error) = match requested_range(&page) {
        Ok(range) => (range, None),
        Err(err) => (page.api.usage.last_days(30), Some(err)),
    };
    let days = sums(&page, range, UsageGrouping::Day).await?;
    let list = match grouping {
        UsageGrouping::Day => UsageList { rows: days.clone(), ..UsageList::default() },
        UsageGrouping::User => users(&page, range).await?,
        UsageGrouping::Group | UsageGrouping::Model => {
            UsageList { rows: sums(&page, range, grouping).await?, ..UsageList::default() }
        }
    };
    let UsageList { rows, next, person } = list;
    let view = UsageView { page: &page, grouping, range, error, days: &days, rows: &rows, next };
    Ok(page.render(view.render(person)))
}

/// Rows of the table.
#[derive(Default)]
struct UsageList {
    rows: Vec<UsageSum>,
    /// Query of the next page.
    next: Option<String>,
    /// Field of a searched person, if the rows are people.
    person: Option<Field>,
}

/// Returns the requested page of people, or the person that the query names.
async fn users(page: &PageContext, range: UsageRange) -> Result<UsageList, ApiError> {
    // The search would tell managers of an organisation who has an account in other groups.
    if page.caller.visible_group().is_some() {
        return load_users(page, range, None).await;
    }

    let PersonFilter { user, field, .. } = PersonFilter::requested(page).await?;
    let list = match user {
        Ok(user) => load_users(page, range, user).await?,
        Err(UnknownPerson) => UsageList::default(),
    };

    Ok(UsageList { person: Some(field), ..list })
}

/// Returns a person, or the requested page of all whom the caller sees.
async fn load_users(
    page: &PageContext,
    range: UsageRange,
    user: Option<UserId>,
) -> Result<UsageList, ApiError> {
    let selection = match user {
        Some(user) => UsageUsers::One(user),
        None => optional_cursor(&page.query(AFTER), parse_cursor)?
            .map_or(UsageUsers::First, UsageUsers::After),
    };

    let group = page.caller.visible_group();
    let Page { items: rows, next: cursor } = page
        .run(|api| async move { api.usage.users(range, selection, group, PAGE_ROWS).await })
        .await?;
    let next = cursor.map(|it| page.query_with(AFTER, &format_cursor(it)));

    Ok(UsageList { rows, next, person: None })
}

fn format_cursor(cursor: UsageCursor) -> String {
    format!("{}.{}.{}", cursor.spent.0, cursor.calls, cursor.user)
}

fn parse_cursor(text: &str) -> Option<UsageCursor> {
    let mut parts = text.split('.');
    let cursor = UsageCursor {
        spent: Micros(parts.next()?.parse().ok()?),
        calls: parts.next()?.parse().ok()?,
        user: UserId(Uuid::try_parse(parts.next()?).ok()?),
    };
    // The format is canonical: any other text was never in an address.
    (format_cursor(cursor) == text).then_some(cursor)
}

/// Returns a CSV file. An invalid range is displayed instead.
async fn export(page: PageContext) -> PageResult {
    match requested_range(&page) {
        Ok(range) => {
            let group = page.caller.visible_group();
            let by = requested_grouping(&page);
            Ok(pia_http::export_usage(&page.api, range, by, group).await?)
        }
        Err(_invalid) => page.redirect("admin/usage"),
    }
}

async fn sums(
    page: &PageContext,
    range: UsageRange,
    grouping: UsageGrouping,
) -> Result<Vec<UsageSum>, ApiError> {
    let group = page.caller.visible_group();
    page.run(|api| async move { api.usage.sums(range, grouping, group, MAX_ROWS).await }).await
}

fn requested_grouping(page: &PageContext) -> UsageGrouping {
    UsageGrouping::from_name(&page.query("by")).unwrap_or(UsageGrouping::Day)
}

fn requested_range(page: &PageContext) -> Result<UsageRange, UsageRangeError> {
    let day = |name| Some(page.query(name).trim().to_owned()).filter(|it| !it.is_empty());
    page.api.usage.range(day("from").as_deref(), day("to").as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_back_from_the_address() {
        let user = UserId::generate();
        let cursor = UsageCursor { spent: Micros(1_500_000), calls: 7, user };

        assert_eq!(parse_cursor(&format_cursor(cursor)), Some(cursor));
        let [longer, padded] = [format!("1.2.{user}.3"), format!("01.2.{user}")];
        for malformed in ["", "1", "1.2", "a.2.3", "1.2.me", longer.as_str(), padded.as_str()] {
            assert_eq!(parse_cursor(malformed), None, "{malformed}");
        }
    }
}
