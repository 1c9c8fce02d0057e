//! Validation of messages, without copying them.

use std::borrow::Cow;
use std::fmt;

use pia_json::MemberKey;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::Violation;
use crate::request::array_elements::ArrayElements;
use crate::request::fetched::address;
use crate::request::sample::PromptText;

/// Maximum number of reported violations.
pub(crate) const MAX_VIOLATIONS: usize = 20;
const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

/// Rough cost of an image in tokens, regardless of its size.
const TOKENS_PER_IMAGE: i64 = 1000;
/// Bytes per token of a file or a recording in Base64, roughly.
const MEDIA_BYTES_PER_TOKEN: usize = 32;
/// Maximum length of a text that is unescaped to be counted.
const MAX_UNESCAPED_BYTES: usize = 1024 * 1024;
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
                let mut present = [false; 3];
                while let Some((MemberKey(key), value)) =
                    map.next_entry::<MemberKey<'de>, &'de RawValue>()?
                {
                    let (at, member) = match key.as_ref() {
                        "role" => (0, &mut message.role),
                        "content" => (1, &mut message.content),
                        "tool_calls" => (2, &mut message.tool_calls),
                        key => {
                            if message.address.is_none() && !UNFETCHED_MEMBERS.contains(&key) {
                                message.address = address(key, value);
                            }
                            continue;
                        }
                    };

                    // Readers differ in which of two equal keys they use.
                    let is_duplicate =
                        present.get_mut(at).is_some_and(|it| std::mem::replace(it, true));
                    if is_duplicate {
                        return Err(A::Error::custom("a key comes twice"));
                    }

                    *member = (value.get() != "null").then_some(value);
                }

                Ok(message)
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

    let mut content = Content { text, address: None };
    let is_content = message.content.is_none_or(|it| content.add(it));
    let address_in_content = content.address.map(|(part, path)| format!("content[{part}].{path}"));
    if let Some(path) = address_in_content.or(message.address) {
        outcome.address.get_or_insert_with(|| format!("messages[{at}].{path}"));
    }

    if !is_content {
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

/// Results of checking one content.
struct Content<'t> {
    text: &'t mut PromptText,
    /// Index of the first part with an address, and the path in it.
    address: Option<(usize, String)>,
}

impl Content<'_> {
    /// Adds a content to the text. Returns whether its type is known.
    fn add(&mut self, content: &RawValue) -> bool {
        match content.get().as_bytes().first() {
            Some(b'"') => add_words(content.get(), self.text),
            Some(b'[') => return PartsVisitor(self).deserialize(content).is_ok(),
            _ => return false,
        }
        true
    }

    /// Adds a member of a part. Keys match in any case, as some readers do.
    fn add_member(&mut self, key: &str, value: &RawValue) {
        let is = |name: &str| key.eq_ignore_ascii_case(name);
        if value.get() == "null" {
            return;
        }

        let tokens = if is("image_url") {
            TOKENS_PER_IMAGE
        } else if is("file") || is("input_audio") {
            i64::try_from(value.get().len() / MEDIA_BYTES_PER_TOKEN).unwrap_or(i64::MAX)
        } else {
            if is("text") {
                add_words(value.get(), self.text);
            }
            return;
        };

        self.text.extra_tokens = self.text.extra_tokens.saturating_add(tokens);
    }
}

/// Adds a JSON string. A long one is not unescaped.
fn add_words(json: &str, text: &mut PromptText) {
    let escaped =
        json.len() <= MAX_UNESCAPED_BYTES && memchr::memchr(b'\\', json.as_bytes()).is_some();
    match escaped.then(|| serde_json::from_str::<String>(json)) {
        Some(Ok(unescaped)) => text.words.add(unescaped.as_bytes()),
        _ => text.words.add(json.trim_matches('"').as_bytes()),
    }
}

/// Visitor that adds an array of parts without storing them.
struct PartsVisitor<'p, 't>(&'p mut Content<'t>);

impl<'de> DeserializeSeed<'de> for PartsVisitor<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for PartsVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of parts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut at = 0;
        while seq.next_element_seed(PartVisitor(&mut *self.0, at))?.is_some() {
            at += 1;
        }
        Ok(())
    }
}

/// Visitor that adds one part, by its index.
struct PartVisitor<'p, 't>(&'p mut Content<'t>, usize);

impl<'de> DeserializeSeed<'de> for PartVisitor<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for PartVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(content, at) = self;
        while let Some((MemberKey(key), value)) =
            map.next_entry::<MemberKey<'de>, &'de RawValue>()?
        {
            if content.address.is_none() {
                content.address = address(&key, value).map(|path| (at, path));
            }
            content.add_member(&key, value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fakes::CharTokens;

    fn check_json(json: &str) -> (i64, Vec<(String, &'static str)>) {
        let mut violations = Vec::new();
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        let outcome = check(Some(raw), &mut violations);
        (
            outcome.text.tokens(&CharTokens),
            violations.into_iter().map(|it| (it.field, it.code)).collect(),
        )
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

        assert_eq!(check_json(json), (5 * 4 + 8 + 4 + 1000 + 3, vec![]));
    }

    #[test]
    fn the_first_address_is_reported() {
        let address_of = |message: &str| {
            let json = format!(r#"[{{"role":"system","content":"http://h"}},{message}]"#);
            let raw: &RawValue = serde_json::from_str(&json).unwrap();
            let mut violations = Vec::new();
            let outcome = check(Some(raw), &mut violations);
            assert!(violations.is_empty(), "{message}");
            outcome.address
        };
        let text = r#"{"type":"text","text":"http://h"}"#;
        let remote = r#"{"image_url":{"url":"http://h"}}"#;
        let picture = r#"{"image_url":{"url":"data:,x"}}"#;

        let parts =
            |content: &str| address_of(&format!(r#"{{"role":"user","content":{content}}}"#));
        assert_eq!(parts(r#""http://h""#), None);
        assert_eq!(parts(&format!("[{text},{picture}]")), None);
        assert_eq!(
            parts(&format!("[{text},{remote},{remote}]")).as_deref(),
            Some("messages[1].content[1].image_url.url")
        );
        let beside = format!(r#"{{"role":"user","name":"http://h","Content":[{remote}]}}"#);
        assert_eq!(address_of(&beside).as_deref(), Some("messages[1].Content[0].image_url.url"));
        let reasoning = r#"{"role":"assistant","reasoning":"http://h","tool_calls":["http://h"]}"#;
        assert_eq!(address_of(reasoning), None);
    }

    #[test]
    fn each_invalid_message_is_reported() {
        let json = r#"[7, ["user","x"], {"content":"x"}, {"role":null}, {"role":1},
            {"role":"root"}, {"role":"user","content":7}, {"role":"user","content":[1]},
            {"role":"user","role":"user"}, {"role":"user","content":[["x"]]}]"#;

        let (_, violations) = check_json(json);

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
        assert_eq!(violations, expected.map(|(field, code)| (field.to_owned(), code)));
    }

    #[test]
    fn the_number_of_messages_is_limited() {
        let many = |count| format!("[{}]", vec![r#"{"role":"user"}"#; count].join(","));
        let code = |json: &str| check_json(json).1.first().map(|it| it.1);

        assert_eq!(code("[]"), Some("empty"));
        assert_eq!(code("{}"), Some("invalid_type"));
        assert_eq!(code(&many(2000)), None);
        assert_eq!(code(&many(2001)), Some("too_many"));
    }

    #[test]
    fn the_number_of_violations_is_limited() {
        let json = format!("[{}]", vec!["1"; 1000].join(","));

        assert_eq!(check_json(&json).1.len(), 20);
    }

    #[test]
    fn an_escape_is_one_character() {
        let tokens =
            |content: &str| check_json(&format!(r#"[{{"role":"user","content":{content}}}]"#)).0;

        assert_eq!(tokens(r#""\u00e4\u00f6x""#), 4 + 3);
        assert_eq!(tokens(r#""äöx""#), 4 + 3);
        assert_eq!(tokens(r#""""#), 4);
    }
}
