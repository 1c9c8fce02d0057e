//! Webhooks over HTTP, signed as Standard Webhooks specifies; and the clients for
//! addresses that administrators enter.

mod client;
mod egress;
mod public_network;

pub use client::WebhookClient;
pub use egress::{Egress, EgressSetupError};
