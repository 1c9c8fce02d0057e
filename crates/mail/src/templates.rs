//! Texts of the emails.

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

/// The letters that there are, in English and German.
///
/// Nothing in them is fetched when they are read, and what others chose, such
/// as the name of a passkey, stands in them as text alone.
#[derive(Debug, Clone)]
pub struct EmailTemplates {
    public_url: String,
    language: LiveSetting<Language>,
}

#[derive(Template)]
#[template(path = "letter.html")]
struct HtmlBody<'a> {
    language: &'static str,
    wording: &'a Wording,
    facts: &'a [(&'static str, String)],
    sender: &'a str,
}

#[derive(Template)]
#[template(path = "letter.txt")]
struct Text<'a> {
    wording: &'a Wording,
    facts: &'a [(&'static str, String)],
    sender: &'a str,
}

impl EmailTemplates {
    /// Letters of the server that is known as `public_url`, in `language`
    /// where it is not known which one somebody reads.
    pub fn new(public_url: impl Into<String>, language: LiveSetting<Language>) -> Self {
        Self { public_url: public_url.into(), language }
    }
}

impl EmailRenderer for EmailTemplates {
    fn render(&self, letter: &OutgoingEmail) -> Result<EmailContent, RenderError> {
        let kind = Email::parse(letter)?;
        let facts = Facts::from_email(letter, &kind);
        let facts = facts.as_ref();
        let language = letter.language.unwrap_or(*self.language.get());
        let (wording, facts, sender) = match language {
            Language::En => english::write(&kind, facts, &self.public_url),
            Language::De => german::write(&kind, facts, &self.public_url),
        };
        let (wording, facts, sender) = (&wording, facts.as_slice(), sender.as_str());
        let text = Text { wording, facts, sender }.render();
        let html = HtmlBody { language: language.tag(), wording, facts, sender }.render();
        Ok(EmailContent {
            subject: wording.subject.to_owned(),
            text: text.map_err(|_states_no_more| RenderError::Template)?,
            html: html.map_err(|_states_no_more| RenderError::Template)?,
        })
    }
}
