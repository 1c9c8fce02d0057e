//! Export as a ZIP of JSON files.

use std::io::{self, Write};
use std::mem;

use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

use super::encoder::{Encoder, OutputBuffer, Rows};
use super::manifest::Manifest;

/// ZIP with a file for each section, and the manifest last: a truncated archive
/// has neither the manifest nor a directory.
pub(super) struct Archive {
    /// Archive in progress; `None` once it is finished.
    zip: Option<ZipWriter<StreamWriter<OutputBuffer>>>,
    output: OutputBuffer,
    rows: Rows,
}

impl Archive {
    pub(super) fn new() -> Self {
        let output = OutputBuffer::default();
        let zip = Some(ZipWriter::new_stream(output.clone()));
        Self { zip, output, rows: Rows::default() }
    }

    /// Returns the archive, or an error once it is finished.
    fn zip(&mut self) -> io::Result<&mut ZipWriter<StreamWriter<OutputBuffer>>> {
        self.zip.as_mut().ok_or_else(|| io::Error::other("the archive has ended"))
    }

    fn file(&mut self, name: &str) -> io::Result<()> {
        // The size is unknown at this point.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .large_file(true);
        Ok(self.zip()?.start_file(name, options)?)
    }
}

impl Encoder for Archive {
    fn begin(&mut self, section: &str) -> io::Result<()> {
        self.rows = Rows::default();
        self.file(&Manifest::file(section))
    }

    fn row(&mut self, row: &str) -> io::Result<()> {
        let mut rows = mem::take(&mut self.rows);
        rows.row(self.zip()?, row)?;
        self.rows = rows;
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        let rows = mem::take(&mut self.rows);
        rows.end(self.zip()?)
    }

    fn finish(&mut self, manifest: &Manifest) -> io::Result<()> {
        self.file("manifest.json")?;
        self.zip()?.write_all(&serde_json::to_vec_pretty(manifest)?)?;
        if let Some(zip) = self.zip.take() {
            drop(zip.finish()?);
        }
        Ok(())
    }

    fn output(&self) -> &OutputBuffer {
        &self.output
    }
}
