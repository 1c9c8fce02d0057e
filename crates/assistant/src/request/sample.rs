//! Samples of texts, from which their tokens are estimated.
//!
//! A text is added piece by piece, and only its beginning is stored. `tokens` counts that
//! with a `TokenCounter` and extrapolates; `estimate` only divides the length, for calls
//! without limits.

use crate::ports::TokenCounter;

/// Length up to which a text is tokenized exactly, which takes a worker a millisecond or two.
const EXACTLY_COUNTED_BYTES: usize = 8 * 1024;

/// Average number of bytes per token.
const BYTES_PER_TOKEN: usize = 4;

/// Text of a prompt.
#[derive(Debug, Clone, Default)]
pub(crate) struct PromptText {
    /// Sample of the text.
    pub(crate) words: TokenSample,
    /// Tokens besides the text: for pictures, and for each message.
    pub(crate) extra_tokens: i64,
}

impl PromptText {
    /// Creates a prompt text of these texts.
    pub(crate) fn from_words(words: &[&str]) -> Self {
        let mut text = Self::default();
        for word in words {
            text.words.add(word.as_bytes());
        }
        text
    }

    /// Returns the number of tokens, extrapolated from the sample.
    pub(crate) fn tokens(&self, counter: &dyn TokenCounter) -> i64 {
        self.words.tokens(counter).saturating_add(self.extra_tokens)
    }

    /// Returns an estimate by length, which is fast.
    pub(crate) fn estimate(&self) -> i64 {
        self.words.by_length().saturating_add(self.extra_tokens)
    }
}

/// Beginning of a text, and its full length.
#[derive(Debug, Clone, Default)]
pub(crate) struct TokenSample {
    beginning: Vec<u8>,
    length: usize,
}

impl TokenSample {
    /// Appends a text; only its beginning may be stored.
    pub(crate) fn add(&mut self, text: &[u8]) {
        self.length = self.length.saturating_add(text.len());
        let room = EXACTLY_COUNTED_BYTES.saturating_sub(self.beginning.len());
        self.beginning.extend_from_slice(text.get(..room.min(text.len())).unwrap_or_default());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the full length of the text in bytes.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Returns the token count. A long text is extrapolated from its beginning,
    /// with the usual number for its length as the minimum.
    pub(crate) fn tokens(&self, counter: &dyn TokenCounter) -> i64 {
        if self.length == 0 {
            return 0;
        }
        let counted_tokens = counter.count(&String::from_utf8_lossy(&self.beginning));
        if self.length == self.beginning.len() {
            return counted_tokens;
        }

        let to_i128 = |it: usize| i128::try_from(it).unwrap_or(i128::MAX);
        let length = to_i128(self.length);
        let counted_length = to_i128(self.beginning.len().max(1));
        let extrapolated =
            (i128::from(counted_tokens) * length + counted_length - 1) / counted_length;
        i64::try_from(extrapolated).unwrap_or(i64::MAX).max(self.by_length())
    }

    /// Returns an estimate by length.
    fn by_length(&self) -> i64 {
        i64::try_from(self.length.div_ceil(BYTES_PER_TOKEN)).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct WordTokens;

    impl TokenCounter for WordTokens {
        fn count(&self, text: &str) -> i64 {
            assert!(text.len() <= EXACTLY_COUNTED_BYTES + 8, "{}", text.len());
            i64::try_from(text.split_whitespace().count()).unwrap()
        }
    }

    fn sample(text: &str) -> i64 {
        let mut sample = TokenSample::default();
        sample.add(text.as_bytes());
        sample.tokens(&WordTokens)
    }

    #[test]
    fn a_short_text_is_counted_and_a_long_one_is_extrapolated() {
        assert_eq!(sample(""), 0);
        assert_eq!(sample("one two three"), 3);
        assert_eq!(sample(&"word ".repeat(1_000_000)), 1_250_000);
        let short_words = sample(&"a b ".repeat(1_000_000));
        assert!((2_000_000..2_001_000).contains(&short_words), "{short_words}");
    }

    #[test]
    fn a_blank_beginning_does_not_make_a_long_text_free() {
        let text = format!("{}{}", " ".repeat(EXACTLY_COUNTED_BYTES), "x".repeat(1_000_000));

        assert!(sample(&text) >= 250_000);
    }

    #[test]
    fn a_character_that_is_cut_is_accepted() {
        assert!(sample(&"ä".repeat(9_000)) > 0);
        assert!(sample(&format!("x{}", "ä".repeat(9_000))) > 0);
    }
}
