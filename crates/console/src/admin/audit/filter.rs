//! Search in the audit log.

use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use pia_kernel::{AuditFilter, Timestamp};
use pia_web::ApiError;

use crate::admin::person_filter::PersonFilter;
use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::view::Link;
use crate::ui::{Field, Search, Text};

const SEARCH: Text = Text::new("Search the audit log", "Audit-Protokoll durchsuchen");
const ACTION: Text = Text::new("Action, such as Group.Created", "Aktion, etwa Group.Created");
const SINCE: Text = Text::new("From (UTC)", "Von (UTC)");
const UNTIL: Text = Text::new("To (UTC)", "Bis (UTC)");
const NOT_A_DAY: Text =
    Text::new("Enter a day such as 2026-01-31.", "Geben Sie einen Tag wie 2026-01-31 ein.");
const DAY: Duration = Duration::from_hours(24);

/// Entries that a query selects.
pub(super) struct SearchedEntries {
    /// Filter; `None` if a field is invalid.
    pub(super) filter: Option<AuditFilter>,
    /// Fields as they were typed, with their errors.
    pub(super) search: Search,
    /// Query of the filter, without `?`.
    pub(super) query: String,
}

impl SearchedEntries {
    /// Returns the entries that the query of a request selects.
    pub(super) async fn requested(page: &PageContext) -> Result<Self, ApiError> {
        let names = ["user", "action", "since", "until"];
        let [person, action, since, until] = names.map(|name| page.query(name).trim().to_owned());
        let PersonFilter { user, field: person_field, .. } = PersonFilter::requested(page).await?;
        let mut since_field = day_field(page, "since", SINCE, &since);
        let mut until_field = day_field(page, "until", UNTIL, &until);
        let first_day = parse_day(&since);
        let last_day = parse_day(&until);
        let filter = match (&user, &first_day, &last_day) {
            (Ok(user), Ok(first_day), Ok(last_day)) => Some(AuditFilter {
                user: *user,
                action: Some(action.clone()).filter(|it| !it.is_empty()),
                since: *first_day,
                until: last_day.map(|it| it + DAY),
                order: page.time_order(),
            }),
            _ => None,
        };

        for (field, is_wrong, text) in [
            (&mut since_field, first_day.is_err(), NOT_A_DAY),
            (&mut until_field, last_day.is_err(), NOT_A_DAY),
        ] {
            if is_wrong {
                page.t(text).clone_into(&mut field.error);
            }
        }

        let action_field = text_field(page, "action", ACTION, &action);
        let fields = [person_field, action_field, since_field, until_field];

        let pairs: Vec<_> = names
            .into_iter()
            .zip([person, action, since, until])
            .filter(|it| !it.1.is_empty())
            .collect();
        let query = serde_urlencoded::to_string(pairs).unwrap_or_default();

        let reset = Link {
            label: page.t(common::RESET_FILTERS).to_owned(),
            path: "admin/audit".to_owned(),
        };

        let search = Search {
            label: page.t(SEARCH).to_owned(),
            fields: fields.into_iter().chain(page.sort_field()).collect(),
            submit: page.t(common::SEARCH).to_owned(),
            reset: (!query.is_empty()).then_some(reset),
        };

        Ok(Self { filter, search, query })
    }
}

/// Error: the value selects nothing.
struct Unusable;

fn parse_day(text: &str) -> Result<Option<Timestamp>, Unusable> {
    if text.is_empty() {
        return Ok(None);
    }
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").map_err(|_malformed| Unusable)?;
    let start: DateTime<Utc> = day.and_time(NaiveTime::MIN).and_utc();
    Ok(Some(start.into()))
}

fn text_field(page: &PageContext, name: &str, label: Text, value: &str) -> Field {
    Field::text(name, page.t(label), value).optional()
}

fn day_field(page: &PageContext, name: &str, label: Text, value: &str) -> Field {
    Field::input(name, page.t(label), "date", "off", value).optional()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_at_midnight() {
        let day = |text| parse_day(text).map(|it| it.map(Timestamp::micros)).ok();

        assert_eq!(day(""), Some(None));
        assert_eq!(day("1970-01-02"), Some(Some(86_400_000_000)));
        assert_eq!(day("2026-02-30"), None);
        assert_eq!(day("today"), None);
    }
}
