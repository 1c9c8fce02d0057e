//! Question of a conversation: the user's last message.

use serde::Deserialize;

use crate::request::array_elements::ArrayElements;

/// Minimum number of words of a question that stands alone. A shorter one
/// refers to the message before it: "And in Austria?"
const MIN_WORDS: usize = 6;

/// Message, as far as it may be a question.
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

/// Returns the question of a conversation, which ends with a message of the
/// user; `None` if it ends otherwise, with the result of a tool for example.
/// `messages` is a JSON array.
pub(crate) fn question(messages: &[u8]) -> Option<String> {
    let elements = serde_json::from_slice::<ArrayElements<'_>>(messages).ok()?;
    let mut messages = elements.first.into_iter().rev().filter_map(|it| {
        // A content of another form has no text.
        serde_json::from_str::<Message>(it.get()).ok()
    });
    let last = messages.next().filter(|it| it.role == "user")?.content.into_text();
    let last = last.trim();
    if last.split_whitespace().count() >= MIN_WORDS {
        return Some(last.to_owned());
    }
    let earlier = messages.find(|it| it.role == "user").map(|it| it.content.into_text());
    let question = format!("{}\n{last}", earlier.unwrap_or_default().trim()).trim().to_owned();
    (!last.is_empty()).then_some(question)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_message_of_the_user_is_the_question() {
        let long = r#"[{"role":"system","content":"x"},
            {"role":"user","content":"Who pays for the railway tickets of guests?"}]"#;
        let question_of = |it: &str| question(it.as_bytes());
        assert_eq!(
            question_of(long).as_deref(),
            Some("Who pays for the railway tickets of guests?")
        );
        let parts = r#"[{"role":"user","content":[{"type":"text","text":"Which one is it?"},
            {"type":"image_url","image_url":{"url":"data:x"}}]}]"#;
        assert_eq!(question_of(parts).as_deref(), Some("Which one is it?"));
    }

    #[test]
    fn a_short_question_is_read_with_the_one_before() {
        let messages = r#"[{"role":"user","content":"Who pays for tickets in Germany?"},
            {"role":"assistant","content":"We do."},{"role":"user","content":"And in Austria?"}]"#;
        let expected = "Who pays for tickets in Germany?\nAnd in Austria?";
        assert_eq!(question(messages.as_bytes()).as_deref(), Some(expected));
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
            assert_eq!(question(messages.as_bytes()), None, "{messages}");
        }
    }
}
