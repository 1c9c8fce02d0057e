//! `TokenUsage`: start of the weeks of budgets.

use pia_assistant::Weeks;

use super::section::Section;

/// Default time zone of the weeks.
const BERLIN: &str = "Europe/Berlin";

/// Settings of usage.
#[derive(Debug, Clone, Copy)]
pub struct TokenUsage {
    /// Weeks of budgets.
    pub weeks: Weeks,
}

impl TokenUsage {
    /// Reads the section. An unknown zone counts as UTC, so that budgets do
    /// end.
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        let zone = from.reload("WeekStartTimeZone").or_where_blank(BERLIN.to_owned());
        let weeks = Weeks::of_zone(&zone).unwrap_or_else(|| {
            let text = "is no time zone that is known here, such as Europe/Berlin: weeks begin by \
                        UTC";
            from.warn("WeekStartTimeZone", text);
            Weeks::UTC
        });
        Self { weeks }
    }
}
