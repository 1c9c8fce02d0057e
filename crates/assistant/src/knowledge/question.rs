//! Question of a conversation: the user's last message.
//!
//! A question such as "And in Austria?" cannot be searched for alone. `rewriting.rs` lets a
//! model rewrite the text of `with_conversation`, or without a model searches for
//! `with_previous`, in which the user's message before precedes a short question.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::optimize::sanitise::clean;
use crate::request::array_elements::ArrayElements;

/// Minimum number of words of a question that stands alone. A shorter one
/// refers to the message before it: "And in Austria?"
const MIN_WORDS: usize = 6;
/// Maximum number of earlier messages that explain a question.
const MAX_EARLIER: usize = 6;
/// Maximum length of such a message, in characters.
const MAX_EARLIER_CHARS: usize = 1_000;
/// Maximum length of a question that others may explain, in characters. A longer
/// one is a text of its own.
const MAX_QUESTION_CHARS: usize = 2_000;

/// Question of a conversation, with the messages before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserQuestion {
    text: String,
    /// Messages of user and model before the question, the latest first.
    earlier: Vec<TextMessage>,
}

impl UserQuestion {
    /// Parses the question of a conversation, which ends with a message of the
    /// user; `None` if it ends otherwise, with the result of a tool for example.
    /// `messages` is a JSON array.
    pub(crate) fn parse(messages: &[u8]) -> Option<Self> {
        let elements = serde_json::from_slice::<ArrayElements<'_>>(messages).ok()?;
        let mut messages =
            elements.first.into_iter().rev().filter_map(|it| TextMessage::parse(it.get()));
        let question = messages.next().filter(|it| it.is_of_user() && !it.text.is_empty())?;
        let earlier = messages.filter(TextMessage::is_talk).take(MAX_EARLIER).collect();
        Some(Self { text: question.text, earlier })
    }

    /// Returns the question, together with the one before if it is short.
    pub(crate) fn with_previous(&self) -> String {
        let is_short = self.text.split_whitespace().count() < MIN_WORDS;
        match self.earlier.iter().find(|it| it.is_of_user()) {
            Some(previous) if is_short => format!("{}\n{}", previous.text, self.text),
            _ => self.text.clone(),
        }
    }

    /// Formats the question and the messages before it for a model; `None` if the
    /// user has said nothing before that the question could refer to.
    pub(crate) fn with_conversation(&self) -> Option<String> {
        let is_follow_up = self.earlier.iter().any(TextMessage::is_of_user);
        if !is_follow_up || self.text.chars().count() > MAX_QUESTION_CHARS {
            return None;
        }

        let mut output = String::from("<conversation>\n");
        for message in self.earlier.iter().rev() {
            let text: String = clean(&message.text).chars().take(MAX_EARLIER_CHARS).collect();
            // Writing to a string cannot fail.
            let _infallible = writeln!(output, "{}: {text}", message.role);
        }

        let question = clean(&self.text);
        let _infallible = write!(output, "</conversation>\n<question>\n{question}\n</question>");

        Some(output)
    }
}

/// Role and text of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TextMessage {
    role: String,
    text: String,
}

impl TextMessage {
    /// Parses a message. A content without a text is empty.
    fn parse(json: &str) -> Option<Self> {
        let Message { role, content } = serde_json::from_str(json).ok()?;
        Some(Self { role, text: content.into_text().trim().to_owned() })
    }

    /// Returns whether the user or the model says something.
    fn is_talk(&self) -> bool {
        matches!(self.role.as_str(), "user" | "assistant") && !self.text.is_empty()
    }

    fn is_of_user(&self) -> bool {
        self.role == "user"
    }
}

/// Message of a request.
#[derive(Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Content,
}

/// Content of a message.
#[derive(Default, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
    #[default]
    Other,
}

/// Part of a content; pictures have no text.
#[derive(Deserialize)]
struct ContentPart {
    #[serde(default)]
    text: String,
}

impl Content {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => {
                let texts = parts.into_iter().map(|it| it.text).filter(|it| !it.is_empty());
                texts.collect::<Vec<_>>().join("\n")
            }
            Self::Other => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conversation about tickets, with a question that refers back.
    const FOLLOW_UP: &str = r#"[{"role":"system","content":"Be kind."},
        {"role":"user","content":"Who pays for tickets in Germany?"},
        {"role":"assistant","content":null,"tool_calls":[]},
        {"role":"tool","content":"secret"},
        {"role":"assistant","content":"We do.<|im_end|>"},
        {"role":"user","content":"And in Austria?"}]"#;

    fn with_previous(messages: &str) -> Option<String> {
        UserQuestion::parse(messages.as_bytes()).map(|it| it.with_previous())
    }

    #[test]
    fn the_last_message_of_the_user_is_the_question() {
        let text_message = r#"[{"role":"system","content":"x"},
            {"role":"user","content":"Who pays for the railway tickets of guests?"}]"#;
        let expected = "Who pays for the railway tickets of guests?";
        assert_eq!(with_previous(text_message).as_deref(), Some(expected));

        let message_of_parts = r#"[{"role":"user","content":[{"type":"text","text":"Which one is it?"},
            {"type":"image_url","image_url":{"url":"data:x"}}]}]"#;
        assert_eq!(with_previous(message_of_parts).as_deref(), Some("Which one is it?"));
    }

    #[test]
    fn a_short_question_is_read_with_the_one_before() {
        let expected = "Who pays for tickets in Germany?\nAnd in Austria?";
        assert_eq!(with_previous(FOLLOW_UP).as_deref(), Some(expected));
    }

    #[test]
    fn a_conversation_that_ends_otherwise_has_none() {
        for messages in [
            "[]",
            "{",
            r#"[{"role":"user","content":"Hi"},{"role":"tool","content":"7"}]"#,
            r#"[{"role":"user","content":"  "}]"#,
            r#"[{"role":"user","content":null}]"#,
        ] {
            assert_eq!(UserQuestion::parse(messages.as_bytes()), None, "{messages}");
        }
    }

    #[test]
    fn earlier_messages_explain_a_question_that_follows_another() {
        let question = UserQuestion::parse(FOLLOW_UP.as_bytes()).unwrap();
        let expected = "<conversation>\nuser: Who pays for tickets in Germany?\n\
                        assistant: We do.\u{2039}|im_end|>\n</conversation>\n\
                        <question>\nAnd in Austria?\n</question>";
        assert_eq!(question.with_conversation().as_deref(), Some(expected));

        let greeting = r#"[{"role":"assistant","content":"Hi!"},
            {"role":"user","content":"Why?"}]"#;
        let first_question = UserQuestion::parse(greeting.as_bytes()).unwrap();
        assert_eq!(first_question.with_conversation(), None);

        let long_question = UserQuestion { text: "x".repeat(MAX_QUESTION_CHARS + 1), ..question };
        assert_eq!(long_question.with_conversation(), None);
    }

    #[test]
    fn messages_that_explain_a_question_are_limited() {
        let message = TextMessage { role: "user".to_owned(), text: "x".repeat(50_000) };
        let earlier = vec![message; MAX_EARLIER];
        let question = UserQuestion { text: "Why?".to_owned(), earlier };

        let length = question.with_conversation().unwrap().len();

        // Each message has its role beside the text, and the question its tags.
        assert!(length < (MAX_EARLIER_CHARS + 10) * MAX_EARLIER + 100, "{length}");
    }
}
