//! Texts that are cut to a maximum length.

use pia_kernel::{truncate, utf16_len};

/// Marker at the end of a text that was cut.
pub const TRUNCATION_MARKER: &str = "… [truncated]";

/// Maximum length of an event's message, in UTF-16 code units.
pub const MAX_MESSAGE_CHARS: usize = 2000;
/// Maximum length of an error message and of a reason, in UTF-16 code units.
pub const MAX_ERROR_CHARS: usize = 1024;

/// Returns a text of at most `max` UTF-16 code units: the beginning with
/// [`TRUNCATION_MARKER`] if it is longer.
pub fn truncated(text: &str, max: usize) -> String {
    if utf16_len(text) <= max {
        return text.to_owned();
    }
    let beginning = truncate(text, max.saturating_sub(utf16_len(TRUNCATION_MARKER)));
    format!("{beginning}{TRUNCATION_MARKER}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_fits_is_unchanged() {
        let text = "🙂".repeat(MAX_MESSAGE_CHARS / 2);

        assert_eq!(truncated(&text, MAX_MESSAGE_CHARS), text);
    }

    #[test]
    fn a_longer_text_ends_with_a_marker_within_the_limit() {
        let text = "🙂".repeat(MAX_ERROR_CHARS);

        let short = truncated(&text, MAX_ERROR_CHARS);

        assert!(short.ends_with(TRUNCATION_MARKER));
        assert!((MAX_ERROR_CHARS - 1..=MAX_ERROR_CHARS).contains(&utf16_len(&short)));
    }
}
