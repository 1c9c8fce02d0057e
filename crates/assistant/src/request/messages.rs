//! Validation of messages, without copying them.
//!
//! `check` visits each message once: it reports violations, adds the text from which tokens
//! are counted (`message_content.rs`), and records the first address (`fetched.rs`). The
//! messages themselves are forwarded as slices.

use std::borrow::Cow;
use std::fmt;

use pia_json::MemberKey;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::Violation;
use crate::request::array_elements::ArrayElements;
use crate::request::fetched::address;
use crate::request::message_content::CheckedContent;
use crate::request::sample::PromptText;

/// Maximum number of reported violations.
pub(crate) const MAX_VIOLATIONS: usize = 20;
const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

/// Tokens that a model's template adds to each message.
const TOKENS_PER_MESSAGE: i64 = 4;

/// Results of checking messages.
#[derive(Debug, Clone, Default)]
pub(crate) struct CheckedMessages {
    /// Text from which its tokens are counted.
    pub(crate) text: PromptText,
    /// Set if there are pictures.
    pub(crate) pictures: bool,
    /// Path of the first address, which the upstream would fetch.
    pub(crate) address: Option<String>,
}

/// Checks the messages, and gathers their text for counting tokens.
pub(crate) fn check(
    messages: Option<&RawValue>,
    violations: &mut Vec<Violation>,
) -> CheckedMessages {
    let mut outcome = CheckedMessages::default();
    let Some(messages) = messages else {
        violations.push(Violation::new("messages", "required", "The messages are missing."));
        return outcome;
    };
    let Ok(ArrayElements { first, count }) = serde_json::from_str(messages.get()) else {
        violations.push(Violation::new(
            "messages",
            "invalid_type",
            "The messages must be an array.",
        ));
        return outcome;
    };

    if count == 0 {
        violations.push(Violation::new("messages", "empty", "There must be at least one message."));
    }

    // Only the first elements were stored, so the others cannot be checked.
    if count > ArrayElements::MAX_LEN {
        let message = format!("There must not be more than {} messages.", ArrayElements::MAX_LEN);
        violations.push(Violation::new("messages", "too_many", message));
        return outcome;
    }

    for (at, message) in first.into_iter().enumerate() {
        check_message(at, message, &mut outcome, violations);
        outcome.pictures |= message.get().contains("image_url");
        if violations.len() >= MAX_VIOLATIONS {
            break;
        }
    }

    outcome
}

/// Parsed members of a message.
#[derive(Default)]
struct Message<'a> {
    role: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    tool_calls: Option<&'a RawValue>,
    /// Path of its first address.
    address: Option<String>,
}

/// Other members of a message, none of which is fetched.
const UNFETCHED_MEMBERS: [&str; 7] = [
    "name",
    "tool_call_id",
    "function_call",
    "refusal",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
];

impl Message<'_> {
    /// Returns the message without the members that are null.
    fn without_nulls(self) -> Self {
        Self {
            role: non_null(self.role),
            content: non_null(self.content),
            tool_calls: non_null(self.tool_calls),
            address: self.address,
        }
    }
}

fn non_null(member: Option<&RawValue>) -> Option<&RawValue> {
    member.filter(|it| it.get() != "null")
}

impl<'de: 'a, 'a> Deserialize<'de> for Message<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Message<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut message = Message::default();
                while let Some((MemberKey(key), value)) =
                    map.next_entry::<MemberKey<'de>, &'de RawValue>()?
                {
                    let member = match key.as_ref() {
                        "role" => &mut message.role,
                        "content" => &mut message.content,
                        "tool_calls" => &mut message.tool_calls,
                        key => {
                            if message.address.is_none() && !UNFETCHED_MEMBERS.contains(&key) {
                                message.address = address(key, value);
                            }
                            continue;
                        }
                    };

                    // Readers differ in which of two equal keys they use.
                    if member.replace(value).is_some() {
                        return Err(A::Error::custom("a key comes twice"));
                    }
                }

                Ok(message.without_nulls())
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

/// Checks a message, adds its text to the outcome, and records the first address in it.
fn check_message(
    at: usize,
    json: &RawValue,
    outcome: &mut CheckedMessages,
    violations: &mut Vec<Violation>,
) {
    let Ok(message) = serde_json::from_str::<Message<'_>>(json.get()) else {
        let message = "A message must be an object with each key once.";
        violations.push(Violation::new(format!("messages[{at}]"), "invalid_type", message));
        return;
    };

    check_role(at, message.role, violations);
    let text = &mut outcome.text;
    text.extra_tokens = text.extra_tokens.saturating_add(TOKENS_PER_MESSAGE);

    // The arguments of earlier calls are part of the prompt, too.
    if let Some(calls) = message.tool_calls {
        text.words.add(calls.get().as_bytes());
    }

    let mut content = CheckedContent::new(text);
    let is_valid = message.content.is_none_or(|it| content.add(it));
    if let Some(path) = content.address.or(message.address) {
        outcome.address.get_or_insert_with(|| format!("messages[{at}].{path}"));
    }

    if !is_valid {
        let message = "The content must be a string, an array of parts, or null.";
        violations.push(Violation::new(format!("messages[{at}].content"), "invalid_type", message));
    }
}

fn check_role(at: usize, role: Option<&RawValue>, violations: &mut Vec<Violation>) {
    #[derive(Deserialize)]
    struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

    let (code, message) = match role.map(|it| serde_json::from_str(it.get())) {
        Some(Ok(Name(role))) if ROLES.contains(&role.as_ref()) => return,
        Some(Ok(_)) => ("unknown_value", format!("The role must be one of {}.", ROLES.join(", "))),
        Some(Err(_)) => ("invalid_type", "The role must be a string.".to_owned()),
        None => ("required", "The role is missing.".to_owned()),
    };
    violations.push(Violation::new(format!("messages[{at}].role"), code, message));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fakes::CharTokens;
    use crate::request::message_content::TOKENS_PER_IMAGE;

    fn check_json(json: &str) -> (CheckedMessages, Vec<Violation>) {
        let messages: &RawValue = serde_json::from_str(json).unwrap();
        let mut violations = Vec::new();
        let checked_messages = check(Some(messages), &mut violations);
        (checked_messages, violations)
    }

    /// Returns the number of tokens, one for each character.
    fn count_tokens(json: &str) -> i64 {
        let (checked_messages, _) = check_json(json);
        checked_messages.text.tokens(&CharTokens)
    }

    /// Returns the field and the code of each violation.
    fn violations(json: &str) -> Vec<(String, &'static str)> {
        let (_, violations) = check_json(json);
        violations.into_iter().map(|it| (it.field, it.code)).collect()
    }

    #[test]
    fn messages_of_clients_are_accepted() {
        let json = r#"[
            {"role":"system","content":"12345678"},
            {"role":"user","content":[{"type":"text","text":"1234"},
                {"type":"image_url","image_url":{"url":"data:image/jpeg;base64,AAAA"}}]},
            {"role":"assistant","content":null,"tool_calls":[1]},
            {"role":"tool","tool_call_id":"x","content":""},
            {"role":"assistant"}
        ]"#;

        let text_chars = "12345678".len() + "1234".len() + "[1]".len();
        let text_tokens = i64::try_from(text_chars).unwrap();
        assert_eq!(count_tokens(json), 5 * TOKENS_PER_MESSAGE + TOKENS_PER_IMAGE + text_tokens);
        assert!(violations(json).is_empty());
    }

    #[test]
    fn the_first_address_is_reported() {
        let address_in_message = |message: &str| {
            let json = format!(r#"[{{"role":"system","content":"http://h"}},{message}]"#);
            let (checked_messages, violations) = check_json(&json);
            assert!(violations.is_empty(), "{message}");
            checked_messages.address
        };
        let address_in_content = |content: &str| {
            address_in_message(&format!(r#"{{"role":"user","content":{content}}}"#))
        };
        let text = r#"{"type":"text","text":"http://h"}"#;
        let remote = r#"{"image_url":{"url":"http://h"}}"#;
        let inline = r#"{"image_url":{"url":"data:,x"}}"#;

        assert_eq!(address_in_content(r#""http://h""#), None);
        assert_eq!(address_in_content(&format!("[{text},{inline}]")), None);
        assert_eq!(
            address_in_content(&format!("[{text},{remote},{remote}]")).as_deref(),
            Some("messages[1].content[1].image_url.url")
        );

        let unknown_member = format!(r#"{{"role":"user","name":"http://h","Content":[{remote}]}}"#);
        assert_eq!(
            address_in_message(&unknown_member).as_deref(),
            Some("messages[1].Content[0].image_url.url")
        );
        let reasoning = r#"{"role":"assistant","reasoning":"http://h","tool_calls":["http://h"]}"#;
        assert_eq!(address_in_message(reasoning), None);
    }

    #[test]
    fn each_invalid_message_is_reported() {
        let json = r#"[7, ["user","x"], {"content":"x"}, {"role":null}, {"role":1},
            {"role":"root"}, {"role":"user","content":7}, {"role":"user","content":[1]},
            {"role":"user","role":"user"}, {"role":"user","content":[["x"]]}]"#;

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
            ("messages[9].content", "invalid_type"),
        ];
        assert_eq!(violations(json), expected.map(|(field, code)| (field.to_owned(), code)));
    }

    #[test]
    fn the_number_of_messages_is_limited() {
        let messages = |count| format!("[{}]", vec![r#"{"role":"user"}"#; count].join(","));
        let first_code = |json: &str| violations(json).first().map(|(_, code)| *code);

        assert_eq!(first_code("[]"), Some("empty"));
        assert_eq!(first_code("{}"), Some("invalid_type"));
        assert_eq!(first_code(&messages(2000)), None);
        assert_eq!(first_code(&messages(2001)), Some("too_many"));
    }

    #[test]
    fn the_number_of_violations_is_limited() {
        let json = format!("[{}]", vec!["1"; 1000].join(","));

        assert_eq!(violations(&json).len(), MAX_VIOLATIONS);
    }

    #[test]
    fn media_count_by_their_size() {
        let tokens_of_part = |key: &str, bytes: usize| {
            let value = "a".repeat(bytes - 2);
            let json =
                format!(r#"[{{"role":"user","content":[{{"type":"x","{key}":"{value}"}}]}}]"#);
            count_tokens(&json) - TOKENS_PER_MESSAGE
        };

        for key in ["file", "input_audio", "audio_url", "Video_URL"] {
            assert_eq!(tokens_of_part(key, 320_000), 10_000, "{key}");
        }
        assert_eq!(tokens_of_part("image_url", 320_000), TOKENS_PER_IMAGE);
        assert_eq!(tokens_of_part("video_url", 320), TOKENS_PER_IMAGE);
        assert_eq!(tokens_of_part("input_audio", 320), 10);
    }

    #[test]
    fn an_escape_is_one_character() {
        let tokens_of_content = |content: &str| {
            let json = format!(r#"[{{"role":"user","content":{content}}}]"#);
            count_tokens(&json) - TOKENS_PER_MESSAGE
        };

        assert_eq!(tokens_of_content(r#""\u00e4\u00f6x""#), 3);
        assert_eq!(tokens_of_content(r#""äöx""#), 3);
        assert_eq!(tokens_of_content(r#""""#), 0);
    }
}
