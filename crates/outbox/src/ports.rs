//! Ports of the outbox sender.

use async_trait::async_trait;
use pia_kernel::{Timestamp, Unavailable};

use crate::{ClaimToken, ClaimedEmail, EmailContent, OutgoingEmail, RenderedMail};

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

/// Queue of emails to be sent.
#[cfg_attr(test, mockall::automock)]
#[async_trait]
pub trait Outbox: Send + Sync {
    /// Takes one of the mails that are due, the longest due first, for us
    /// alone until `until`; nothing if none is due.
    ///
    /// However many ask at once, a mail goes to one of them. One whose claim
    /// ended, because the process that had it died, is due again.
    async fn claim(
        &self,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<ClaimResult>, Unavailable>;

    /// Forgets a mail that was sent, and all that it said. Whoever claimed it
    /// since has nothing left to send.
    async fn sent(&self, claim: ClaimToken) -> Result<(), Unavailable>;

    /// Lets a mail wait until `due_at`, unless somebody claimed it since.
    async fn retry(
        &self,
        claim: ClaimToken,
        due_at: Timestamp,
        failure: &str,
    ) -> Result<(), Unavailable>;

    /// Wipes what a mail says and keeps why it was not sent, unless somebody
    /// claimed it since.
    async fn give_up(
        &self,
        claim: ClaimToken,
        at: Timestamp,
        failure: &str,
    ) -> Result<(), Unavailable>;

    /// Returns the number of emails waiting to be sent.
    async fn waiting(&self) -> Result<u64, Unavailable>;

    /// Forgets the mails that were given up at or before `before`, and those
    /// that wait since then because nobody sends any. Answers how many.
    async fn sweep(&self, before: Timestamp) -> Result<u64, Unavailable>;
}

/// Errors that prevent an email from being rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// This version knows no letter of this name. A newer one may, which is
    /// just being set up beside it.
    #[error("no letter has this name")]
    Unknown,
    /// Something is missing without which it makes no sense.
    #[error("the letter's field `{0}` is missing or has another form")]
    Field(&'static str),
    /// Template could not be rendered, whatever its values.
    #[error("the letter could not be written")]
    Template,
}

/// Renderer of emails.
#[cfg_attr(test, mockall::automock)]
pub trait EmailRenderer: Send + Sync {
    /// Writes a letter in its language. What is filled in was chosen by others
    /// and is shown as what it is, not as part of the letter's form.
    fn render(&self, letter: &OutgoingEmail) -> Result<EmailContent, RenderError>;
}

/// Result of passing an email to the relay. Reasons contain no personal data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelayOutcome {
    /// The relay has it, and answers for it from now on.
    Accepted,
    /// The relay does not want this mail, now or later.
    Refused(String),
    /// The relay may want this mail later.
    TryLater(String),
    /// The relay takes nobody's mail now: it is away, or does not know us.
    Away(String),
}

/// Whom mails are handed to.
#[cfg_attr(test, mockall::automock)]
#[async_trait]
pub trait Relay: Send + Sync {
    /// Hands one mail over. Ends within a bounded time.
    async fn send(&self, mail: &RenderedMail) -> RelayOutcome;

    /// Reported when there is nothing to send for now.
    async fn rest(&self);
}
