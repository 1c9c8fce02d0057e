//! Texts in each language.
//!
//! `const TITLE: Text = Text::new("Groups", "Gruppen");`: both languages stand side
//! by side, and `PageContext::t` chooses.

use pia_kernel::Language;

/// Text in each language. `{}` stands for a value, in the same order in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Text {
    en: &'static str,
    de: &'static str,
}

/// Text of an error in the language of a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ErrorText {
    pub(crate) text: String,
    /// English message that a text in another language leaves out; empty for
    /// none.
    pub(crate) quote: String,
}

impl ErrorText {
    /// Creates a text without a quote.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), quote: String::new() }
    }

    /// Creates the text of an error whose reason is known in English only: a text
    /// that the English message follows, or in English the message itself.
    pub(crate) fn quoting(language: Language, text: &str, message: &str) -> Self {
        let message = sentence(message);
        match language {
            Language::En => Self::new(message),
            Language::De => Self { text: text.to_owned(), quote: message },
        }
    }
}

/// Returns a message as a sentence, with a capital and a full stop.
pub(crate) fn sentence(message: &str) -> String {
    let mut characters = message.chars();
    let mut sentence = String::new();
    sentence.extend(characters.next().into_iter().flat_map(char::to_uppercase));
    sentence.push_str(characters.as_str());
    if !sentence.is_empty() && !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}

impl Text {
    /// Creates a text.
    pub(crate) const fn new(en: &'static str, de: &'static str) -> Self {
        Self { en, de }
    }

    /// Returns the text in a language.
    pub(crate) fn of(self, language: Language) -> &'static str {
        match language {
            Language::En => self.en,
            Language::De => self.de,
        }
    }

    /// Returns the text in a language with its values.
    pub(crate) fn fill(self, language: Language, values: &[&str]) -> String {
        let mut values = values.iter();
        let mut parts = self.of(language).split("{}");
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            filled.push_str(values.next().copied().unwrap_or_default());
            filled.push_str(part);
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_quoted_as_sentences() {
        let english = |message| ErrorText::quoting(Language::En, "", message).text;

        assert_eq!(english("the name must not be empty"), "The name must not be empty.");
        assert_eq!(english("Enter a name."), "Enter a name.");
    }

    #[test]
    fn values_replace_the_placeholders_and_are_not_searched_for_more() {
        let text = Text::new("{} of {} members", "{} von {} Mitgliedern");

        assert_eq!(text.fill(Language::En, &["3", "{}"]), "3 of {} members");
        assert_eq!(text.fill(Language::De, &["3"]), "3 von  Mitgliedern");
    }
}
