//! Removal of members that are null.
//!
//! One pass leaps from string to string without parsing: a string that is followed
//! by `: null` and then a comma or brace is the key of such a member. Text of
//! another form, such as JSON that was cut off, is passed on as it is.

use std::borrow::Cow;

use bytes::Bytes;
use memchr::memchr2;
use memchr::memmem::Finder;

/// Remover of object members whose value is null, at any depth: on our wire an
/// absent value is an absent key.
///
/// The input is JSON, or several lines of JSON with other text between. All
/// else stays byte for byte, including nulls in arrays. Text without a null is
/// not copied.
#[derive(Debug, Clone)]
pub struct NullStripper(Finder<'static>);

impl Default for NullStripper {
    fn default() -> Self {
        Self(Finder::new("null"))
    }
}

impl NullStripper {
    /// Removes the members that are null from JSON in bytes.
    pub fn strip(&self, json: Bytes) -> Bytes {
        match self.stripped(&json) {
            Some(stripped) => Bytes::from(stripped),
            None => json,
        }
    }

    /// Removes the members that are null from JSON in a text.
    pub fn strip_text<'a>(&self, json: &'a str) -> Cow<'a, str> {
        // Cut between quotes and delimiters only, so it is still UTF-8.
        let stripped = self.stripped(json.as_bytes()).and_then(|it| String::from_utf8(it).ok());
        stripped.map_or(Cow::Borrowed(json), Cow::Owned)
    }

    /// Returns the bytes without null members, or `None` if there is no null.
    fn stripped(&self, json: &[u8]) -> Option<Vec<u8>> {
        self.0.find(json)?;
        let mut input = RemainingBytes { text: json, at: 0 };
        let mut output = Vec::with_capacity(json.len());
        while let Some((before, string)) = input.string() {
            output.extend_from_slice(before);
            match input.null_member() {
                None => output.extend_from_slice(string),
                Some(End::Comma) => {}
                // The comma before the member was copied already.
                Some(End::Brace) => remove_trailing_comma(&mut output),
            }
        }

        output.extend_from_slice(input.remainder());

        Some(output)
    }
}

/// Delimiter after a member whose value is null.
enum End {
    /// Another member; the comma before it is skipped.
    Comma,
    /// The end of the object.
    Brace,
}

struct RemainingBytes<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> RemainingBytes<'a> {
    fn remainder(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns the text before the next string, and that string with its
    /// quotes; `None`, without consuming anything, if no complete string follows.
    fn string(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let text = self.remainder();
        let start = memchr::memchr(b'"', text)?;
        let mut end = start + 1;
        loop {
            let delimiter = memchr2(b'"', b'\\', text.get(end..)?)? + end;
            if text.get(delimiter) == Some(&b'"') {
                end = delimiter + 1;
                break;
            }
            end = delimiter + 2;
        }

        self.at += end;

        Some((text.get(..start)?, text.get(start..end)?))
    }

    /// Skips `: null` behind a key, up to the next member or the brace. Returns
    /// `None`, without consuming anything, if another value follows the key.
    fn null_member(&mut self) -> Option<End> {
        let separator = self.remainder().trim_ascii_start();
        let value = separator.strip_prefix(b":")?.trim_ascii_start();
        let after = value.strip_prefix(b"null")?.trim_ascii_start();
        let (end, next_member) = match after.first()? {
            b',' => (End::Comma, after.get(1..)?.trim_ascii_start()),
            b'}' => (End::Brace, after),
            _ => return None,
        };
        self.at = self.text.len() - next_member.len();
        Some(end)
    }
}

/// Removes the comma before a last member that was removed.
fn remove_trailing_comma(output: &mut Vec<u8>) {
    let json = output.trim_ascii_end();
    if let Some(before) = json.strip_suffix(b",") {
        let len = before.len();
        output.truncate(len);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn strip(text: &str) -> String {
        let stripped = NullStripper::default().strip(Bytes::copy_from_slice(text.as_bytes()));
        String::from_utf8(stripped.to_vec()).unwrap()
    }

    #[test]
    fn null_members_are_removed_at_every_position() {
        for (input, expected) in [
            (r#"{"a":null,"b":1}"#, r#"{"b":1}"#),
            (r#"{"a":1, "b": null}"#, r#"{"a":1}"#),
            (r#"{"a":1,"b":null,"c":null,"d":2}"#, r#"{"a":1,"d":2}"#),
            (r#"{"a":1,"b":null,"c":null}"#, r#"{"a":1}"#),
            (r#"{ "a" : null }"#, "{ }"),
            (r#"{"x":{"a":null},"b":[{"c":null}]}"#, r#"{"x":{},"b":[{}]}"#),
        ] {
            assert_eq!(strip(input), expected, "{input}");
        }
    }

    #[test]
    fn a_text_without_nulls_is_not_copied() {
        let stripper = NullStripper::default();
        let text = r#"{ "a" : [ 1.50 ] }"#;

        assert!(matches!(stripper.strip_text(text), Cow::Borrowed(borrowed) if borrowed == text));

        let with_nulls =
            r#"[{"a":null,"b":1.0,"c":{"d":null,"e":[null,12345678901234567890]}},"null"]"#;
        assert_eq!(
            stripper.strip_text(with_nulls),
            r#"[{"b":1.0,"c":{"e":[null,12345678901234567890]}},"null"]"#
        );
    }

    #[test]
    fn text_that_resembles_a_null_member_is_unchanged() {
        for text in [
            r#"{"a":"null"}"#,
            r#"{"a":"\":null,"}"#,
            r#"{"a":"\\","b":[null,1]}"#,
            r#"{"a":"{\"b\":null}"}"#,
            r#"{"a":nullable}"#,
            r#"{"a":nul"#,
            r#""cut : null"#,
            "null",
        ] {
            assert_eq!(strip(text), text);
        }
    }

    #[test]
    fn event_frames_are_otherwise_unchanged() {
        let frames = "data: {\"a\":1,\"u\":null}\n\ndata: {\"u\":null,\"b\":2}\n\n";

        assert_eq!(strip(frames), "data: {\"a\":1}\n\ndata: {\"b\":2}\n\n");
    }

    #[test]
    fn only_null_members_are_removed() {
        fn pruned(value: Value) -> Value {
            match value {
                Value::Object(members) => members
                    .into_iter()
                    .filter(|(_, it)| !it.is_null())
                    .map(|(key, it)| (key, pruned(it)))
                    .collect(),
                Value::Array(items) => items.into_iter().map(pruned).collect(),
                scalar => scalar,
            }
        }
        let value = json!({
            "a": null, "b": { "c": null, "d": ["x\"y", null, { "e": null }], "f": {} },
            "\"null\":null,": "\\\":null}", "g": [[], { "h": null, "i": 1.5e3 }], "z": null,
        });

        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let parsed: Value = serde_json::from_str(&strip(&text)).unwrap();
            assert_eq!(parsed, pruned(value.clone()), "{text}");
        }
    }
}
