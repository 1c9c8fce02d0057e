//! Outbox of emails in SQL.

mod outbox;

pub use outbox::SqlOutbox;
