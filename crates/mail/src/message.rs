//! Emails in the form of RFC 5322.

use std::time::{Duration, SystemTime};

use lettre::Message;
use lettre::message::header::{Header, HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use pia_outbox::RenderedMail;

use crate::settings::{self, MailSettings};

/// Errors that prevent an email from being serialised.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MessageError {
    /// Recipient is not a valid address.
    #[error("the email address is invalid")]
    Address,
    /// Required part is missing.
    #[error("the message can't be built")]
    Form(#[source] lettre::error::Error),
}

/// Header that marks an email as generated, so that no program replies to it
/// (RFC 3834).
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

/// Builds the message of an email. Repeated calls return the same message, with
/// the id by which clients recognise duplicates.
pub(crate) fn build_message(
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

/// Returns the text as one line for a header. lettre panics on some control
/// characters.
fn one_line(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
}

fn date(mail: &RenderedMail) -> SystemTime {
    let micros = u64::try_from(mail.at.micros()).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_micros(micros)
}
