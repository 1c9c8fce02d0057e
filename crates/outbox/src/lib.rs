//! Outbox: queued emails, their delivery and their retries.

mod mail;

mod sender;
mod settings;

mod ports;

pub use mail::{ClaimToken, ClaimedEmail, EmailContent, OutgoingEmail, RenderedMail};
pub use ports::{ClaimResult, EmailRenderer, Outbox, Relay, RelayOutcome, RenderError};
pub use sender::{Delivery, OutboxSender, OutboxSenderPorts, Tally};
pub use settings::OutboxSenderSettings;
