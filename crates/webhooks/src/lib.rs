//! Webhooks over HTTP, signed as Standard Webhooks specifies.

mod client;
mod public_network;

pub use client::{WebhookClient, WebhookSetupError};
