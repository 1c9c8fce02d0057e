//! Search in the audit log.

use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use pia_kernel::{AuditFilter, Timestamp};
use pia_web::ApiError;

use super::actions::ACTIONS;
use crate::admin::person_filter::PersonFilter;
use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::list::fold;
use crate::ui::view::Link;
use crate::ui::{Field, Search, Text};

const DAY: Duration = Duration::from_hours(24);
/// Parameters of the filter.
const FILTERS: [&str; 4] = ["user", "action", "since", "until"];

/// Entries that a query selects.
pub(super) struct SearchedEntries {
    /// Filter; `None` if a field is invalid.
    pub(super) filter: Option<AuditFilter>,
    /// Fields as they were typed, with their errors.
    pub(super) search: Search,
    /// Query of the filter and the order, without `?`.
    pub(super) query: String,
}

impl SearchedEntries {
    /// Returns the entries that the query of a request selects.
    pub(super) async fn requested(page: &PageContext) -> Result<Self, ApiError> {
        let action = page.query("action").trim().to_owned();
        let action_field = new_action_field(page, &action);
        let PersonFilter { user, field: person_field, .. } = PersonFilter::requested(page).await?;
        let since = DayFilter::requested(page, "since", SINCE);
        let until = DayFilter::requested(page, "until", UNTIL);

        let filter = match (user, since.day, until.day) {
            // PostgreSQL compares no text with a NUL, and no action contains one.
            (Ok(user), Ok(first_day), Ok(last_day)) if !action.contains('\0') => {
                Some(AuditFilter {
                    user,
                    action: Some(action).filter(|it| !it.is_empty()),
                    object: None,
                    since: first_day,
                    until: last_day.map(|it| it + DAY),
                    order: page.time_order(),
                })
            }
            _ => None,
        };

        let reset = Link {
            label: page.t(common::RESET_FILTERS).to_owned(),
            path: "admin/audit".to_owned(),
        };

        let search = Search {
            label: page.t(SEARCH).to_owned(),
            fields: [person_field, action_field, since.field, until.field]
                .into_iter()
                .chain(page.sort_field())
                .collect(),
            submit: page.t(common::SEARCH).to_owned(),
            reset: has_filter(page).then_some(reset),
        };

        Ok(Self { filter, search, query: entries_query(page) })
    }
}

fn has_filter(page: &PageContext) -> bool {
    FILTERS.iter().any(|it| !page.query(it).trim().is_empty())
}

/// Returns the query of the filter and the order, without `?`, and without empty parameters.
fn entries_query(page: &PageContext) -> String {
    let pairs: Vec<_> = FILTERS
        .into_iter()
        .chain(["sort"])
        .map(|name| (name, page.query(name).trim().to_owned()))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    serde_urlencoded::to_string(pairs).unwrap_or_default()
}

/// Returns the selection of an action, by its text. Links may name one that this version does not
/// have.
fn new_action_field(page: &PageContext, selected: &str) -> Field {
    let mut actions: Vec<_> = ACTIONS.iter().map(|it| (it.0, page.t(it.1))).collect();
    actions.sort_by_cached_key(|it| fold(it.1));
    if !selected.is_empty() && actions.iter().all(|it| it.0 != selected) {
        actions.push((selected, selected));
    }
    let options = std::iter::once(("", page.t(ALL_ACTIONS))).chain(actions);
    Field::select("action", page.t(ACTION), options, selected).optional()
}

/// Filter by a day that the query names.
struct DayFilter {
    /// Start of the day; `None` without a filter.
    day: Result<Option<Timestamp>, InvalidDay>,
    /// Field as it was typed, with its error.
    field: Field,
}

impl DayFilter {
    fn requested(page: &PageContext, name: &str, label: Text) -> Self {
        let text = page.query(name).trim().to_owned();
        let day = parse_day(&text);
        let mut field = Field::input(name, page.t(label), "date", "off", text).optional();
        if day.is_err() {
            page.t(NOT_A_DAY).clone_into(&mut field.error);
        }
        Self { day, field }
    }
}

/// Error: the text is not a day.
struct InvalidDay;

/// Parses the start of a day in UTC; `None` if the text is empty.
fn parse_day(text: &str) -> Result<Option<Timestamp>, InvalidDay> {
    if text.is_empty() {
        return Ok(None);
    }
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").map_err(|_malformed| InvalidDay)?;
    let start: DateTime<Utc> = day.and_time(NaiveTime::MIN).and_utc();
    Ok(Some(start.into()))
}

const SEARCH: Text = Text::new("Search the audit log", "Audit-Protokoll durchsuchen");
const ACTION: Text = Text::new("Action", "Aktion");
const ALL_ACTIONS: Text = Text::new("All", "Alle");
const SINCE: Text = Text::new("From (UTC)", "Von (UTC)");
const UNTIL: Text = Text::new("To (UTC)", "Bis (UTC)");
const NOT_A_DAY: Text =
    Text::new("Enter a day such as 2026-01-31.", "Geben Sie einen Tag wie 2026-01-31 ein.");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_at_midnight() {
        let second_day = Timestamp::UNIX_EPOCH + DAY;

        assert_eq!(parse_day("").ok(), Some(None));
        assert_eq!(parse_day("1970-01-02").ok(), Some(Some(second_day)));
        assert!(parse_day("2026-02-30").is_err());
        assert!(parse_day("today").is_err());
    }
}
