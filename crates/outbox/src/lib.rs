//! Outbox: queued emails, their delivery and their retries.

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
