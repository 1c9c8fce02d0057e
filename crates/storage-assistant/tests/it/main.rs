//! What the assistant's storage must do on every backend.

#![expect(clippy::unwrap_used, reason = "tests")]

mod banks;
mod credits;
mod sweep;

mod usage_log;
