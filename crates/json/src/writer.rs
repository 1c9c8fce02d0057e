//! JSON put together from text of ours and slices of other JSON.

use bytes::Bytes;

use crate::Rope;

/// Length in bytes below which a part is cheaper copied than sent as a piece
/// of its own.
const MIN_SLICE: usize = 1024;

/// Writer of JSON in pieces. What is large is a slice of where it came from.
#[derive(Debug, Default)]
pub struct JsonWriter {
    closed: Vec<Bytes>,
    open: String,
}

impl JsonWriter {
    /// Adds text as it is.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.open.push_str(text);
        self
    }

    /// Adds text as a JSON string.
    pub fn quoted(&mut self, text: &str) -> &mut Self {
        self.text(&quoted(text))
    }

    /// Adds JSON, or a part of it.
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

    /// Adds the parts, with commas between them.
    pub fn list<'a>(&mut self, parts: impl IntoIterator<Item = &'a Rope>) -> &mut Self {
        for (nth, part) in parts.into_iter().enumerate() {
            if nth > 0 {
                self.text(",");
            }
            self.rope(part);
        }
        self
    }

    /// Returns what was written, and begins anew.
    pub fn finish(&mut self) -> Rope {
        self.close();
        Rope(std::mem::take(&mut self.closed))
    }

    /// Returns the pieces that were written.
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
