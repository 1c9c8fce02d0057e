//! Mail that waits to be sent: what goes when, and what becomes of it.

mod mail;

mod postman;
mod settings;

mod ports;

pub use mail::{Claim, OutgoingLetter, OutgoingMail, RenderedMail, Rendition};
pub use ports::{Claimed, Letters, Outbox, Relay, RenderError, Sent};
pub use postman::{Delivery, Postman, PostmanPorts, Tally};
pub use settings::PostmanSettings;
