//! JSON in pieces, sliced without copying.
//!
//! A `Rope` is read level by level: `members` or `elements` finds the commas of the
//! outermost object or array, and each value is a rope of its own. `Scan` holds the
//! position across pieces, so that they may be cut anywhere, even within an escape.
//! Nested values are not validated; `parse` does so for a single one. The dialects
//! of `upstream` read the requests of `assistant` in this way.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use memchr::memchr2;
use serde::de::DeserializeOwned;

/// JSON in pieces that follow one another.
#[derive(Debug, Clone, Default)]
pub struct Rope(pub(crate) Vec<Bytes>);

impl From<Vec<Bytes>> for Rope {
    fn from(pieces: Vec<Bytes>) -> Self {
        Self(pieces)
    }
}

impl From<&str> for Rope {
    fn from(text: &str) -> Self {
        Self(vec![Bytes::copy_from_slice(text.as_bytes())])
    }
}

impl Rope {
    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    /// Returns whether the rope has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a byte range, clamped to the length.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let mut base = 0;
        let mut slices = Vec::new();
        for piece in &self.0 {
            let start = range.start.saturating_sub(base).min(piece.len());
            let end = range.end.saturating_sub(base).min(piece.len());
            if start < end {
                slices.push(piece.slice(start..end));
            }
            base += piece.len();
        }
        Self(slices)
    }

    /// Returns the pieces in their order, without copying them.
    pub fn pieces(&self) -> impl Iterator<Item = Bytes> {
        self.0.iter().cloned()
    }

    /// Returns the bytes in one piece; copies if there are several.
    pub fn flat(&self) -> Bytes {
        match self.0.as_slice() {
            [piece] => piece.clone(),
            pieces => {
                let mut flat = BytesMut::with_capacity(self.len());
                for piece in pieces {
                    flat.extend_from_slice(piece);
                }
                flat.freeze()
            }
        }
    }

    /// Parses the value, or returns `None` if it is not of this type.
    pub fn parse<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.flat()).ok()
    }

    /// Returns the text of a JSON string.
    pub fn string(&self) -> Option<String> {
        if self.is_string() { self.parse() } else { None }
    }

    /// Returns whether this JSON is a string.
    pub fn is_string(&self) -> bool {
        self.first_byte() == Some(b'"')
    }

    /// Returns whether this JSON is an array.
    pub fn is_array(&self) -> bool {
        self.first_byte() == Some(b'[')
    }

    /// Returns the members of a JSON object: their keys, and their values as
    /// JSON. Nulls are left out. An object that is still open counts as one.
    pub fn members(&self) -> Option<RopeMembers> {
        let mut members = Vec::new();
        for part in self.parts(b'{')? {
            // The only part of an empty object has none.
            let Some(colon) = part.colon else { continue };
            let key = self.slice(part.start..colon).string()?;
            let value = self.slice(colon + 1..part.end).trimmed();
            if !value.is_null() {
                members.push((key, value));
            }
        }

        Some(RopeMembers(members))
    }

    /// Returns the elements of a JSON array.
    pub fn elements(&self) -> Option<Vec<Self>> {
        let elements = self
            .parts(b'[')?
            .into_iter()
            .map(|it| self.slice(it.start..it.end).trimmed())
            .filter(|it| !it.is_empty())
            .collect();
        Some(elements)
    }

    /// Returns the first byte that is not whitespace.
    fn first_byte(&self) -> Option<u8> {
        let mut bytes = self.0.iter().flat_map(|it| it.iter().copied());
        bytes.find(|it| !it.is_ascii_whitespace())
    }

    /// Returns whether this JSON without surrounding whitespace is null.
    fn is_null(&self) -> bool {
        // One byte longer than null, so that only null itself is equal.
        *self.slice(0..5).flat() == *b"null"
    }

    /// Returns the JSON without surrounding whitespace.
    fn trimmed(&self) -> Self {
        let is_space = |it: &&u8| it.is_ascii_whitespace();
        let before = self.0.iter().flat_map(|it| it.iter()).take_while(is_space).count();
        let after = self.0.iter().rev().flat_map(|it| it.iter().rev()).take_while(is_space).count();
        self.slice(before..self.len().saturating_sub(after))
    }

    /// Returns the parts between the commas of an object or array, or `None`
    /// for other JSON.
    fn parts(&self, open: u8) -> Option<Vec<JsonPart>> {
        if self.first_byte() != Some(open) {
            return None;
        }

        let mut scan = Scan::default();
        let mut base = 0;
        for piece in &self.0 {
            scan.consume(piece, base);
            base += piece.len();
        }

        // The JSON is still open: its last part ends with the text.
        if scan.depth == 1 {
            scan.close(base);
        }

        Some(scan.parts)
    }
}

/// Members of an object, their values in pieces.
#[derive(Debug, Clone, Default)]
pub struct RopeMembers(Vec<(String, Rope)>);

impl RopeMembers {
    /// Returns the value of a key, of duplicates the last.
    pub fn get(&self, key: &str) -> Option<&Rope> {
        self.0.iter().rev().find(|(it, _)| it == key).map(|(_, value)| value)
    }

    /// Returns the value of a key, if it is a string.
    pub fn string(&self, key: &str) -> Option<String> {
        self.get(key)?.string()
    }

    /// Returns each key and its value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Rope)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }
}

/// Member or element, by its byte offsets in the rope. The colon is absent in
/// elements, and in the only part of an empty object.
#[derive(Debug, Clone, Copy, Default)]
struct JsonPart {
    start: usize,
    colon: Option<usize>,
    end: usize,
}

/// Position of the scan in the JSON.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    part: JsonPart,
    parts: Vec<JsonPart>,
}

impl Scan {
    /// Continues with the next piece, which begins at the offset `base` of the rope.
    fn consume(&mut self, piece: &[u8], base: usize) {
        let mut at = 0;
        while let Some(byte) = piece.get(at) {
            if self.in_string {
                at += self.string(piece.get(at..).unwrap_or_default());
            } else {
                self.delimiter(*byte, base + at);
                at += 1;
            }
        }
    }

    /// Continues within a string and returns the number of bytes consumed.
    fn string(&mut self, text: &[u8]) -> usize {
        if std::mem::take(&mut self.escaped) {
            return 1;
        }
        let Some(delimiter) = memchr2(b'"', b'\\', text) else { return text.len() };
        self.escaped = text.get(delimiter) == Some(&b'\\');
        self.in_string = self.escaped;
        delimiter + 1
    }

    /// Handles a byte outside of strings, which may delimit values. Only parts of the outermost
    /// array or object are recorded.
    fn delimiter(&mut self, byte: u8, at: usize) {
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => {
                self.depth += 1;
                if self.depth == 1 {
                    self.part = JsonPart { start: at + 1, ..JsonPart::default() };
                }
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.close(at);
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if self.depth == 1 => {
                self.close(at);
                self.part = JsonPart { start: at + 1, ..JsonPart::default() };
            }
            // Only the first colon of a member ends its key.
            b':' if self.depth == 1 => {
                self.part.colon.get_or_insert(at);
            }
            _ => {}
        }
    }

    fn close(&mut self, end: usize) {
        self.parts.push(JsonPart { end, ..self.part });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JsonWriter;

    /// Returns the text cut at every offset.
    fn cuts(text: &'static str) -> impl Iterator<Item = Rope> {
        (0..=text.len()).map(move |at| {
            let bytes = Bytes::from_static(text.as_bytes());
            Rope::from(vec![bytes.slice(..at), bytes.slice(at..)])
        })
    }

    fn to_text(rope: &Rope) -> String {
        String::from_utf8(rope.flat().to_vec()).unwrap()
    }

    #[test]
    fn members_are_found_wherever_the_pieces_were_cut() {
        for rope in cuts(r#" { "a" : [1,{"x":"]"}], "b\"":"q:\\\",", "n": null ,"c":{"d":2} } "#) {
            let members = rope.members().unwrap();
            let texts: Vec<_> = members.iter().map(|(key, it)| (key, to_text(it))).collect();
            let expected = [
                ("a", r#"[1,{"x":"]"}]"#.to_owned()),
                ("b\"", r#""q:\\\",""#.to_owned()),
                ("c", r#"{"d":2}"#.to_owned()),
            ];
            assert_eq!(texts, expected);
        }
    }

    #[test]
    fn an_object_that_is_still_open_has_its_members() {
        for rope in cuts(r#"{"messages":[{"a":1}],"tools":[]"#) {
            let members = rope.members().unwrap();

            assert_eq!(to_text(members.get("messages").unwrap()), r#"[{"a":1}]"#);
            assert_eq!(to_text(members.get("tools").unwrap()), "[]");
        }
    }

    #[test]
    fn elements_are_found_wherever_the_pieces_were_cut() {
        for rope in cuts(r#"["a,b", {"c":[1,2]} ,[] ]"#) {
            let elements: Vec<_> = rope.elements().unwrap().iter().map(to_text).collect();
            assert_eq!(elements, [r#""a,b""#, r#"{"c":[1,2]}"#, "[]"]);
        }
        assert!(Rope::from("[ ]").elements().unwrap().is_empty());
        assert!(Rope::from("{}").members().unwrap().iter().next().is_none());
    }

    #[test]
    fn other_json_has_no_members_or_elements() {
        assert!(Rope::from("[1]").members().is_none());
        assert!(Rope::from(r#"{"a":1}"#).elements().is_none());
        assert!(Rope::from("").members().is_none());
        assert!(Rope::from("{1:2}").members().is_none());
    }

    #[test]
    fn large_parts_are_taken_and_written_without_copying_them() {
        let bytes = Bytes::from(format!(r#"{{"a":"{}"}}"#, "x".repeat(5000)));
        let rope = Rope::from(vec![bytes.clone()]);

        let value = rope.members().unwrap().get("a").unwrap().clone();
        let mut writer = JsonWriter::default();
        writer.text("[").rope(&value).text("]");
        let pieces = writer.into_pieces();

        assert_eq!(pieces.len(), 3);
        assert_eq!(pieces[1].as_ptr(), bytes[5..].as_ptr());
    }
}
