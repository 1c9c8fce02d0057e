//! ZIP archives of documents.
//!
//! Documents of Word, presentations and workbooks are such archives. An archive
//! counts what it inflates, over all entries together, so that a small file cannot
//! expand without limit. Encrypted documents are OLE files instead, in which only
//! that is recognised.

use std::io::{Cursor, Read, copy, sink};

use pia_knowledge::ExtractError;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::encoding;

/// Maximum number of bytes that are inflated of one archive. Sizes that entries
/// declare are not trusted.
const MAX_INFLATED_BYTES: u64 = 100 * 1024 * 1024;
/// Maximum number of entries; more are `TooComplex`.
const MAX_ENTRIES: usize = 10_000;
/// Beginning of an OLE file.
const OLE: &[u8] = &[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];
/// Name of the stream of an OLE file in which a document is encrypted.
const ENCRYPTED_STREAM: &str = "EncryptedPackage";

/// ZIP archive.
pub(crate) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// Number of bytes that may still be inflated.
    remaining: u64,
}

impl<'a> Archive<'a> {
    /// Opens an archive.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, ExtractError> {
        if bytes.starts_with(OLE) {
            let is_encrypted = contains_utf16(bytes, ENCRYPTED_STREAM);
            return Err(if is_encrypted { ExtractError::Encrypted } else { ExtractError::Damaged });
        }
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| reason(&error))?;
        if zip.len() > MAX_ENTRIES {
            return Err(ExtractError::TooComplex);
        }
        Ok(Self { zip, remaining: MAX_INFLATED_BYTES })
    }

    /// Reads an entry of text; `None` if it is missing.
    pub(crate) fn read(&mut self, name: &str) -> Result<Option<String>, ExtractError> {
        let Some(index) = self.zip.index_for_name(name) else { return Ok(None) };
        let mut bytes = Vec::new();
        let entry = self.zip.by_index(index).map_err(|error| reason(&error))?;
        // One byte more, from which `spend` notices that the limit is exceeded.
        entry
            .take(self.remaining + 1)
            .read_to_end(&mut bytes)
            .map_err(|_reason| ExtractError::Damaged)?;
        self.spend(bytes.len() as u64)?;
        Ok(Some(encoding::of_text(&bytes).into_owned()))
    }

    /// Checks that all entries together can be inflated, for a parser that inflates
    /// them itself.
    pub(crate) fn check_all(&mut self) -> Result<(), ExtractError> {
        for index in 0..self.zip.len() {
            let entry = self.zip.by_index(index).map_err(|error| reason(&error))?;
            let inflated = copy(&mut entry.take(self.remaining + 1), &mut sink());
            self.spend(inflated.map_err(|_reason| ExtractError::Damaged)?)?;
        }
        Ok(())
    }

    fn spend(&mut self, inflated: u64) -> Result<(), ExtractError> {
        self.remaining = self.remaining.checked_sub(inflated).ok_or(ExtractError::TooComplex)?;
        Ok(())
    }
}

/// Returns the reason why an archive cannot be read.
fn reason(error: &ZipError) -> ExtractError {
    match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => ExtractError::Encrypted,
        _ => ExtractError::Damaged,
    }
}

/// Returns whether bytes contain a name in UTF-16.
fn contains_utf16(bytes: &[u8], name: &str) -> bool {
    let encoded: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    bytes.windows(encoded.len()).any(|it| it == encoded)
}
