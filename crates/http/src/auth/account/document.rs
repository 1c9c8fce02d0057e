//! An export as one JSON document.

use std::io::{self, Write};
use std::mem;

use super::encoder::{Encoder, OutputBuffer, Rows};
use super::manifest::Manifest;

/// `{ "data": { kind: rows, … }, "manifest": … }`
pub(super) struct Document {
    pieces: OutputBuffer,
    begun: bool,
    rows: Rows,
}

impl Document {
    pub(super) fn new() -> Self {
        Self { pieces: OutputBuffer::default(), begun: false, rows: Rows::default() }
    }
}

impl Encoder for Document {
    fn begin(&mut self, section: &str) -> io::Result<()> {
        let before = if mem::replace(&mut self.begun, true) { ",\n" } else { "{\"data\":{\n" };
        self.rows = Rows::default();
        write!(self.pieces, "{before}{}:", serde_json::Value::from(section))
    }

    fn row(&mut self, row: &str) -> io::Result<()> {
        self.rows.row(&mut self.pieces, row)
    }

    fn end(&mut self) -> io::Result<()> {
        mem::take(&mut self.rows).end(&mut self.pieces)
    }

    fn finish(&mut self, manifest: &Manifest) -> io::Result<()> {
        self.pieces.write_all(b"\n},\"manifest\":")?;
        serde_json::to_writer(&mut self.pieces, manifest)?;
        self.pieces.write_all(b"}\n")
    }

    fn output(&self) -> &OutputBuffer {
        &self.pieces
    }
}
