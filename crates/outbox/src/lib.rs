//! Outbox: queued emails, their delivery and their retries.
//!
//! Use cases queue an email among the `SideEffects` of a change and do not
//! call this crate. The main path is `OutboxSender::deliver_next` in
//! `sender.rs`, which `server/src/outbox_worker.rs` calls: claim an email,
//! render it, pass it to the relay, record the outcome. An email is sent at
//! least once. `queue.rs` is the administrators' view.

mod mail;
mod queue;

mod sender;
mod settings;

mod ports;

pub use mail::{ClaimToken, ClaimedEmail, EmailContent, OutgoingEmail, RenderedMail};
pub use ports::{
    ClaimResult, EmailRenderer, MailQueueStore, Outbox, Relay, RelayOutcome, RenderError,
};
pub use queue::{MailCounts, MailQueue, MailQueueError, MailRecord, MailState};
pub use sender::{DeliveryOutcome, OutboxSender, OutboxSenderPorts, Tally};
pub use settings::OutboxSenderSettings;
