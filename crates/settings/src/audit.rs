//! `Audit`: how long the audit log reaches back.

use std::time::Duration;

use super::section::Section;

const DAY: Duration = Duration::from_hours(24);

/// The audit log.
#[derive(Debug, Clone)]
pub struct Audit {
    /// Duration for which an entry is stored.
    pub stored: Duration,
}

impl Audit {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        Self { stored: DAY * from.reload("RetentionDays").within(365_u32, 1..=3650) }
    }
}
