//! The messages of a request, checked without copying them.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::Violation;
use crate::gateway::estimate;
use crate::json::Elements;

/// A request that is wrong everywhere is told so this often.
const MOST_VIOLATIONS: usize = 20;
const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

/// What an image costs, roughly, whatever its bytes.
const TOKENS_OF_AN_IMAGE: i64 = 1000;
/// What surrounds each message.
const TOKENS_OF_A_MESSAGE: i64 = 4;

/// What is known of messages that were looked through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spoken {
    /// Our estimate of their tokens.
    pub(crate) tokens: i64,
    /// Whether there are pictures among them.
    pub(crate) pictures: bool,
}

/// Checks the messages and estimates their tokens.
pub(crate) fn check(messages: Option<&RawValue>, wrong: &mut Vec<Violation>) -> Spoken {
    let Some(messages) = messages else {
        wrong.push(Violation::new("messages", "required", "The messages are missing."));
        return Spoken::default();
    };
    let Ok(Elements { first, count }) = serde_json::from_str(messages.get()) else {
        wrong.push(Violation::new("messages", "invalid_type", "The messages must be an array."));
        return Spoken::default();
    };
    if count == 0 {
        wrong.push(Violation::new("messages", "empty", "There must be at least one message."));
    }
    if count > Elements::MOST {
        let message = format!("There must not be more than {} messages.", Elements::MOST);
        wrong.push(Violation::new("messages", "too_many", message));
        return Spoken::default();
    }
    let (mut tokens, mut pictures) = (0, false);
    for (at, message) in first.into_iter().enumerate() {
        tokens += check_message(at, message, wrong);
        pictures |= message.get().contains("image_url");
        if wrong.len() >= MOST_VIOLATIONS {
            break;
        }
    }
    Spoken { tokens, pictures }
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
}

fn check_message(at: usize, json: &RawValue, wrong: &mut Vec<Violation>) -> i64 {
    // serde would take an array for a struct, too.
    let message = json.get().starts_with('{').then(|| serde_json::from_str(json.get()));
    let Some(Ok(Message { role, content, tool_calls })) = message else {
        let message = "A message must be an object with each key once.";
        wrong.push(Violation::new(format!("messages[{at}]"), "invalid_type", message));
        return 0;
    };
    check_role(at, role, wrong);
    let calls = tool_calls.map_or(0, |it| estimate(it.get().len()));
    let content = content.map_or(Some(0), tokens_of);
    if content.is_none() {
        let message = "The content must be a string, an array of parts, or null.";
        wrong.push(Violation::new(format!("messages[{at}].content"), "invalid_type", message));
    }
    TOKENS_OF_A_MESSAGE + calls + content.unwrap_or(0)
}

fn check_role(at: usize, role: Option<&RawValue>, wrong: &mut Vec<Violation>) {
    #[derive(Deserialize)]
    struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

    let (code, message) = match role.map(|it| serde_json::from_str(it.get())) {
        Some(Ok(Name(role))) if ROLES.contains(&role.as_ref()) => return,
        Some(Ok(_)) => ("unknown_value", format!("The role must be one of {}.", ROLES.join(", "))),
        Some(Err(_)) => ("invalid_type", "The role must be a string.".to_owned()),
        None => ("required", "The role is missing.".to_owned()),
    };
    wrong.push(Violation::new(format!("messages[{at}].role"), code, message));
}

/// The estimate of a content; nothing if it is of no shape we know.
fn tokens_of(content: &RawValue) -> Option<i64> {
    match content.get().as_bytes().first()? {
        b'"' => Some(estimate(characters(content.get()))),
        b'[' => serde_json::from_str::<Parts>(content.get()).ok().map(|it| it.tokens),
        _ => None,
    }
}

/// How many characters a JSON string has, more or less: an escape of six
/// bytes is one, and so are the bytes that go on with a character.
fn characters(json: &str) -> usize {
    let escapes = json.as_bytes().windows(2).filter(|it| *it == b"\\u").count();
    json.chars().count().saturating_sub(escapes * 5 + 2)
}

/// The estimate of an array of parts, of which none is kept.
struct Parts {
    tokens: i64,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    image_url: Option<IgnoredAny>,
}

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Parts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of parts")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Parts, A::Error> {
                let mut tokens = 0_i64;
                while let Some(Part { text, image_url }) = seq.next_element()? {
                    let text = text.map_or(0, |it| estimate(characters(it.get())));
                    let image = image_url.map_or(0, |_| TOKENS_OF_AN_IMAGE);
                    tokens = tokens.saturating_add(text).saturating_add(image);
                }
                Ok(Parts { tokens })
            }
        }

        deserializer.deserialize_seq(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(json: &str) -> (i64, Vec<(String, &'static str)>) {
        let mut wrong = Vec::new();
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        let tokens = check(Some(raw), &mut wrong).tokens;
        (tokens, wrong.into_iter().map(|it| (it.field, it.code)).collect())
    }

    #[test]
    fn what_clients_send_is_taken() {
        let json = r#"[
            {"role":"system","content":"12345678"},
            {"role":"user","content":[{"type":"text","text":"1234"},
                {"type":"image_url","image_url":{"url":"data:image/jpeg;base64,AAAA"}}]},
            {"role":"assistant","content":null,"tool_calls":[1]},
            {"role":"tool","tool_call_id":"x","content":""},
            {"role":"assistant"}
        ]"#;

        assert_eq!(checked(json), (5 * 4 + 2 + 1 + 1000 + 1, vec![]));
    }

    #[test]
    fn each_wrong_message_is_named() {
        let json = r#"[7, ["user","x"], {"content":"x"}, {"role":null}, {"role":1},
            {"role":"root"}, {"role":"user","content":7}, {"role":"user","content":[1]},
            {"role":"user","role":"user"}]"#;

        let (_, wrong) = checked(json);

        let expected = [
            ("messages[0]", "invalid_type"),
            ("messages[1]", "invalid_type"),
            ("messages[2].role", "required"),
            ("messages[3].role", "required"),
            ("messages[4].role", "invalid_type"),
            ("messages[5].role", "unknown_value"),
            ("messages[6].content", "invalid_type"),
            ("messages[7].content", "invalid_type"),
            ("messages[8]", "invalid_type"),
        ];
        assert_eq!(wrong, expected.map(|(field, code)| (field.to_owned(), code)));
    }

    #[test]
    fn there_must_be_some_messages_but_not_too_many() {
        let many = |count| format!("[{}]", vec![r#"{"role":"user"}"#; count].join(","));
        let code = |json: &str| checked(json).1.first().map(|it| it.1);

        assert_eq!(code("[]"), Some("empty"));
        assert_eq!(code("{}"), Some("invalid_type"));
        assert_eq!(code(&many(2000)), None);
        assert_eq!(code(&many(2001)), Some("too_many"));
    }

    #[test]
    fn a_request_that_is_wrong_everywhere_is_not_told_so_everywhere() {
        let json = format!("[{}]", vec!["1"; 1000].join(","));

        assert_eq!(checked(&json).1.len(), 20);
    }

    #[test]
    fn an_escape_is_one_character() {
        assert_eq!(characters(r#""\u00e4\u00f6x""#), 3);
        assert_eq!(characters(r#""äöx""#), 3);
        assert_eq!(characters(r#""""#), 0);
    }
}
