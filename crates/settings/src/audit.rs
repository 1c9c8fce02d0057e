//! `Audit`: retention of the audit log.

use std::time::Duration;

use super::section::Section;

const DAY: Duration = Duration::from_hours(24);

/// Settings of the audit log.
#[derive(Debug, Clone)]
pub struct Audit {
    /// Retention period of an entry.
    pub retention: Duration,
}

impl Audit {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        Self { retention: DAY * from.reload("RetentionDays").within(365_u32, 1..=3650) }
    }
}
