//! Token counters with predictable results.

use crate::ports::TokenCounter;

/// Counter of a token per four characters.
pub(crate) struct QuarterTokens;

impl TokenCounter for QuarterTokens {
    fn count(&self, text: &str) -> i64 {
        i64::try_from(text.chars().count().div_ceil(4)).unwrap()
    }
}

/// Counter of a token per character.
pub(crate) struct CharTokens;

impl TokenCounter for CharTokens {
    fn count(&self, text: &str) -> i64 {
        i64::try_from(text.chars().count()).unwrap()
    }
}
