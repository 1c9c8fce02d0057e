//! Output formats of an export.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_web::web::Bytes;

use super::manifest::Manifest;

/// Output format of an export, encoded piece by piece.
pub(super) trait Encoder: Send {
    /// Begins a kind of data.
    fn begin(&mut self, section: &str) -> io::Result<()>;
    /// A row of it, which is JSON.
    fn row(&mut self, row: &str) -> io::Result<()>;
    /// Ends the kind of data.
    fn end(&mut self) -> io::Result<()>;
    /// Ends the whole.
    fn finish(&mut self, manifest: &Manifest) -> io::Result<()>;
    /// Returns the bytes encoded since the last call.
    fn output(&self) -> &OutputBuffer;
}

/// Bytes that are encoded and not sent yet.
#[derive(Clone, Default)]
pub(super) struct OutputBuffer(Arc<Mutex<Vec<u8>>>);

impl OutputBuffer {
    /// Returns the number of bytes.
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Takes it all.
    pub(super) fn take(&self) -> Bytes {
        mem::take(&mut *self.lock()).into()
    }

    /// Locks the buffer. Nothing panics while it is held.
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

/// The rows of one kind of data, as an array with a row a line.
#[derive(Default)]
pub(super) struct Rows {
    begun: bool,
}

impl Rows {
    pub(super) fn row(&mut self, out: &mut impl Write, row: &str) -> io::Result<()> {
        let before: &[u8] = if mem::replace(&mut self.begun, true) { b",\n" } else { b"[\n" };
        out.write_all(before)?;
        out.write_all(row.as_bytes())
    }

    pub(super) fn end(self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(if self.begun { b"\n]" } else { b"[]" })
    }
}
