//! Outbox of emails in SQL.

mod mail_queue;
mod outbox;

pub use mail_queue::SqlMailQueue;
pub use outbox::SqlOutbox;
