//! Output formats of an export.
//!
//! The writer (`export_writer.rs`) calls `begin`, `row` for each row and `end` for
//! each section, and at last `finish` with the manifest. In between it takes the
//! encoded bytes from `output`, so that an export is never in memory as one piece.
//! `archive.rs` and `document.rs` implement the formats.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_web::web::Bytes;

use super::manifest::Manifest;

/// Output format of an export, encoded incrementally.
pub(super) trait Encoder: Send {
    /// Starts a section by its name, after the previous one has ended.
    fn begin(&mut self, section: &str) -> io::Result<()>;
    /// Encodes a row of it, which is JSON.
    fn row(&mut self, row: &str) -> io::Result<()>;
    /// Ends the section.
    fn end(&mut self) -> io::Result<()>;
    /// Ends the export with its manifest. No other method may follow but `output`.
    fn finish(&mut self, manifest: &Manifest) -> io::Result<()>;
    /// Returns the buffer of encoded bytes.
    fn output(&self) -> &OutputBuffer;
}

/// Encoded bytes that are not sent yet.
#[derive(Clone, Default)]
pub(super) struct OutputBuffer(Arc<Mutex<Vec<u8>>>);

impl OutputBuffer {
    /// Returns the number of bytes that wait to be sent.
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Takes all bytes.
    pub(super) fn take(&self) -> Bytes {
        mem::take(&mut *self.lock()).into()
    }

    /// Locks the buffer. No code panics while it is locked.
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for OutputBuffer {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.lock().extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Rows of one section, as an array with a row per line.
#[derive(Default)]
pub(super) struct Rows {
    has_rows: bool,
}

impl Rows {
    pub(super) fn row(&mut self, out: &mut impl Write, row: &str) -> io::Result<()> {
        let separator: &[u8] = if mem::replace(&mut self.has_rows, true) { b",\n" } else { b"[\n" };
        out.write_all(separator)?;
        out.write_all(row.as_bytes())
    }

    pub(super) fn end(self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(if self.has_rows { b"\n]" } else { b"[]" })
    }
}
