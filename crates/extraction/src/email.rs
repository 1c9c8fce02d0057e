//! Emails: main headers and text, with the parser of the crate `mail-parser`.
//!
//! The plain text is preferred; the HTML form is converted only if there is none.

use mail_parser::{Address, Message, MessageParser, MimeHeaders, PartType};
use pia_knowledge::ExtractError;

use crate::html;
use crate::markdown::{Markdown, one_line};
/// Converts an email into Markdown: its main headers and its text, without
/// attachments.
pub(crate) fn to_markdown(bytes: &[u8]) -> Result<String, ExtractError> {
    let message = MessageParser::default().parse(bytes).ok_or(ExtractError::Damaged)?;
    // A text without a main header is no email, even if it can be parsed.
    if message.from().is_none() && message.subject().is_none() && message.date().is_none() {
        return Err(ExtractError::Damaged);
    }
    if is_encrypted(&message) {
        return Err(ExtractError::Encrypted);
    }

    let mut out = Markdown::default();
    out.block(&headers(&message))?;
    let mut body = bodies(&message, &message.text_body)?;
    if body.is_empty() {
        body = bodies(&message, &message.html_body)?;
    }

    out.block(&body)?;

    Ok(out.finish())
}

/// Returns whether the text is encrypted, with S/MIME or PGP.
fn is_encrypted(message: &Message<'_>) -> bool {
    message.content_type().is_some_and(|it| {
        let subtype = it.subtype().unwrap_or_default();
        let smime = it.attribute("smime-type").unwrap_or_default();
        subtype.eq_ignore_ascii_case("encrypted")
            || (subtype.ends_with("pkcs7-mime") && !smime.eq_ignore_ascii_case("signed-data"))
    })
}

/// Returns the lines of the main headers.
fn headers(message: &Message<'_>) -> String {
    let fields = [
        ("Subject", message.subject().map(one_line)),
        ("From", message.from().map(addresses)),
        ("To", message.to().map(addresses)),
        ("Cc", message.cc().map(addresses)),
        ("Date", message.date().map(mail_parser::DateTime::to_rfc3339)),
    ];
    fields
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}: {}", value.filter(|it| !it.is_empty())?)))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns addresses with their names.
fn addresses(addresses: &Address<'_>) -> String {
    let formatted_addresses = addresses.iter().filter_map(|it| match (it.name(), it.address()) {
        (Some(name), Some(address)) => Some(format!("{} <{address}>", one_line(name))),
        (Some(it), None) | (None, Some(it)) => Some(one_line(it)),
        (None, None) => None,
    });
    formatted_addresses.collect::<Vec<_>>().join(", ")
}

/// Returns the text of parts.
fn bodies(message: &Message<'_>, parts: &[u32]) -> Result<String, ExtractError> {
    let mut out = Markdown::default();
    for part in parts.iter().filter_map(|it| message.part(*it)) {
        match &part.body {
            PartType::Text(text) => out.plain(text)?,
            PartType::Html(text) => out.block(&html::to_markdown(text)?)?,
            _ => {}
        }
    }
    Ok(out.finish())
}
