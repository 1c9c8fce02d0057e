//! Token counts of OpenAI's current models.

use std::sync::{Arc, OnceLock};

use pia_assistant::TokenCounter;
use tiktoken_rs::CoreBPE;

/// Average number of bytes per token, for estimates.
const BYTES_PER_TOKEN: usize = 4;

/// Maximum length that is encoded at once.
const MAX_SLICE_BYTES: usize = 512;

/// Token counter with the encoding `o200k_base`. Other models have other
/// encodings, but an estimate is sufficient.
///
/// Its table takes 0.2 seconds to load and some 40 MB, so a thread loads it at
/// the first count. Until it is loaded, texts are estimated by their length.
#[derive(Clone, Default)]
pub struct O200k(Arc<Table>);

#[derive(Default)]
struct Table {
    encoding: OnceLock<Option<CoreBPE>>,
    started: OnceLock<()>,
}

impl O200k {
    /// Loads the table, or waits until another thread has loaded it.
    pub fn ready(&self) {
        self.0.encoding.get_or_init(load_encoding);
    }

    fn start(&self) {
        let mut is_first = false;
        self.0.started.get_or_init(|| is_first = true);
        if is_first {
            let table = self.clone();
            let reader = std::thread::Builder::new().name("tokens".to_owned());
            // Without the thread, counts remain estimates.
            drop(reader.spawn(move || table.ready()));
        }
    }
}

impl TokenCounter for O200k {
    fn count(&self, text: &str) -> i64 {
        let Some(Some(table)) = self.0.encoding.get() else {
            self.start();
            return to_i64(text.len().div_ceil(BYTES_PER_TOKEN));
        };
        to_i64(slices(text).map(|it| table.encode_ordinary(it).len()).sum())
    }
}

/// Splits a text into slices of at most [`MAX_SLICE_BYTES`], before spaces if possible, since
/// tokens begin with them. Encoding takes quadratic time in the length of a text without spaces.
fn slices(text: &str) -> impl Iterator<Item = &str> {
    let mut remaining = text;
    std::iter::from_fn(move || {
        let limit = remaining.floor_char_boundary(MAX_SLICE_BYTES);
        let (beginning, remainder) = remaining.split_at(limit);
        let last_space = beginning.rfind(' ').filter(|it| *it > 0 && !remainder.is_empty());
        let (slice, after) = remaining.split_at(last_space.unwrap_or(limit));
        remaining = after;
        (!slice.is_empty()).then_some(slice)
    })
}

fn to_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Loads the encoding. A failure is logged once, and counts remain estimates.
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
    fn texts_are_counted_with_the_models_encoding() {
        let tokens = O200k::default();
        tokens.ready();

        assert_eq!(tokens.count(""), 0);
        assert_eq!(tokens.count("Hello, world!"), 4);
        // A special token of the model counts as ordinary text.
        assert!(tokens.count("<|endoftext|>") > 1);
    }

    #[test]
    fn counting_does_not_wait_for_the_table() {
        let tokens = O200k::default();

        let estimate = tokens.count("12345678");
        tokens.ready();

        assert_eq!(estimate, 2);
    }

    #[test]
    fn slices_cover_the_text_and_cut_no_word() {
        let text = "a word of ü ".repeat(300);

        let text_slices: Vec<&str> = slices(&text).collect();

        assert_eq!(text_slices.concat(), text);
        assert!(text_slices.iter().all(|it| it.len() <= 512));
        assert!(text_slices[1..].iter().all(|it| it.starts_with(' ')));
        assert_eq!(slices(&"ü".repeat(600)).count(), 3);
        assert_eq!(slices("").count(), 0);
    }

    /// The longest text that is counted.
    #[test]
    fn eight_kilobytes_take_a_few_milliseconds() {
        let tokens = O200k::default();
        tokens.ready();
        let slow_texts = ["a".repeat(8192), "ä ".repeat(2730), "word and 12345 ".repeat(546)];
        for text in slow_texts {
            let started = Instant::now();
            tokens.count(&text);
            // Twenty times slower without optimisation.
            assert!(started.elapsed() < Duration::from_millis(400), "{:?}", started.elapsed());
        }
    }
}
