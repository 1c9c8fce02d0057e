//! Calendar months in columns.

use chrono::{DateTime, Datelike, Utc};
use pia_kernel::Timestamp;

/// Returns the calendar month of a time, UTC: year * 100 + month.
pub(crate) fn month(at: Timestamp) -> i32 {
    let at = DateTime::<Utc>::from(at);
    at.year() * 100 + i32::try_from(at.month()).unwrap_or_default()
}
