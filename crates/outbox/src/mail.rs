//! A mail on its way out.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use pia_kernel::{Language, MailId, Timestamp};

/// A mail that it is our turn to send.
#[derive(Debug)]
pub struct ClaimedEmail {
    /// Which one, and by which right it is ours.
    pub claim: ClaimToken,
    /// What it says.
    pub email: OutgoingEmail,
}

/// The right to send a mail, for as long as nobody else gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimToken {
    /// Which mail.
    pub mail: MailId,
    /// How often it was claimed, this time included: whoever claims it after
    /// us makes it one more.
    pub tries: u32,
    /// Since when it waits.
    pub queued_at: Timestamp,
}

/// What a mail says, in whichever language it is then written. Its `Debug`
/// shows no more than which letter it is.
#[derive(Clone, PartialEq, Eq)]
pub struct OutgoingEmail {
    /// The address it goes to.
    pub to: String,
    /// Which letter it is: `password-reset`.
    pub name: String,
    /// What is filled in, by name.
    pub fields: BTreeMap<String, String>,
    /// In which language; the operator's choice if it is not known.
    pub language: Option<Language>,
    /// When it was written.
    pub at: Timestamp,
    /// From where what it is about was done.
    pub address: Option<IpAddr>,
    /// And with what.
    pub agent: Option<String>,
}

impl OutgoingEmail {
    /// For how many hours what it asks for can be done.
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

/// What a letter reads like. It has no `Debug`: it may hold links that open
/// an account.
#[derive(Clone, PartialEq, Eq)]
pub struct EmailContent {
    /// Its subject, one line.
    pub subject: String,
    /// Its text for programs that show no HTML.
    pub text: String,
    /// The same as a page.
    pub html: String,
}

/// A mail as a relay takes it.
#[derive(Clone, PartialEq, Eq)]
pub struct RenderedMail {
    /// By which it is known again, should it be sent twice.
    pub id: MailId,
    /// The address it goes to.
    pub to: String,
    /// When it was written.
    pub at: Timestamp,
    /// What it reads like.
    pub rendition: EmailContent,
}
