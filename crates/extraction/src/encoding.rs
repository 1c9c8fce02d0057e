//! Encodings of characters.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use pia_knowledge::ExtractError;

/// Bytes of a page in which its encoding is declared; scripts may be above it.
const DECLARATION_BYTES: usize = 8_192;

/// Decodes UTF-8; a byte order mark is left out.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, ExtractError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    str::from_utf8(bytes).map_err(|_reason| ExtractError::Damaged)
}

/// Decodes what its byte order mark says, UTF-8, or else Windows-1252, in which
/// spreadsheets save.
pub(crate) fn of_text(bytes: &[u8]) -> Cow<'_, str> {
    decode(bytes, WINDOWS_1252)
}

/// Decodes a page in what its byte order mark says, UTF-8, or else in what it
/// declares.
pub(crate) fn of_html(bytes: &[u8]) -> Cow<'_, str> {
    decode(bytes, declared(bytes).unwrap_or(WINDOWS_1252))
}

fn decode<'a>(bytes: &'a [u8], otherwise: &'static Encoding) -> Cow<'a, str> {
    if Encoding::for_bom(bytes).is_some() || str::from_utf8(bytes).is_ok() {
        return UTF_8.decode(bytes).0;
    }
    otherwise.decode(bytes).0
}

/// Returns the encoding that a page declares in its first element `meta` with
/// one, or before the page, as XML does.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..DECLARATION_BYTES.min(bytes.len()))?;
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let mut tags = head.split('<').filter(|it| it.starts_with("meta") || it.starts_with("?xml"));
    tags.find_map(declared_in)
}

fn declared_in(tag: &str) -> Option<&'static Encoding> {
    let tag = tag.split('>').next()?;
    let (_, label) = tag.split_once("charset").or_else(|| tag.split_once("encoding"))?;
    let label = label.trim_start().strip_prefix('=')?.trim_start_matches(['"', '\'', ' ']);
    Encoding::for_label(label.split(['"', '\'', ' ', ';', '/', '?']).next()?.as_bytes())
}
