//! Store of webhooks and their deliveries.

use async_trait::async_trait;
use pia_kernel::{OperatorId, SideEffects, Timestamp, Unavailable};

use crate::webhook::{ClaimedDelivery, Webhook, WebhookDelivery};

/// Store of webhooks. Deliveries are queued by the change that ends an assignment.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait WebhookStore: Send + Sync {
    /// Replaces the webhook of an operator. `None` removes it with its deliveries.
    /// Returns false if there is no such operator.
    async fn put(
        &self,
        operator: OperatorId,
        webhook: Option<Webhook>,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Lists the latest deliveries of an operator, newest first; `None` if there is
    /// no such operator.
    async fn deliveries(
        &self,
        operator: OperatorId,
        limit: u32,
    ) -> Result<Option<Vec<WebhookDelivery>>, Unavailable>;

    /// Claims the delivery that has been due longest, of any operator but those in
    /// `except`, and counts the attempt. The delivery is due again at `until`.
    /// Concurrent callers never claim the same delivery.
    async fn claim(
        &self,
        now: Timestamp,
        until: Timestamp,
        except: &[OperatorId],
    ) -> Result<Option<ClaimedDelivery>, Unavailable>;

    /// Stores a delivery after an attempt. Changes nothing if another attempt of the
    /// delivery has begun since it was claimed.
    async fn finish(&self, delivery: WebhookDelivery) -> Result<(), Unavailable>;

    /// Deletes deliveries that were created before a time.
    async fn sweep(&self, before: Timestamp) -> Result<(), Unavailable>;
}
