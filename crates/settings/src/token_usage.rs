//! `TokenUsage`: when the weeks of budgets begin.

use pia_assistant::Weeks;

use super::section::Section;

/// Zone whose Mondays count by default.
const BERLIN: &str = "Europe/Berlin";

/// Settings of usage.
#[derive(Debug, Clone, Copy)]
pub struct TokenUsage {
    /// The weeks of budgets.
    pub weeks: Weeks,
}

impl TokenUsage {
    /// A zone that nobody knows is UTC, so that budgets end at some time.
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
