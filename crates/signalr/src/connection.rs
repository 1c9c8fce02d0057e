//! Connection of one client, without its input and output.

mod event;
mod invocations;
mod outbox;
mod receipts;
mod settings;

pub use self::event::{ClientInvocation, CloseReason, ExpectedReply, HubEvent, SendError};
pub use self::settings::ConnectionSettings;
