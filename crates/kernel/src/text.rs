//! Lengths of texts, as clients count them.

/// Returns the length of a text in characters, as every client of the API
/// counts them: UTF-16 code units, of which an emoji is two.
pub fn utf16_len(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Returns the prefix of a text with at most `max` [`utf16_len`].
pub fn truncate(text: &str, max: usize) -> &str {
    // A character of two code units is left out if only one of them fits.
    let mut remaining = max;
    let end = text.char_indices().find(|(_, char)| match remaining.checked_sub(char.len_utf16()) {
        Some(rest) => {
            remaining = rest;
            false
        }
        None => true,
    });
    end.and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_beyond_the_first_plane_counts_twice() {
        for (text, count) in [("", 0), ("abc", 3), ("äß", 2), ("密码", 2), ("🙂", 2), ("👩‍🚀", 5)]
        {
            assert_eq!(utf16_len(text), count, "{text}");
        }
    }

    #[test]
    fn no_character_is_split() {
        for (text, max, short) in [
            ("abc", 3, "abc"),
            ("abc", 2, "ab"),
            ("ab", 9, "ab"),
            ("a🙂b", 2, "a"),
            ("a🙂b", 3, "a🙂"),
            ("🙂", 0, ""),
        ] {
            assert_eq!(truncate(text, max), short, "{text} {max}");
        }
    }
}
