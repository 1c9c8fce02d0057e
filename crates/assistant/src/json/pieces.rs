//! A body put together from text of ours and slices of another body.

use bytes::Bytes;

/// Shorter parts are cheaper copied than sent as a piece of their own.
const WORTH_SLICING: usize = 1024;

/// Text in pieces; what is large is a slice of where it came from.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    closed: Vec<Bytes>,
    open: String,
}

impl Pieces {
    pub(crate) fn text(&mut self, text: &str) {
        self.open.push_str(text);
    }

    /// Adds `part`, which lies in `whole`.
    pub(crate) fn part(&mut self, whole: &Bytes, part: &str) {
        if part.len() < WORTH_SLICING {
            self.open.push_str(part);
        } else {
            self.close();
            self.closed.push(whole.slice_ref(part.as_bytes()));
        }
    }

    /// Adds what is a text already, with other hands holding it too.
    pub(crate) fn slice(&mut self, piece: &Bytes) {
        match std::str::from_utf8(piece) {
            Ok(text) if piece.len() < WORTH_SLICING => self.open.push_str(text),
            _ => {
                self.close();
                self.closed.push(piece.clone());
            }
        }
    }

    pub(crate) fn finish(mut self) -> Vec<Bytes> {
        self.close();
        self.closed
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.closed.push(Bytes::from(std::mem::take(&mut self.open)));
        }
    }
}
