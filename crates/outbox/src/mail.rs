//! Emails on their way: claimed from the queue, rendered, ready for the
//! relay.
//!
//! `OutgoingEmail` has a template's name and its fields; `EmailContent` is
//! the text in one language. The content is rendered at each attempt and not
//! stored.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use pia_kernel::{Language, MailId, Timestamp};

/// Email that this server has claimed for delivery.
#[derive(Debug)]
pub struct ClaimedEmail {
    /// Claim under which it is sent.
    pub claim: ClaimToken,
    /// Email to render, as its sealed row contains it.
    pub email: OutgoingEmail,
}

/// Exclusive right to send an email, until it expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimToken {
    /// Email that is claimed.
    pub mail: MailId,
    /// Number of times it was claimed, this time included; the next claim
    /// increments it.
    pub tries: u32,
    /// Time when it was queued.
    pub queued_at: Timestamp,
}

/// Content of an email, before it is rendered in a language. Its `Debug` shows
/// only the template's name.
#[derive(Clone, PartialEq, Eq)]
pub struct OutgoingEmail {
    /// Address of the recipient.
    pub to: String,
    /// Name of the email template: `password-reset`.
    pub name: String,
    /// Values of the template's fields, by name.
    pub fields: BTreeMap<String, String>,
    /// Language; the operator's default if unknown.
    pub language: Option<Language>,
    /// Time when it was written.
    pub at: Timestamp,
    /// Client address of the request that caused it.
    pub address: Option<IpAddr>,
    /// User agent of that request.
    pub agent: Option<String>,
}

impl OutgoingEmail {
    /// Returns the number of hours for which its link is valid, if it has one.
    pub fn hours(&self) -> Option<u32> {
        self.fields.get("hours").and_then(|it| it.parse().ok())
    }

    /// Returns the time after which it is useless.
    pub fn lifetime(&self) -> Option<Duration> {
        self.hours().map(|it| Duration::from_hours(it.into()))
    }
}

impl fmt::Debug for OutgoingEmail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OutgoingEmail").field(&self.name).finish()
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

/// Email as a relay accepts it.
#[derive(Clone, PartialEq, Eq)]
pub struct RenderedMail {
    /// Id by which a repeated delivery is recognised.
    pub id: MailId,
    /// Address of the recipient.
    pub to: String,
    /// Time when it was written.
    pub at: Timestamp,
    /// Subject and bodies in the recipient's language.
    pub rendition: EmailContent,
}
