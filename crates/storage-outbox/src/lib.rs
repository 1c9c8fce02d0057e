//! Outbox of emails in SQL.
//!
//! `outbox.rs` is for the sender, `mail_queue.rs` for administrators. Emails
//! are inserted by `storage/src/effects`, in the transaction of the change
//! that they report.

mod mail_queue;
mod outbox;

pub use mail_queue::SqlMailQueue;
pub use outbox::SqlOutbox;
