//! Export as one JSON document.

use std::io::{self, Write};
use std::mem;

use super::encoder::{Encoder, OutputBuffer, Rows};
use super::manifest::Manifest;

/// Document of the form `{ "data": { section: rows, … }, "manifest": … }`.
pub(super) struct Document {
    output: OutputBuffer,
    has_sections: bool,
    rows: Rows,
}

impl Document {
    pub(super) fn new() -> Self {
        Self { output: OutputBuffer::default(), has_sections: false, rows: Rows::default() }
    }
}

impl Encoder for Document {
    fn begin(&mut self, section: &str) -> io::Result<()> {
        let separator =
            if mem::replace(&mut self.has_sections, true) { ",\n" } else { "{\"data\":{\n" };
        self.rows = Rows::default();
        write!(self.output, "{separator}{}:", serde_json::Value::from(section))
    }

    fn row(&mut self, row: &str) -> io::Result<()> {
        self.rows.row(&mut self.output, row)
    }

    fn end(&mut self) -> io::Result<()> {
        mem::take(&mut self.rows).end(&mut self.output)
    }

    fn finish(&mut self, manifest: &Manifest) -> io::Result<()> {
        self.output.write_all(b"\n},\"manifest\":")?;
        serde_json::to_writer(&mut self.output, manifest)?;
        self.output.write_all(b"}\n")
    }

    fn output(&self) -> &OutputBuffer {
        &self.output
    }
}
