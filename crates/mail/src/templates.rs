//! Rendering of emails in English and German.
//!
//! `render` parses the template's name and fields (`kind.rs`), collects time,
//! address and program (`facts.rs`), writes the sentences (`english.rs` or
//! `german.rs`) and puts them into the layouts `templates/email.html` and
//! `email.txt`.

mod facts;
mod kind;
mod program;
mod wording;

mod english;
mod german;

#[cfg(test)]
mod tests;

use askama::Template;
use pia_kernel::{Language, LiveSetting};
use pia_outbox::{EmailContent, EmailRenderer, OutgoingEmail, RenderError};

use facts::Facts;
use kind::Email;
use wording::Wording;

/// Templates of all emails, in English and German.
///
/// Rendered emails load nothing from the network, and values chosen by users,
/// such as the name of a passkey, are escaped.
#[derive(Debug, Clone)]
pub struct EmailTemplates {
    public_url: String,
    language: LiveSetting<Language>,
}

#[derive(Template)]
#[template(path = "email.html")]
struct HtmlBody<'a> {
    language: &'static str,
    wording: &'a Wording,
    facts: &'a [(&'static str, String)],
    sender: &'a str,
}

#[derive(Template)]
#[template(path = "email.txt")]
struct TextBody<'a> {
    wording: &'a Wording,
    facts: &'a [(&'static str, String)],
    sender: &'a str,
}

impl EmailTemplates {
    /// Creates the templates of the server at `public_url`, in `language` if
    /// that of the recipient is unknown.
    pub fn new(public_url: impl Into<String>, language: LiveSetting<Language>) -> Self {
        Self { public_url: public_url.into(), language }
    }
}

impl EmailRenderer for EmailTemplates {
    fn render(&self, email: &OutgoingEmail) -> Result<EmailContent, RenderError> {
        let kind = Email::parse(email)?;
        let facts = Facts::from_email(email, &kind);
        let language = email.language.unwrap_or(*self.language.get());
        let wording = match language {
            Language::En => english::write(&kind, facts.as_ref(), &self.public_url),
            Language::De => german::write(&kind, facts.as_ref(), &self.public_url),
        };

        let text_body =
            TextBody { wording: &wording, facts: &wording.facts, sender: &wording.sender };
        let html_body = HtmlBody {
            language: language.tag(),
            wording: &wording,
            facts: &wording.facts,
            sender: &wording.sender,
        };

        Ok(EmailContent {
            subject: wording.subject.to_owned(),
            text: text_body.render().map_err(|_err| RenderError::Template)?,
            html: html_body.render().map_err(|_err| RenderError::Template)?,
        })
    }
}
