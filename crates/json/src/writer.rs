//! JSON assembled from own text and slices of other JSON.
//!
//! A writer holds closed pieces and one open text. Short parts are copied into the
//! open text, longer ones become pieces of their own. Nothing is escaped, checked
//! or separated except by `quoted` and `list`: the caller writes the brackets.

use bytes::Bytes;

use crate::Rope;

/// Length in bytes below which copying a part is cheaper than sending it as a
/// separate piece.
const MIN_SLICE: usize = 1024;

/// Writer of JSON in pieces. Large parts are slices of their source.
#[derive(Debug, Default)]
pub struct JsonWriter {
    closed: Vec<Bytes>,
    open: String,
}

impl JsonWriter {
    /// Adds a part of JSON, such as `{"id":`, without escaping it.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.open.push_str(text);
        self
    }

    /// Adds text as a JSON string.
    pub fn quoted(&mut self, text: &str) -> &mut Self {
        self.text(&quoted(text))
    }

    /// Adds JSON, or a part of it: copied if it is short, else as a slice.
    pub fn bytes(&mut self, part: &Bytes) -> &mut Self {
        match std::str::from_utf8(part) {
            Ok(text) if part.len() < MIN_SLICE => self.open.push_str(text),
            _ => {
                self.close();
                self.closed.push(part.clone());
            }
        }
        self
    }

    /// Adds JSON in pieces.
    pub fn rope(&mut self, rope: &Rope) -> &mut Self {
        for piece in &rope.0 {
            self.bytes(piece);
        }
        self
    }

    /// Adds the parts, with commas between them but without brackets.
    pub fn list<'a>(&mut self, parts: impl IntoIterator<Item = &'a Rope>) -> &mut Self {
        for (nth, part) in parts.into_iter().enumerate() {
            if nth > 0 {
                self.text(",");
            }
            self.rope(part);
        }
        self
    }

    /// Returns the JSON written so far and resets the writer.
    pub fn finish(&mut self) -> Rope {
        self.close();
        Rope(std::mem::take(&mut self.closed))
    }

    /// Finishes the JSON and returns its pieces.
    pub fn into_pieces(mut self) -> Vec<Bytes> {
        self.finish().0
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.closed.push(Bytes::from(std::mem::take(&mut self.open)));
        }
    }
}

/// Returns a text as a JSON string, with its quotes.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
