//! A mail as it goes over the wire.

use std::time::{Duration, SystemTime};

use lettre::Message;
use lettre::message::header::{Header, HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use pia_outbox::RenderedMail;

use crate::settings::{self, MailSettings};

/// Errors that prevent an email from being serialised for the wire.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MessageError {
    /// The address it goes to is none.
    #[error("the address is no e-mail address")]
    Address,
    /// A part of it is missing.
    #[error("the mail cannot be put together")]
    Form(#[source] lettre::error::Error),
}

/// Says that no person wrote it, so that no program answers it (RFC 3834).
#[derive(Clone)]
struct AutoSubmitted;

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_text: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "auto-generated".to_owned())
    }
}

/// Puts a mail together. Sent a second time it is the very same, by whose id
/// programs see that they have it already.
pub(crate) fn message(
    mail: &RenderedMail,
    settings: &MailSettings,
) -> Result<Message, MessageError> {
    let to = settings::address(&mail.to).map_err(|_quotes_it| MessageError::Address)?;
    let from = settings.from.address();
    let rendition = mail.rendition.clone();
    Message::builder()
        .from(Mailbox::new(Some(one_line(&settings.from_name)), from.clone()))
        .to(Mailbox::new(None, to))
        .subject(one_line(&rendition.subject))
        .date(date(mail))
        .message_id(Some(format!("<{}@{}>", mail.id, from.domain())))
        .header(AutoSubmitted)
        .multipart(MultiPart::alternative_plain_html(rendition.text, rendition.html))
        .map_err(MessageError::Form)
}

/// Returns the text as one line for a header. Neither should contain anything
/// else, but lettre panics on some of it.
fn one_line(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
}

fn date(mail: &RenderedMail) -> SystemTime {
    let since = u64::try_from(mail.at.micros()).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_micros(since)
}
