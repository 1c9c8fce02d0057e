//! Ports of the outbox sender and of the administrators' view.
//!
//! `storage-outbox` implements the two stores, `mail` the renderer and the
//! relay. A claim is valid until it expires or another one follows: methods
//! with an outdated `ClaimToken` change nothing, except `sent`.

use async_trait::async_trait;
use pia_kernel::{MailId, PageRequest, SideEffects, TimeOrder, Timestamp, Unavailable, UserId};

use crate::{
    ClaimToken, ClaimedEmail, EmailContent, MailCounts, MailRecord, MailState, OutgoingEmail,
    RenderedMail,
};

/// Queue of emails to be sent.
#[cfg_attr(test, mockall::automock)]
#[async_trait]
pub trait Outbox: Send + Sync {
    /// Claims one of the emails that are due, the longest due first, until
    /// `until`; `None` if none is due.
    ///
    /// Concurrent callers never get the same email. An email whose claim has
    /// expired, because the process that held it died, is due again.
    async fn claim(
        &self,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<ClaimResult>, Unavailable>;

    /// Deletes an email that was sent, with its content. Another claim on it
    /// has nothing left to send.
    async fn sent(&self, claim: ClaimToken) -> Result<(), Unavailable>;

    /// Postpones an email until `due_at`. Changes nothing if another claim on it followed.
    async fn retry(
        &self,
        claim: ClaimToken,
        due_at: Timestamp,
        failure: &str,
    ) -> Result<(), Unavailable>;

    /// Erases the content of an email and records why it was not sent. Changes
    /// nothing if another claim on it followed.
    async fn give_up(
        &self,
        claim: ClaimToken,
        at: Timestamp,
        failure: &str,
    ) -> Result<(), Unavailable>;

    /// Returns the number of emails waiting to be sent.
    async fn waiting(&self) -> Result<u64, Unavailable>;

    /// Deletes emails that were abandoned at or before `before`, and those that
    /// have waited since then because no server sends any. Returns the number
    /// of deleted emails.
    async fn sweep(&self, before: Timestamp) -> Result<u64, Unavailable>;
}

/// Result of claiming an email.
#[derive(Debug)]
pub enum ClaimResult {
    /// Claimed and readable.
    Mail(Box<ClaimedEmail>),
    /// Claimed, but sealed under a key that this server does not have; a server that is being set
    /// up again may have it.
    Locked(ClaimToken),
    /// Claimed, but unreadable for ever.
    Ruined(ClaimToken),
}

/// Store of the emails that wait and of those that failed, for administrators.
#[cfg_attr(test, mockall::automock)]
#[async_trait]
pub trait MailQueueStore: Send + Sync {
    /// Loads up to `page.limit` emails in this order, to one user or to all, and
    /// of one state or of all.
    async fn page(
        &self,
        user: Option<UserId>,
        state: Option<MailState>,
        order: TimeOrder,
        page: PageRequest,
    ) -> Result<Vec<MailRecord>, Unavailable>;

    /// Loads one email.
    async fn find(&self, mail: MailId) -> Result<Option<MailRecord>, Unavailable>;

    /// Counts the emails by their state.
    async fn counts(&self) -> Result<MailCounts, Unavailable>;

    /// Makes a waiting email due that no live claim holds. Returns whether there was
    /// such an email.
    async fn make_due(
        &self,
        mail: MailId,
        now: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Deletes an email that no live claim holds, and records its template in the
    /// changes of the audit entry. Returns whether there was such an email.
    async fn discard(
        &self,
        mail: MailId,
        now: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;
}

/// Renderer of emails.
#[cfg_attr(test, mockall::automock)]
pub trait EmailRenderer: Send + Sync {
    /// Renders an email in its language. Field values are untrusted and are
    /// escaped.
    fn render(&self, email: &OutgoingEmail) -> Result<EmailContent, RenderError>;
}

/// Errors that prevent an email from being rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// Template is unknown to this version. A newer one that is being deployed
    /// may know it.
    #[error("no email template has this name")]
    Unknown,
    /// Required field is missing or malformed.
    #[error("field `{0}` of the email is missing or has another type")]
    Field(&'static str),
    /// Template could not be rendered, whatever its values.
    #[error("the email could not be rendered")]
    Template,
}

/// Relay that emails are delivered to.
#[cfg_attr(test, mockall::automock)]
#[async_trait]
pub trait Relay: Send + Sync {
    /// Delivers one email. Ends within a bounded time.
    async fn send(&self, mail: &RenderedMail) -> RelayOutcome;

    /// Closes idle connections when there is nothing to send.
    async fn rest(&self);
}

/// Result of passing an email to the relay. Reasons contain no personal data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelayOutcome {
    /// Relay accepted the email and is responsible for it.
    Accepted,
    /// Relay rejects this email permanently.
    Refused(String),
    /// Relay rejects this email for now.
    TryLater(String),
    /// Relay accepts no email at all: it is unreachable, or rejects this
    /// server.
    Away(String),
}
