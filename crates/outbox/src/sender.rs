//! Sender: delivers emails from the outbox to the relay.

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
    pub letters: Arc<dyn EmailRenderer>,
    /// Whom they are handed to.
    pub relay: Arc<dyn Relay>,
}

/// Outcome of one delivery attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
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

/// Takes mails to the relay, each at least once: one whose fate is not known,
/// because the process died or the relay fell silent, is sent again.
#[derive(Clone)]
pub struct OutboxSender {
    ports: OutboxSenderPorts,
    settings: OutboxSenderSettings,
    clock: Arc<dyn Clock>,
    tally: Arc<Tally>,
}

impl OutboxSender {
    /// A postman who has not set out yet.
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

    /// Takes one mail that is due to the relay.
    ///
    /// Run it to its end: dropped half-way, the mail is sent again.
    pub async fn deliver_next(&self) -> Result<Delivery, Unavailable> {
        let now = self.clock.now();
        let claimed = self.ports.outbox.claim(now, now + self.settings.claim).await?;
        match claimed {
            None => Ok(Delivery::Nothing),
            Some(ClaimResult::Mail(mail)) => self.deliver(mail.claim, &mail.email).await,
            Some(ClaimResult::Locked(claim)) => {
                self.postpone(claim, None, "it is sealed under another key").await
            }
            Some(ClaimResult::Ruined(claim)) => self.give_up(claim, "it cannot be opened").await,
        }
    }

    /// Lets the relay rest, and looks how many mails are left for later.
    pub async fn rest(&self) -> Result<(), Unavailable> {
        self.ports.relay.rest().await;
        self.tally.leave(self.ports.outbox.waiting().await?);
        Ok(())
    }

    /// Forgets what happened long ago to mails that were not sent.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        let before = self.clock.now() - self.settings.keep_failed;
        self.ports.outbox.sweep(before).await
    }

    async fn deliver(
        &self,
        claim: ClaimToken,
        letter: &OutgoingEmail,
    ) -> Result<Delivery, Unavailable> {
        let worth = letter.worth();
        if worth.is_some_and(|it| claim.queued_at + it <= self.clock.now()) {
            return self.give_up(claim, "the time for what it asks has passed").await;
        }
        let rendition = match self.ports.letters.render(letter) {
            Ok(rendition) => rendition,
            Err(err @ RenderError::Unknown) => {
                return self.postpone(claim, worth, &err.to_string()).await;
            }
            Err(err @ (RenderError::Field(_) | RenderError::Template)) => {
                return self.give_up(claim, &err.to_string()).await;
            }
        };
        let mail = RenderedMail { id: claim.mail, to: letter.to.clone(), at: letter.at, rendition };
        match self.ports.relay.send(&mail).await {
            RelayOutcome::Accepted => self.sent(claim).await,
            RelayOutcome::Refused(why) => self.give_up(claim, &why).await,
            RelayOutcome::TryLater(why) => self.postpone(claim, worth, &why).await,
            RelayOutcome::Away(why) => {
                self.postpone(claim, worth, &why).await?;
                Ok(Delivery::RelayAway)
            }
        }
    }

    async fn sent(&self, claim: ClaimToken) -> Result<Delivery, Unavailable> {
        self.ports.outbox.sent(claim).await?;
        self.tally.sent();
        tracing::info!(mail.id = %claim.mail, mail.tries = claim.tries, "email sent");
        Ok(Delivery::Sent)
    }

    async fn postpone(
        &self,
        claim: ClaimToken,
        worth: Option<Duration>,
        why: &str,
    ) -> Result<Delivery, Unavailable> {
        let Some(next) = self.settings.next_try(claim, worth, self.clock.now()) else {
            return self.give_up(claim, why).await;
        };
        self.ports.outbox.retry(claim, next, why).await?;
        self.tally.postponed();
        tracing::warn!(
            mail.id = %claim.mail,
            mail.tries = claim.tries,
            mail.due = %next,
            reason = why,
            "email delivery failed; will retry"
        );
        Ok(Delivery::Postponed)
    }

    async fn give_up(&self, claim: ClaimToken, why: &str) -> Result<Delivery, Unavailable> {
        self.ports.outbox.give_up(claim, self.clock.now(), why).await?;
        self.tally.abandoned();
        tracing::error!(
            mail.id = %claim.mail,
            mail.tries = claim.tries,
            reason = why,
            "email delivery abandoned"
        );
        Ok(Delivery::Abandoned)
    }
}
