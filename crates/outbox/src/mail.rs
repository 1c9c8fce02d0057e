//! A mail on its way out.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use pia_kernel::{Language, MailId, Timestamp};

/// A mail that it is our turn to send.
#[derive(Debug)]
pub struct ClaimedEmail {
    /// The claim under which we send it.
    pub claim: ClaimToken,
    /// The email's content.
    pub email: OutgoingEmail,
}

/// The right to send a mail, for as long as nobody else gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimToken {
    /// Id of the email.
    pub mail: MailId,
    /// Number of times it was claimed, this time included; the next claim
    /// increments it.
    pub tries: u32,
    /// Time since which it is queued.
    pub queued_at: Timestamp,
}

/// Content of an email, before it is rendered in a language. Its `Debug` shows
/// only the template's name.
#[derive(Clone, PartialEq, Eq)]
pub struct OutgoingEmail {
    /// The address it goes to.
    pub to: String,
    /// Name of the email template: `password-reset`.
    pub name: String,
    /// Values of the template's fields, by name.
    pub fields: BTreeMap<String, String>,
    /// Language; the operator's default if unknown.
    pub language: Option<Language>,
    /// Time at which it was written.
    pub at: Timestamp,
    /// From where what it is about was done.
    pub address: Option<IpAddr>,
    /// And with what.
    pub agent: Option<String>,
}

impl OutgoingEmail {
    /// For how many hours what it requests can be done.
    pub fn hours(&self) -> Option<u32> {
        self.fields.get("hours").and_then(|it| it.parse().ok())
    }

    /// For how long it is worth being read.
    pub fn worth(&self) -> Option<Duration> {
        self.hours().map(|it| Duration::from_hours(it.into()))
    }
}

impl fmt::Debug for OutgoingEmail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OutgoingLetter").field(&self.name).finish()
    }
}

/// Rendered email. It has no `Debug`: it may contain links that grant access to
/// an account.
#[derive(Clone, PartialEq, Eq)]
pub struct EmailContent {
    /// Subject, one line.
    pub subject: String,
    /// Text for programs that show no HTML.
    pub text: String,
    /// HTML version.
    pub html: String,
}

/// A mail as a relay takes it.
#[derive(Clone, PartialEq, Eq)]
pub struct RenderedMail {
    /// Id by which a repeated delivery is recognised.
    pub id: MailId,
    /// The address it goes to.
    pub to: String,
    /// Time at which it was written.
    pub at: Timestamp,
    /// Rendered content.
    pub rendition: EmailContent,
}
