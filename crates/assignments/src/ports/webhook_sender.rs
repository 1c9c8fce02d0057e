//! Sender of webhooks.

use async_trait::async_trait;
use pia_kernel::{Timestamp, WebhookDeliveryId};

use crate::webhook::Webhook;

/// Sender of webhooks.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait WebhookSender: Send + Sync {
    /// Returns whether requests to a URL are permitted, as far as the URL itself
    /// tells.
    fn permits(&self, url: &str) -> bool;

    /// Signs and sends a body. Ends within a bounded time.
    async fn send(
        &self,
        webhook: &Webhook,
        id: WebhookDeliveryId,
        payload: &str,
        at: Timestamp,
    ) -> Result<(), WebhookError>;
}

/// Reasons why a delivery failed. They contain no URL, which may be secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookError {
    /// Receiver may accept it later.
    Later(String),
    /// Receiver wants no more deliveries.
    Gone,
}
