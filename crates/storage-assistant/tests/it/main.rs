//! Contract tests for the assistant's storage on every backend.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod credit_stores;
mod credits;
mod group_budgets;
mod guesses;
mod member_windows;
mod sweep;
mod usage_hours;
mod usage_log;
mod usage_sums;
