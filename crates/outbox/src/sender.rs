//! Delivery of emails from the outbox to the relay.
//!
//! Each attempt has one of three ends: the email is deleted (`sent`), due
//! again (`postpone`), or erased except for the reason (`give_up`).
//! `settings.rs` computes the time of the next attempt; an email whose link
//! has expired meanwhile is abandoned.

mod tally;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, Unavailable};

use crate::{
    ClaimResult, ClaimToken, EmailRenderer, Outbox, OutboxSenderSettings, OutgoingEmail, Relay,
    RelayOutcome, RenderError, RenderedMail,
};

pub use tally::Tally;

/// Dependencies of the outbox sender.
#[derive(Clone)]
pub struct OutboxSenderPorts {
    /// Queue of emails to be sent.
    pub outbox: Arc<dyn Outbox>,
    /// Renderer of emails.
    pub renderer: Arc<dyn EmailRenderer>,
    /// Relay that they are delivered to.
    pub relay: Arc<dyn Relay>,
}

/// Outcome of one delivery attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// Outbox has nothing to send.
    Nothing,
    /// Relay accepted the email.
    Sent,
    /// Email is retried later.
    Postponed,
    /// Email is abandoned.
    Abandoned,
    /// Relay is unreachable; this email and all others are retried later.
    RelayAway,
}

/// Sender that delivers each email at least once: one whose outcome is unknown,
/// because the process died or the relay did not reply, is sent again.
#[derive(Clone)]
pub struct OutboxSender {
    ports: OutboxSenderPorts,
    settings: OutboxSenderSettings,
    clock: Arc<dyn Clock>,
    tally: Arc<Tally>,
}

impl OutboxSender {
    /// Creates a sender.
    pub fn new(
        ports: OutboxSenderPorts,
        settings: OutboxSenderSettings,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { ports, settings, clock, tally: Arc::default() }
    }

    /// Returns the counters since the start.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Delivers one email that is due.
    ///
    /// The future must be polled to its end: if dropped, the email is sent
    /// again.
    pub async fn deliver_next(&self) -> Result<DeliveryOutcome, Unavailable> {
        let now = self.clock.now();
        match self.ports.outbox.claim(now, now + self.settings.claim).await? {
            None => Ok(DeliveryOutcome::Nothing),
            Some(ClaimResult::Mail(mail)) => self.deliver(mail.claim, &mail.email).await,
            Some(ClaimResult::Locked(claim)) => {
                // The lifetime is part of the sealed content.
                self.postpone(claim, None, "it is sealed under another key").await
            }
            Some(ClaimResult::Ruined(claim)) => self.give_up(claim, "it cannot be opened").await,
        }
    }

    /// Closes idle connections, and counts the emails that still wait.
    pub async fn rest(&self) -> Result<(), Unavailable> {
        self.ports.relay.rest().await;
        self.tally.set_waiting(self.ports.outbox.waiting().await?);
        Ok(())
    }

    /// Deletes emails that were abandoned long ago.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        let before = self.clock.now() - self.settings.failed_retention;
        self.ports.outbox.sweep(before).await
    }

    async fn deliver(
        &self,
        claim: ClaimToken,
        email: &OutgoingEmail,
    ) -> Result<DeliveryOutcome, Unavailable> {
        let lifetime = email.lifetime();
        if lifetime.is_some_and(|it| claim.queued_at + it <= self.clock.now()) {
            return self.give_up(claim, "the time for what it asks has passed").await;
        }

        let rendition = match self.ports.renderer.render(email) {
            Ok(rendition) => rendition,
            Err(err @ RenderError::Unknown) => {
                return self.postpone(claim, lifetime, &err.to_string()).await;
            }
            Err(err @ (RenderError::Field(_) | RenderError::Template)) => {
                return self.give_up(claim, &err.to_string()).await;
            }
        };

        let mail = RenderedMail { id: claim.mail, to: email.to.clone(), at: email.at, rendition };
        match self.ports.relay.send(&mail).await {
            RelayOutcome::Accepted => self.sent(claim).await,
            RelayOutcome::Refused(reason) => self.give_up(claim, &reason).await,
            RelayOutcome::TryLater(reason) => self.postpone(claim, lifetime, &reason).await,
            RelayOutcome::Away(reason) => {
                self.postpone(claim, lifetime, &reason).await?;
                Ok(DeliveryOutcome::RelayAway)
            }
        }
    }

    async fn sent(&self, claim: ClaimToken) -> Result<DeliveryOutcome, Unavailable> {
        self.ports.outbox.sent(claim).await?;
        self.tally.sent();
        tracing::info!(mail.id = %claim.mail, mail.tries = claim.tries, "email sent");
        Ok(DeliveryOutcome::Sent)
    }

    async fn postpone(
        &self,
        claim: ClaimToken,
        lifetime: Option<Duration>,
        reason: &str,
    ) -> Result<DeliveryOutcome, Unavailable> {
        let Some(next) = self.settings.next_try(claim, lifetime, self.clock.now()) else {
            return self.give_up(claim, reason).await;
        };

        self.ports.outbox.retry(claim, next, reason).await?;
        self.tally.postponed();

        tracing::warn!(
            mail.id = %claim.mail,
            mail.tries = claim.tries,
            mail.due = %next,
            reason,
            "email delivery failed; will retry"
        );

        Ok(DeliveryOutcome::Postponed)
    }

    async fn give_up(
        &self,
        claim: ClaimToken,
        reason: &str,
    ) -> Result<DeliveryOutcome, Unavailable> {
        self.ports.outbox.give_up(claim, self.clock.now(), reason).await?;
        self.tally.abandoned();
        tracing::error!(
            mail.id = %claim.mail,
            mail.tries = claim.tries,
            reason,
            "email delivery abandoned"
        );
        Ok(DeliveryOutcome::Abandoned)
    }
}
