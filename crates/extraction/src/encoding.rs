//! Encodings of characters: one decoder for each kind of file.
//!
//! Documents of Markdown and plain text must be UTF-8. Other files are decoded without
//! an error: unknown bytes become replacement characters.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use pia_knowledge::ExtractError;

/// Bytes of a page in which its encoding is declared; scripts may be above it.
const DECLARATION_BYTES: usize = 8_192;

/// Decodes UTF-8; a byte order mark is left out.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, ExtractError> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    str::from_utf8(text).map_err(|_reason| ExtractError::Damaged)
}

/// Decodes a text by its byte order mark, as UTF-8, or else as Windows-1252, in
/// which spreadsheets are saved.
pub(crate) fn of_text(bytes: &[u8]) -> Cow<'_, str> {
    decode(bytes, WINDOWS_1252)
}

/// Decodes a page by its byte order mark, as UTF-8, or else by the encoding that
/// it declares.
pub(crate) fn of_html(bytes: &[u8]) -> Cow<'_, str> {
    decode(bytes, declared(bytes).unwrap_or(WINDOWS_1252))
}

fn decode<'a>(bytes: &'a [u8], otherwise: &'static Encoding) -> Cow<'a, str> {
    if Encoding::for_bom(bytes).is_some() || str::from_utf8(bytes).is_ok() {
        return UTF_8.decode(bytes).0;
    }
    otherwise.decode(bytes).0
}

/// Returns the encoding that a page declares in its first `meta` element with an
/// encoding, or in an XML declaration.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let declaration = bytes.get(..DECLARATION_BYTES.min(bytes.len()))?;
    String::from_utf8_lossy(declaration)
        .to_ascii_lowercase()
        .split('<')
        .filter(|it| it.starts_with("meta") || it.starts_with("?xml"))
        .find_map(declared_in)
}

fn declared_in(tag: &str) -> Option<&'static Encoding> {
    let content = tag.split('>').next()?;
    let (_, declaration) =
        content.split_once("charset").or_else(|| content.split_once("encoding"))?;
    let value = declaration.trim_start().strip_prefix('=')?.trim_start_matches(['"', '\'', ' ']);
    let label = value.split(['"', '\'', ' ', ';', '/', '?']).next()?;
    Encoding::for_label(label.as_bytes())
}
