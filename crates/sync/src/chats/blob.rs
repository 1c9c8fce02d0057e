//! Encrypted parts, which only devices can read: checked for their form, and
//! stored unchanged.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Size of the chunks that are decoded and discarded, in characters. A multiple of four:
/// each chunk is base64 of its own.
const DECODE_CHUNK_BYTES: usize = 64 * 1024;

/// Returns the decoded length in bytes of a base64 text; `None` if it is not
/// base64. Clients discard a whole list because of one text that they cannot
/// decode.
pub(super) fn decoded_length(text: &str) -> Option<usize> {
    let encoded = text.as_bytes();
    let padding = encoded.iter().rev().take_while(|it| **it == b'=').count();
    let chunks = encoded.chunks(DECODE_CHUNK_BYTES);
    let last = chunks.len().checked_sub(1)?;
    let mut length = 0;
    for (index, chunk) in chunks.enumerate() {
        // Padding ends the text, not a chunk of it.
        if index < last && chunk.contains(&b'=') {
            return None;
        }
        length += STANDARD.decode(chunk).ok()?.len();
    }

    (padding <= 2).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_base64_is_returned() {
        for bytes in [
            1,
            2,
            3,
            60,
            DECODE_CHUNK_BYTES,
            DECODE_CHUNK_BYTES * 3 / 4,
            DECODE_CHUNK_BYTES * 3 / 4 + 1,
            DECODE_CHUNK_BYTES * 2,
        ] {
            assert_eq!(decoded_length(&STANDARD.encode(vec![0xfb; bytes])), Some(bytes), "{bytes}");
        }
    }

    #[test]
    fn invalid_base64_has_no_length() {
        let inside = format!("{}QQ=={}", "A".repeat(DECODE_CHUNK_BYTES - 4), "AAAA");
        for text in
            ["", "A", "AA", "AA=", "AB==", "A===", "AAAA=", "____", "AA AA", "=", "\n", &*inside]
        {
            assert_eq!(decoded_length(text), None, "{text:.20}");
        }
    }
}
