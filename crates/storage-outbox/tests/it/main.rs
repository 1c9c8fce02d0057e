//! Contract tests of the outbox, on every backend.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod mail_queue;
mod outbox;
