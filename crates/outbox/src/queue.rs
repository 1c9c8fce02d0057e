//! Outbox as administrators see it: without the content of emails.
//!
//! An administrator retries or discards an email only while no server claims
//! it; `retry` only makes it due, and the worker sends it.

use std::sync::Arc;

use pia_kernel::{
    Clock, Cursor, EffectWriter, LiveSetting, MailId, Page, PageRequest, QueuedEmail, SideEffects,
    TimeOrder, Timestamp, Unavailable, UserId, named_variants,
};

use crate::{MailQueueStore, OutboxSender, Tally};

/// Template of the email that tests the relay.
const TEST_TEMPLATE: &str = "relay-test";
/// Unsent emails of an administrator that are searched for a test.
const SEARCHED_EMAILS: PageRequest = PageRequest { after: None, limit: 100 };

/// Email in the outbox, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailRecord {
    /// Id by which administrators retry or discard it.
    pub id: MailId,
    /// Name of its template: `password-reset`.
    pub template: String,
    /// Account that it is for, if it is for one.
    pub user: Option<UserId>,
    /// Address of the recipient, if it is known.
    pub address: Option<String>,
    /// Time when it was queued.
    pub queued_at: Timestamp,
    /// Time of the next attempt, unless it failed.
    pub due_at: Timestamp,
    /// End of the claim under which it is being sent.
    pub claimed_until: Option<Timestamp>,
    /// Number of attempts, a current one included.
    pub tries: u32,
    /// Time when it was abandoned.
    pub failed_at: Option<Timestamp>,
    /// Reason why the last attempt failed.
    pub failure: Option<String>,
}

named_variants! {
    /// State of an email in the outbox, with its name in queries.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum MailState {
        /// First attempt is still to come.
        Waiting = "waiting",
        /// An attempt failed, and another follows.
        Postponed = "postponed",
        /// Abandoned: its content is erased.
        Failed = "failed",
    }
}

/// Numbers of emails by their state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MailCounts {
    /// Emails whose first attempt is still to come.
    pub waiting: u64,
    /// Emails that are tried again.
    pub postponed: u64,
    /// Abandoned emails.
    pub failed: u64,
}

/// Reasons why nothing was done to an email.
#[derive(Debug, thiserror::Error)]
pub enum MailQueueError {
    /// Email is unknown, or was sent and deleted.
    #[error("no such email in the outbox")]
    Unknown,
    /// Email is being sent, or its state allows no other attempt.
    #[error("the email is being sent at the moment, or is abandoned")]
    Busy,
    /// No relay is configured.
    #[error("no relay for emails is configured")]
    NotConfigured,
    /// The store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Administrators' view of the outbox.
#[derive(Clone)]
pub struct MailQueue {
    store: Arc<dyn MailQueueStore>,
    effects: Arc<dyn EffectWriter>,
    sender: OutboxSender,
    configured: LiveSetting<bool>,
    clock: Arc<dyn Clock>,
}

impl MailRecord {
    /// Returns the state, which follows from the last attempt.
    pub fn state(&self) -> MailState {
        match (self.failed_at, &self.failure) {
            (Some(_), _) => MailState::Failed,
            (None, Some(_)) => MailState::Postponed,
            (None, None) => MailState::Waiting,
        }
    }

    /// Returns whether the email is being sent.
    pub fn is_claimed(&self, now: Timestamp) -> bool {
        self.claimed_until.is_some_and(|it| it > now)
    }
}

impl MailQueue {
    /// Creates the view of an outbox. `configured` is true if a relay is
    /// configured; `sender` is this instance's.
    pub fn new(
        store: Arc<dyn MailQueueStore>,
        effects: Arc<dyn EffectWriter>,
        sender: OutboxSender,
        configured: LiveSetting<bool>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, effects, sender, configured, clock }
    }

    /// Returns whether a relay is configured.
    pub fn is_configured(&self) -> bool {
        *self.configured.get()
    }

    /// Returns the counters of this instance since its start.
    pub fn tally(&self) -> &Tally {
        self.sender.tally()
    }

    /// Lists the emails to one user or to all, of one state or of all, in this
    /// order.
    pub async fn list(
        &self,
        user: Option<UserId>,
        state: Option<MailState>,
        order: TimeOrder,
        page: PageRequest,
    ) -> Result<Page<MailRecord>, Unavailable> {
        let records = self.store.page(user, state, order, page.and_one_more()).await?;
        Ok(page.into_page(records, |it| Cursor { at: it.queued_at, id: it.id.0 }))
    }

    /// Counts the emails by their state.
    pub async fn counts(&self) -> Result<MailCounts, Unavailable> {
        self.store.counts().await
    }

    /// Returns an email.
    pub async fn find(&self, mail: MailId) -> Result<MailRecord, MailQueueError> {
        self.store.find(mail).await?.ok_or(MailQueueError::Unknown)
    }

    /// Sends an email now that waits for its next attempt, with the
    /// administrator's audit entry. An abandoned one has no content any more.
    pub async fn retry(&self, by: UserId, mail: MailId) -> Result<(), MailQueueError> {
        let (now, effects) = self.effects_on(by, mail, "Mail.Retried");
        let is_done = self.store.make_due(mail, now, effects).await?;
        self.finish(mail, is_done).await
    }

    /// Deletes an email that is not being sent, with the administrator's audit
    /// entry.
    pub async fn discard(&self, by: UserId, mail: MailId) -> Result<(), MailQueueError> {
        let (now, effects) = self.effects_on(by, mail, "Mail.Discarded");
        let is_done = self.store.discard(mail, now, effects).await?;
        self.finish(mail, is_done).await
    }

    /// Queues an email to the administrator that tests the relay.
    pub async fn send_test(&self, by: UserId) -> Result<(), MailQueueError> {
        if !self.is_configured() {
            return Err(MailQueueError::NotConfigured);
        }
        let now = self.clock.now();
        let mail = QueuedEmail::new(TEST_TEMPLATE).to_user(now, by);
        let effects = SideEffects::audit(now, by, "Mail.TestSent").and_mail(mail);
        Ok(self.effects.write(&effects).await?)
    }

    /// Returns the newest test email to the administrator that is not sent yet, or that
    /// failed. Those from before `since` say nothing about the relay of today.
    pub async fn unsent_test(
        &self,
        by: UserId,
        since: Option<Timestamp>,
    ) -> Result<Option<MailRecord>, Unavailable> {
        let emails = self.store.page(Some(by), None, TimeOrder::Newest, SEARCHED_EMAILS).await?;
        let newest = emails.into_iter().find(|it| it.template == TEST_TEMPLATE);
        let is_recent = |it: &MailRecord| since.is_none_or(|since| it.queued_at >= since);
        Ok(newest.filter(is_recent))
    }

    /// Returns whether an email that was queued since then, or at any time, is tried again.
    pub async fn is_retrying(&self, since: Option<Timestamp>) -> Result<bool, Unavailable> {
        let newest_only = PageRequest { after: None, limit: 1 };
        let state = Some(MailState::Postponed);
        let emails = self.store.page(None, state, TimeOrder::Newest, newest_only).await?;
        let is_recent = |it: &MailRecord| since.is_none_or(|since| it.queued_at >= since);
        Ok(emails.first().is_some_and(is_recent))
    }

    fn effects_on(
        &self,
        by: UserId,
        mail: MailId,
        action: &'static str,
    ) -> (Timestamp, SideEffects) {
        let now = self.clock.now();
        (now, SideEffects::of_object(now, Some(by), format!("mail:{mail}"), action))
    }

    async fn finish(&self, mail: MailId, is_done: bool) -> Result<(), MailQueueError> {
        if is_done {
            return Ok(());
        }
        // Fails if the email is unknown; otherwise it is claimed or abandoned.
        self.find(mail).await?;
        Err(MailQueueError::Busy)
    }
}

#[cfg(test)]
mod tests;
