//! Removal of members that are null.

use std::borrow::Cow;

use bytes::Bytes;
use memchr::memchr2;
use memchr::memmem::Finder;

/// Remover of object members whose value is null, at any depth: on our wire an
/// absent value is an absent key.
///
/// It takes JSON, or several lines of JSON with other text between. All else
/// stays byte for byte, a null in an array too. Text without a null is not
/// copied.
#[derive(Debug, Clone)]
pub struct NullStripper(Finder<'static>);

impl Default for NullStripper {
    fn default() -> Self {
        Self(Finder::new("null"))
    }
}

impl NullStripper {
    /// Returns the bytes without such members.
    pub fn strip(&self, json: Bytes) -> Bytes {
        match self.stripped(&json) {
            Some(rest) => Bytes::from(rest),
            None => json,
        }
    }

    /// Returns the text without such members.
    pub fn strip_text<'a>(&self, json: &'a str) -> Cow<'a, str> {
        // Between quotes and delimiters, so it is UTF-8 still.
        let rest = self.stripped(json.as_bytes()).and_then(|it| String::from_utf8(it).ok());
        rest.map_or(Cow::Borrowed(json), Cow::Owned)
    }

    fn stripped(&self, json: &[u8]) -> Option<Vec<u8>> {
        self.0.find(json)?;
        let mut rest = RemainingBytes { text: json, at: 0 };
        let mut output = Vec::with_capacity(json.len());
        while let Some((before, string)) = rest.string() {
            output.extend_from_slice(before);
            match rest.null_member() {
                None => output.extend_from_slice(string),
                Some(End::Comma) => {}
                Some(End::Brace) => remove_trailing_comma(&mut output),
            }
        }
        output.extend_from_slice(rest.all());
        Some(output)
    }
}

/// Delimiter after a member whose value is null.
enum End {
    /// Another member; the comma before it is passed over.
    Comma,
    /// The end of the object.
    Brace,
}

struct RemainingBytes<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> RemainingBytes<'a> {
    fn all(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns the text before the next string, and that string with its
    /// quotes.
    fn string(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let rest = self.all();
        let start = memchr::memchr(b'"', rest)?;
        let mut end = start + 1;
        loop {
            let found = memchr2(b'"', b'\\', rest.get(end..)?)? + end;
            if rest.get(found) == Some(&b'"') {
                end = found + 1;
                break;
            }
            end = found + 2;
        }
        self.at += end;
        Some((rest.get(..start)?, rest.get(start..end)?))
    }

    /// Passes over `: null` behind a key, up to where the next member begins.
    fn null_member(&mut self) -> Option<End> {
        let rest = self.all().trim_ascii_start();
        let value = rest.strip_prefix(b":")?.trim_ascii_start();
        let after = value.strip_prefix(b"null")?.trim_ascii_start();
        let (end, left) = match after.first()? {
            b',' => (End::Comma, after.get(1..)?.trim_ascii_start()),
            b'}' => (End::Brace, after),
            _ => return None,
        };
        self.at = self.text.len() - left.len();
        Some(end)
    }
}

/// The last member is gone, so the comma before it goes too.
fn remove_trailing_comma(output: &mut Vec<u8>) {
    let trimmed = output.trim_ascii_end();
    if let Some(before) = trimmed.strip_suffix(b",") {
        let len = before.len();
        output.truncate(len);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn left_out(text: &str) -> String {
        let left = NullStripper::default().strip(Bytes::copy_from_slice(text.as_bytes()));
        String::from_utf8(left.to_vec()).unwrap()
    }

    #[test]
    fn members_that_are_null_are_left_out_wherever_they_stand() {
        for (input, left) in [
            (r#"{"a":null,"b":1}"#, r#"{"b":1}"#),
            (r#"{"a":1, "b": null}"#, r#"{"a":1}"#),
            (r#"{"a":1,"b":null,"c":null,"d":2}"#, r#"{"a":1,"d":2}"#),
            (r#"{"a":1,"b":null,"c":null}"#, r#"{"a":1}"#),
            (r#"{ "a" : null }"#, "{ }"),
            (r#"{"x":{"a":null},"b":[{"c":null}]}"#, r#"{"x":{},"b":[{}]}"#),
        ] {
            assert_eq!(left_out(input), left, "{input}");
        }
    }

    #[test]
    fn a_text_without_nulls_is_not_copied() {
        let stripper = NullStripper::default();
        let text = r#"{ "a" : [ 1.50 ] }"#;

        assert!(matches!(stripper.strip_text(text), Cow::Borrowed(same) if same == text));
        let text = r#"[{"a":null,"b":1.0,"c":{"d":null,"e":[null,12345678901234567890]}},"null"]"#;
        assert_eq!(
            stripper.strip_text(text),
            r#"[{"b":1.0,"c":{"e":[null,12345678901234567890]}},"null"]"#
        );
    }

    #[test]
    fn what_only_looks_like_one_stays() {
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
            assert_eq!(left_out(text), text);
        }
    }

    #[test]
    fn frames_are_left_as_they_are_but_for_that() {
        let frames = "data: {\"a\":1,\"u\":null}\n\ndata: {\"u\":null,\"b\":2}\n\n";

        assert_eq!(left_out(frames), "data: {\"a\":1}\n\ndata: {\"b\":2}\n\n");
    }

    #[test]
    fn whatever_the_json_is_all_else_of_it_stays() {
        fn pruned(value: Value) -> Value {
            match value {
                Value::Object(members) => members
                    .into_iter()
                    .filter(|(_, it)| !it.is_null())
                    .map(|(key, it)| (key, pruned(it)))
                    .collect(),
                Value::Array(items) => items.into_iter().map(pruned).collect(),
                other => other,
            }
        }
        let value = json!({
            "a": null, "b": { "c": null, "d": ["x\"y", null, { "e": null }], "f": {} },
            "\"null\":null,": "\\\":null}", "g": [[], { "h": null, "i": 1.5e3 }], "z": null,
        });

        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let read: Value = serde_json::from_str(&left_out(&text)).unwrap();
            assert_eq!(read, pruned(value.clone()), "{text}");
        }
    }
}
