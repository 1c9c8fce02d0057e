//! The beginning of a text, by which all of it is counted.

use crate::ports::TokenCounter;

/// Length up to which a text is tokenized exactly, which takes a worker a millisecond or two.
const EXACTLY_COUNTED_BYTES: usize = 8 * 1024;

/// About so many bytes make a token.
const BYTES_PER_TOKEN: usize = 4;

/// Text of a prompt.
#[derive(Debug, Clone, Default)]
pub(crate) struct PromptText {
    /// Words.
    pub(crate) words: TokenSample,
    /// The tokens of what else is in it: pictures, and what is put round each
    /// message.
    pub(crate) besides: i64,
}

impl PromptText {
    /// Sample of these words alone.
    pub(crate) fn from_words(words: &[&str]) -> Self {
        let mut text = Self::default();
        for word in words {
            text.words.add(word.as_bytes());
        }
        text
    }

    /// Tokens.
    pub(crate) fn tokens(&self, tokens: &dyn TokenCounter) -> i64 {
        self.words.tokens(tokens).saturating_add(self.besides)
    }

    /// Tokens by its length, which takes no time.
    pub(crate) fn estimate(&self) -> i64 {
        self.words.by_length().saturating_add(self.besides)
    }
}

/// The beginning of a text, and how long all of it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct TokenSample {
    beginning: Vec<u8>,
    length: usize,
}

impl TokenSample {
    /// Goes on with a text.
    pub(crate) fn add(&mut self, text: &[u8]) {
        self.length = self.length.saturating_add(text.len());
        let room = EXACTLY_COUNTED_BYTES.saturating_sub(self.beginning.len());
        self.beginning.extend_from_slice(text.get(..room.min(text.len())).unwrap_or_default());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Tokens: counted, or, beyond the beginning, as many for its length as
    /// the beginning has, but no fewer than a text of that length usually has.
    pub(crate) fn tokens(&self, tokens: &dyn TokenCounter) -> i64 {
        if self.length == 0 {
            return 0;
        }
        let counted = tokens.count(&String::from_utf8_lossy(&self.beginning));
        let wide = |it: usize| i128::try_from(it).unwrap_or(i128::MAX);
        let (whole, part) = (wide(self.length), wide(self.beginning.len().max(1)));
        let tokens = (i128::from(counted) * whole + part - 1) / part;
        let tokens = i64::try_from(tokens).unwrap_or(i64::MAX);
        if self.length == self.beginning.len() { tokens } else { tokens.max(self.by_length()) }
    }

    /// Tokens by its length alone.
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
    fn a_short_text_is_counted_and_a_long_one_by_its_beginning() {
        assert_eq!(sample(""), 0);
        assert_eq!(sample("one two three"), 3);
        let long = sample(&"word ".repeat(1_000_000));
        assert_eq!(long, 1_250_000);
        let short = sample(&"a b ".repeat(1_000_000));
        assert!((2_000_000..2_001_000).contains(&short), "{short}");
    }

    #[test]
    fn a_beginning_that_states_nothing_makes_no_long_text_free() {
        let text = format!("{}{}", " ".repeat(EXACTLY_COUNTED_BYTES), "x".repeat(1_000_000));

        assert!(sample(&text) >= 250_000);
    }

    #[test]
    fn a_character_that_is_cut_in_two_does_no_harm() {
        assert!(sample(&"ä".repeat(9_000)) > 0);
        assert!(sample(&format!("x{}", "ä".repeat(9_000))) > 0);
    }
}
