//! Leaving out what an upstream says nothing of: on our wire an absent value is
//! an absent key, never a null, and most upstreams send several in every chunk.

use bytes::{Bytes, BytesMut};
use memchr::memchr2;
use memchr::memmem::Finder;

/// Takes the members whose value is null out of JSON, or out of several lines
/// of it with other text between; all else stays byte for byte. Text without a
/// null is not copied.
#[derive(Debug, Clone)]
pub(crate) struct NullStripper(Finder<'static>);

impl Default for NullStripper {
    fn default() -> Self {
        Self(Finder::new("null"))
    }
}

impl NullStripper {
    pub(crate) fn strip(&self, text: Bytes) -> Bytes {
        if self.0.find(&text).is_none() {
            return text;
        }
        let mut rest = RemainingBytes { text: &text, at: 0 };
        let mut kept = BytesMut::with_capacity(text.len());
        while let Some((before, string)) = rest.string() {
            kept.extend_from_slice(before);
            match rest.null_member() {
                None => kept.extend_from_slice(string),
                Some(End::Comma) => {}
                Some(End::Brace) => remove_trailing_comma(&mut kept),
            }
        }
        kept.extend_from_slice(rest.all());
        kept.freeze()
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
fn remove_trailing_comma(kept: &mut BytesMut) {
    let trimmed = kept.trim_ascii_end();
    if let Some(before) = trimmed.strip_suffix(b",") {
        kept.truncate(before.len());
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
        for (given, left) in [
            (r#"{"a":null,"b":1}"#, r#"{"b":1}"#),
            (r#"{"a":1, "b": null}"#, r#"{"a":1}"#),
            (r#"{"a":1,"b":null,"c":null,"d":2}"#, r#"{"a":1,"d":2}"#),
            (r#"{"a":1,"b":null,"c":null}"#, r#"{"a":1}"#),
            (r#"{ "a" : null }"#, "{ }"),
            (r#"{"x":{"a":null},"b":[{"c":null}]}"#, r#"{"x":{},"b":[{}]}"#),
        ] {
            assert_eq!(left_out(given), left, "{given}");
        }
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
