//! The outbox in SQL.

mod outbox;

pub use outbox::SqlOutbox;
