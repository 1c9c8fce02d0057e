//! Counting tokens as OpenAI's models of today do.

use std::sync::{Arc, OnceLock};

use pia_assistant::TokenCounter;
use tiktoken_rs::CoreBPE;

/// About so many bytes make a token, where nothing better is known.
const BYTES_OF_A_TOKEN: usize = 4;

/// Maximum length counted in one go.
const MAX_SLICE_BYTES: usize = 512;

/// The encoding `o200k_base`. Other models have others, but none is far off,
/// and an estimate is all that is requested.
///
/// Its table takes a fifth of a second to read and some 40 MB, so that it is
/// read when the first text is to be counted, by a thread of its own. Until it
/// is there, texts are estimated by their length.
#[derive(Clone, Default)]
pub struct O200k(Arc<Table>);

#[derive(Default)]
struct Table {
    read: OnceLock<Option<CoreBPE>>,
    begun: OnceLock<()>,
}

impl O200k {
    /// Reads the table unless it is there, and waits for that.
    pub fn ready(&self) {
        self.0.read.get_or_init(load_encoding);
    }

    fn begin(&self) {
        let mut first = false;
        self.0.begun.get_or_init(|| first = true);
        if first {
            let table = self.clone();
            let reader = std::thread::Builder::new().name("tokens".to_owned());
            // Without the thread, lengths go on being what is known.
            drop(reader.spawn(move || table.ready()));
        }
    }
}

impl TokenCounter for O200k {
    fn count(&self, text: &str) -> i64 {
        let Some(Some(table)) = self.0.read.get() else {
            self.begin();
            return to_i64(text.len().div_ceil(BYTES_OF_A_TOKEN));
        };
        to_i64(slices(text).map(|it| table.encode_ordinary(it).len()).sum())
    }
}

/// A text in slices that end before a blank, where there is one: words begin
/// with theirs. What has none takes the square of its length to count.
fn slices(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.floor_char_boundary(MAX_SLICE_BYTES);
        let (first, after) = rest.split_at(end);
        let blank = first.rfind(' ').filter(|it| *it > 0 && !after.is_empty());
        let (first, after) = rest.split_at(blank.unwrap_or(end));
        rest = after;
        (!first.is_empty()).then_some(first)
    })
}

fn to_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A table that cannot be read is missed once, and then done without.
fn load_encoding() -> Option<CoreBPE> {
    match tiktoken_rs::o200k_base() {
        Ok(table) => Some(table),
        Err(err) => {
            tracing::error!(error = %err, "tokenizer unavailable; estimating tokens from text length");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn texts_are_counted_as_the_models_do() {
        let tokens = O200k::default();
        tokens.ready();

        assert_eq!(tokens.count(""), 0);
        assert_eq!(tokens.count("Hello, world!"), 4);
        // What would be a sign to the model is but text to whoever counts it.
        assert!(tokens.count("<|endoftext|>") > 1);
    }

    #[test]
    fn nobody_waits_for_the_table() {
        let tokens = O200k::default();

        let first = tokens.count("12345678");
        tokens.ready();

        assert_eq!(first, 2);
    }

    #[test]
    fn slices_are_the_whole_text_and_no_word_is_cut() {
        let text = "a word of ü ".repeat(300);

        let all: Vec<&str> = slices(&text).collect();

        assert_eq!(all.concat(), text);
        assert!(all.iter().all(|it| it.len() <= 512));
        assert!(all[1..].iter().all(|it| it.starts_with(' ')));
        assert_eq!(slices(&"ü".repeat(600)).count(), 3);
        assert_eq!(slices("").count(), 0);
    }

    /// The longest text that is counted at once.
    #[test]
    fn eight_kilobytes_take_a_few_milliseconds() {
        let tokens = O200k::default();
        tokens.ready();
        let worst = ["a".repeat(8192), "ä ".repeat(2730), "word and 12345 ".repeat(546)];

        for text in worst {
            let begun = Instant::now();
            tokens.count(&text);
            // Twenty times slower without optimisation.
            assert!(begun.elapsed() < Duration::from_millis(400), "{:?}", begun.elapsed());
        }
    }
}
