//! Administration of webhooks, and delivery of their requests.
//!
//! A transition that ends an assignment queues a delivery (`QueueDelivery` in
//! `storage-assignments`). The server calls `claim` and then `attempt`. A claim
//! counts the attempt and postpones the delivery by a minute; if the process
//! dies, another one repeats the delivery then. A delivery may arrive twice, with
//! its id unchanged.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pia_kernel::{
    Clock, LiveSetting, OperatorId, Secret, SideEffects, Unavailable, UserId, random_bytes,
    utf16_len,
};
use serde_json::json;

use crate::administration::object;
use crate::error::{OperatorError, OperatorField};
use crate::ports::webhook_sender::{WebhookError, WebhookSender};
use crate::ports::webhook_store::WebhookStore;
use crate::settings::AssignmentSettings;
use crate::webhook::{ClaimedDelivery, Webhook, WebhookDelivery};

/// Time until an attempt is repeated if its process has died; longer than the
/// sender takes.
const CLAIM_DURATION: Duration = Duration::from_mins(1);
/// Waits before the next attempts, as Standard Webhooks recommends.
const RETRY_DELAYS: [Duration; 9] = [
    Duration::from_secs(5),
    Duration::from_mins(5),
    Duration::from_mins(30),
    Duration::from_hours(2),
    Duration::from_hours(5),
    Duration::from_hours(10),
    Duration::from_hours(14),
    Duration::from_hours(20),
    Duration::from_hours(24),
];
/// Number of deliveries of an operator that are listed, the latest ones.
const MAX_LISTED: u32 = 100;
/// Maximum length of a URL in UTF-16 code units.
const MAX_URL_CHARS: usize = 2_000;

/// Webhooks of operators.
#[derive(Clone)]
pub struct Webhooks {
    /// Store of the webhooks.
    pub store: Arc<dyn WebhookStore>,
    /// Sender of the deliveries.
    pub sender: Arc<dyn WebhookSender>,
    /// Retention of deliveries.
    pub settings: LiveSetting<AssignmentSettings>,
    /// Clock by which deliveries are due.
    pub clock: Arc<dyn Clock>,
}

impl Webhooks {
    /// Replaces the webhook of an operator. Returns its new secret, which cannot be
    /// read again.
    pub async fn put(
        &self,
        by: Option<UserId>,
        operator: OperatorId,
        url: String,
    ) -> Result<Secret<String>, OperatorError> {
        let is_text = utf16_len(&url) <= MAX_URL_CHARS && !url.chars().any(char::is_control);
        if !is_text || !self.sender.permits(&url) {
            let rule = "the URL must begin with https:// and name a host outside of this network";
            return Err(OperatorError::Invalid(OperatorField::WebhookUrl, rule));
        }

        let secret = Secret::new(format!("whsec_{}", STANDARD.encode(random_bytes::<32>()?)));
        let changes = json!({ "webhookHost": authority(&url) });
        let effects = self
            .effects(by, operator, "Operator.WebhookUpdated")
            .with_changes(None, Some(&changes));
        let webhook = Some(Webhook { url, secret: secret.clone() });
        if !self.store.put(operator, webhook, effects).await? {
            return Err(OperatorError::NotFound);
        }

        Ok(secret)
    }

    /// Removes the webhook of an operator, if there is one, with its deliveries.
    pub async fn remove(
        &self,
        by: Option<UserId>,
        operator: OperatorId,
    ) -> Result<(), OperatorError> {
        let effects = self.effects(by, operator, "Operator.WebhookDeleted");
        let is_known = self.store.put(operator, None, effects).await?;
        if is_known { Ok(()) } else { Err(OperatorError::NotFound) }
    }

    /// Lists the latest 100 deliveries of an operator, newest first.
    pub async fn deliveries(
        &self,
        operator: OperatorId,
    ) -> Result<Vec<WebhookDelivery>, OperatorError> {
        self.store.deliveries(operator, MAX_LISTED).await?.ok_or(OperatorError::NotFound)
    }

    /// Claims the delivery that has been due longest, of any operator but those in
    /// `except`.
    pub async fn claim(
        &self,
        except: &[OperatorId],
    ) -> Result<Option<ClaimedDelivery>, Unavailable> {
        let now = self.clock.now();
        self.store.claim(now, now + CLAIM_DURATION, except).await
    }

    /// Attempts a claimed delivery and stores the result: delivered, due again after the
    /// next of `RETRY_DELAYS`, or abandoned.
    pub async fn attempt(&self, claimed: ClaimedDelivery) -> Result<(), Unavailable> {
        let started_at = self.clock.now();
        let ClaimedDelivery { mut delivery, webhook, .. } = claimed;
        let result = match webhook {
            Some(it) => self.sender.send(&it, delivery.id, &delivery.payload, started_at).await,
            None => Err(WebhookError::Later("the secret could not be read".to_owned())),
        };

        let ended_at = self.clock.now();
        delivery.next_at = None;

        match result {
            Ok(()) => {
                delivery.delivered_at = Some(ended_at);
                delivery.failure = None;
            }
            Err(WebhookError::Gone) => delivery.failure = Some("status 410".to_owned()),
            Err(WebhookError::Later(failure)) => {
                let previous_attempts = delivery.attempts.saturating_sub(1);
                let delay =
                    RETRY_DELAYS.get(usize::try_from(previous_attempts).unwrap_or(usize::MAX));
                delivery.next_at = delay.map(|it| ended_at + *it);
                tracing::warn!(delivery = %delivery.id, failure, "a webhook was not delivered");
                delivery.failure = Some(failure);
            }
        }

        self.store.finish(delivery).await
    }

    /// Deletes deliveries that are older than assignments are stored.
    pub async fn clean_up(&self) -> Result<(), Unavailable> {
        self.store.sweep(self.clock.now() - self.settings.get().retention).await
    }

    fn effects(
        &self,
        by: Option<UserId>,
        operator: OperatorId,
        action: &'static str,
    ) -> SideEffects {
        SideEffects::of_object(self.clock.now(), by, object(operator), action)
    }
}

/// Returns the host and port of a URL, whose path may be secret.
fn authority(url: &str) -> &str {
    let after_scheme = url.split_once("://").map_or(url, |it| it.1);
    after_scheme.split(['/', '?', '#', '\\']).next().unwrap_or(after_scheme)
}

#[cfg(test)]
mod tests;
