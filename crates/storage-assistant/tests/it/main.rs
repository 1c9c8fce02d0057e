//! What the assistant's storage must do on every backend.

#![expect(clippy::unwrap_used, reason = "tests")]

mod usage_log;
