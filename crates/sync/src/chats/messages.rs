//! Messages of a chat: known keys have the types that every client reads. A client
//! that cannot read a message discards the list that contains its chat.
//!
//! `check` visits the JSON text without building a tree (`each_item`,
//! `each_member`): every value is a slice of it. Unknown keys are ignored. All
//! messages are visited after the first error too, because a list with a value
//! that is no object is reported before any key.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::time_text;

/// Length of a hyphenated GUID, the only form that clients read.
pub(super) const GUID_LENGTH: usize = 36;
/// Types of a message's known keys.
const KNOWN_MESSAGE_KEYS: [(&str, ValueType); 10] = [
    ("id", ValueType::Guid),
    ("role", ValueType::Text),
    ("content", ValueType::Text),
    ("timestamp", ValueType::Time),
    ("thinkingContent", ValueType::Text),
    ("tokens", ValueType::Integer),
    ("modelName", ValueType::Text),
    ("providerName", ValueType::Text),
    ("isProtectedRoute", ValueType::Flag),
    ("persona", ValueType::Texts(&["id", "name", "emoji"])),
];
const FILES: (&str, ValueType) = ("attachedFiles", ValueType::Texts(&["fileName", "relativePath"]));

/// Violation in messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MessageError {
    /// Messages are not a list of objects.
    NoObjects,
    /// A known key of a message has the wrong type.
    Wrong(usize, &'static str),
}

/// Type of a value.
#[derive(Debug, Clone, Copy)]
enum ValueType {
    Text,
    Guid,
    Time,
    /// An integer, which clients read as a text too.
    Integer,
    Flag,
    /// An object in which these members are texts.
    Texts(&'static [&'static str]),
}

/// Checks the known keys of messages, in any case. Nulls are treated as
/// missing.
pub(super) fn check(messages: &str) -> Result<(), MessageError> {
    let mut index = 0;
    let mut first_error = None;
    let are_objects = each_item(messages, |message| {
        let is_object = each_member(message, |key, value| {
            if first_error.is_none() {
                first_error = wrong_key(key, value).map(|it| MessageError::Wrong(index, it));
            }
        });

        index += 1;
        is_object
    });

    if are_objects { first_error.map_or(Ok(()), Err) } else { Err(MessageError::NoObjects) }
}

/// Returns the key, in its documented spelling, if its value has the wrong type.
fn wrong_key(key: &str, value: &str) -> Option<&'static str> {
    if value == "null" {
        return None;
    }
    if FILES.0.eq_ignore_ascii_case(key) {
        return (!is_list_of(FILES.1, value)).then_some(FILES.0);
    }
    let (known_key, value_type) =
        KNOWN_MESSAGE_KEYS.into_iter().find(|it| it.0.eq_ignore_ascii_case(key))?;
    (!value_type.accepts(value)).then_some(known_key)
}

impl ValueType {
    fn accepts(self, value: &str) -> bool {
        match self {
            Self::Text => text(value).is_some(),
            Self::Guid => text(value).is_some_and(|it| guid(&it).is_some()),
            Self::Time => text(value).is_some_and(|it| time_text::is_readable(&it)),
            Self::Integer => {
                let number = |it: &str| it.parse::<i32>().is_ok();
                number(value) || text(value).is_some_and(|it| number(&it))
            }
            Self::Flag => ["true", "false"].contains(&value),
            Self::Texts(keys) => {
                let mut valid = true;
                let is_object = each_member(value, |key, value| {
                    let is_known = keys.iter().any(|it| it.eq_ignore_ascii_case(key));
                    valid &= !is_known || value == "null" || Self::Text.accepts(value);
                });
                is_object && valid
            }
        }
    }
}

fn is_list_of(value_type: ValueType, value: &str) -> bool {
    each_item(value, |it| it == "null" || value_type.accepts(it))
}

/// Parses a JSON text; `None` if the value is of another type.
pub(super) fn text(value: &str) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    serde_json::from_str::<Text<'_>>(value).ok().map(|it| it.0)
}

pub(super) fn guid(text: &str) -> Option<Uuid> {
    if text.len() == GUID_LENGTH { Uuid::try_parse(text).ok() } else { None }
}

/// Returns whether a JSON text escapes a lone surrogate: no client reads such
/// a text.
pub(super) fn has_lone_surrogate(json: &str) -> bool {
    let mut unread = json.as_bytes();
    while let Some(at) = unread.iter().position(|it| *it == b'\\') {
        let escape = unread.get(at..).unwrap_or_default();
        let length = match utf16_unit(escape) {
            None => 2,
            Some(0xD800..=0xDBFF) => match utf16_unit(escape.get(6..).unwrap_or_default()) {
                Some(0xDC00..=0xDFFF) => 12,
                _ => return true,
            },
            Some(0xDC00..=0xDFFF) => return true,
            Some(_) => 6,
        };
        unread = escape.get(length..).unwrap_or_default();
    }

    false
}

/// Returns the UTF-16 code unit that an escape like `\u00e9` stands for; `None` for
/// other escapes.
fn utf16_unit(escape: &[u8]) -> Option<u16> {
    let digits = escape.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Visits each item of a list. Returns whether it is one, and all were accepted.
fn each_item(list: &str, mut accept: impl FnMut(&str) -> bool) -> bool {
    let mut all_accepted = true;
    let visitor = Each(|_: Option<&str>, value: &str| all_accepted &= accept(value));
    visitor.matches(list, false) && all_accepted
}

/// Visits each member of an object. Returns whether it is one.
fn each_member(object: &str, mut visit: impl FnMut(&str, &str)) -> bool {
    Each(|key: Option<&str>, value: &str| visit(key.unwrap_or_default(), value))
        .matches(object, true)
}

/// Visitor of the raw values of a list or an object.
struct Each<F>(F);

impl<F: FnMut(Option<&str>, &str)> Each<F> {
    fn matches(self, text: &str, is_object: bool) -> bool {
        let first = if is_object { "{" } else { "[" };
        text.starts_with(first)
            && self.deserialize(&mut serde_json::Deserializer::from_str(text)).is_ok()
    }
}

impl<'de, F: FnMut(Option<&str>, &str)> DeserializeSeed<'de> for Each<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: FnMut(Option<&str>, &str)> Visitor<'de> for Each<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or an object")
    }

    fn visit_seq<S: SeqAccess<'de>>(mut self, mut items: S) -> Result<(), S::Error> {
        while let Some(item) = items.next_element::<&RawValue>()? {
            (self.0)(None, item.get());
        }
        Ok(())
    }

    fn visit_map<M: MapAccess<'de>>(mut self, mut map: M) -> Result<(), M::Error> {
        while let Some((Key(key), value)) = map.next_entry::<Key<'_>, &RawValue>()? {
            (self.0)(Some(key.as_ref()), value.get());
        }
        Ok(())
    }
}

/// Key, copied only if it has escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ID: &str = "0199f0e0-0000-7000-8000-00000000000a";

    fn message() -> Value {
        json!({
            "id": ID, "role": "user", "content": "", "thinkingContent": null,
            "timestamp": "2026-08-01T09:14:02.1837744Z", "tokens": 7, "modelName": "m",
            "providerName": "p", "isProtectedRoute": false,
            "persona": { "id": ID, "name": "Ada", "emoji": null },
            "attachedFiles": [{ "fileName": "a.txt", "relativePath": null }], "future": [1, {}],
        })
    }

    #[test]
    fn known_keys_have_the_types_that_clients_read() {
        assert_eq!(check(&json!([message(), {}]).to_string()), Ok(()));
        for (key, value, field) in [
            ("id", json!("x"), "id"),
            ("id", json!(ID.replace('-', "")), "id"),
            ("ID", json!(5), "id"),
            ("role", json!(1), "role"),
            ("Content", json!(["x"]), "content"),
            ("content", json!({}), "content"),
            ("timestamp", json!("yesterday"), "timestamp"),
            ("timestamp", json!(1_700_000_000), "timestamp"),
            ("thinkingContent", json!(true), "thinkingContent"),
            ("tokens", json!(1.5), "tokens"),
            ("tokens", json!(3_000_000_000_i64), "tokens"),
            ("modelName", json!(5), "modelName"),
            ("providerName", json!([]), "providerName"),
            ("isProtectedRoute", json!("yes"), "isProtectedRoute"),
            ("persona", json!("Ada"), "persona"),
            ("persona", json!({ "name": 5 }), "persona"),
            ("attachedFiles", json!({}), "attachedFiles"),
            ("attachedFiles", json!(["a.txt"]), "attachedFiles"),
            ("attachedFiles", json!([{ "FileName": 5 }]), "attachedFiles"),
        ] {
            let mut wrong = message();
            wrong[key] = value;
            let messages = json!([message(), wrong]).to_string();
            assert_eq!(check(&messages), Err(MessageError::Wrong(1, field)), "{messages}");
        }
        for no_objects in ["{}", "5", "\"x\"", "[5]", "[{},null]", "[[]]"] {
            assert_eq!(check(no_objects), Err(MessageError::NoObjects), "{no_objects}");
        }
    }

    #[test]
    fn optional_and_alternative_forms_are_accepted() {
        for (key, value) in
            [("tokens", json!("7")), ("attachedFiles", json!([null])), ("role", json!("tool"))]
        {
            let mut variant = message();
            variant[key] = value;
            assert_eq!(check(&json!([variant]).to_string()), Ok(()), "{key}");
        }
        for key in KNOWN_MESSAGE_KEYS.map(|it| it.0) {
            let mut without = message();
            without[key] = Value::Null;
            assert_eq!(check(&json!([without]).to_string()), Ok(()), "{key}");
        }
    }

    #[test]
    fn lone_surrogates_are_found_at_any_position() {
        for text in [r"", r"ü \u00e9 \ud83d\ude00", r"\\ud800", r"\n\\\ud83d\uDE00x", "😀"] {
            assert!(!has_lone_surrogate(&format!("[\"{text}\"]")), "{text}");
        }
        for json_text in [r"\ud800", r"\uD83D \ude00", r"\ude00\ud83d", r"x\uDFFF", r"\\\ud83d\n"] {
            assert!(has_lone_surrogate(&format!("[{{\"x\":\"{json_text}\"}}]")), "{json_text}");
        }
    }
}
