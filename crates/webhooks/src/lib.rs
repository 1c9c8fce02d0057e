//! Webhooks over HTTP, signed as Standard Webhooks specifies; and the clients for
//! addresses that administrators enter.
//!
//! `client.rs` implements `WebhookSender` of `assignments`. `egress.rs` has
//! the HTTP clients, which the bridge to MCP servers in `server` uses too,
//! and `public_network.rs` decides which addresses are public.

mod client;
mod egress;
mod public_network;

pub use client::WebhookClient;
pub use egress::{Egress, EgressSetupError};
