//! Counting what a call uses while it goes on.

use memchr::memmem;

use crate::credits::usage::Usage;
use crate::ports::TokenCounter;
use crate::request::sample::{PromptText, TokenSample};

/// The keys whose texts a model wrote, as they stand in chunks.
const TEXTS: [&[u8]; 4] =
    [b"\"content\"", b"\"reasoning_content\"", b"\"reasoning\"", b"\"arguments\""];

/// Length of a prompt. It is counted where something depends on it, and
/// otherwise only if nobody has reported it in the end.
#[derive(Debug)]
pub(crate) enum PromptTokens {
    Counted(i64),
    PromptText(PromptText),
}

impl Default for PromptTokens {
    fn default() -> Self {
        Self::Counted(0)
    }
}

impl PromptTokens {
    fn tokens(&self, tokens: &dyn TokenCounter) -> i64 {
        match self {
            Self::Counted(count) => *count,
            Self::PromptText(text) => text.tokens(tokens),
        }
    }
}

/// Reported or estimated tokens of a call.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    prompt: PromptTokens,
    /// Number of events that came, each of which carries a token at least.
    pub(crate) events: i64,
    /// Last report of the upstream, which reports sums.
    pub(crate) reported: Option<Usage>,
    /// The beginning of what was written, and how much it was.
    output_sample: TokenSample,
}

impl Meter {
    /// One that nothing has come for yet.
    pub(crate) fn of_prompt(prompt: PromptTokens) -> Self {
        Self { prompt, ..Self::default() }
    }

    /// Counts chunks that went by.
    pub(crate) fn count_chunks(&mut self, chunks: &[u8], events: u32) {
        self.events += i64::from(events);
        for key in TEXTS {
            for at in memmem::find_iter(chunks, key) {
                let after = chunks.get(at + key.len()..).unwrap_or_default();
                let value =
                    after.trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start);
                if let Some(text) = value.and_then(|it| it.strip_prefix(b"\"")) {
                    self.output_sample.add(string(text));
                }
            }
        }
    }

    /// Counts a text that came whole.
    pub(crate) fn count_text(&mut self, text: &str) {
        self.output_sample.add(text.as_bytes());
    }

    /// Returns whether no word came, of an answer, of thoughts, or of a call's
    /// arguments.
    pub(crate) fn is_wordless(&self) -> bool {
        self.output_sample.is_empty()
    }

    /// Returns whether anything came.
    pub(crate) fn is_silent(&self) -> bool {
        self.events == 0 && self.output_sample.is_empty() && self.reported.is_none()
    }

    /// The tokens, as reported or as we count them.
    pub(crate) fn tokens(&self, tokens: &dyn TokenCounter) -> Usage {
        self.reported.unwrap_or_else(|| Usage {
            input: self.prompt.tokens(tokens),
            cached_input: 0,
            output: self.output(tokens),
            connector: 0,
            reasoning: 0,
        })
    }

    /// Returns the usage of an answer that was cut off: the report may be of
    /// its beginning, and no less than arrived is charged.
    pub(crate) fn tokens_so_far(&self, tokens: &dyn TokenCounter) -> Usage {
        let usage = self.tokens(tokens);
        Usage { output: usage.output.max(self.output(tokens)), ..usage }
    }

    /// Returns the output tokens. A model writes a token an event, or several.
    fn output(&self, tokens: &dyn TokenCounter) -> i64 {
        self.output_sample.tokens(tokens).max(self.events)
    }
}

/// A JSON string up to the quote that ends it.
fn string(json: &[u8]) -> &[u8] {
    let mut escaped = false;
    let end = json.iter().position(|it| {
        let ends = *it == b'"' && !escaped;
        escaped = *it == b'\\' && !escaped;
        ends
    });
    json.get(..end.unwrap_or(json.len())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fakes::CharTokens;

    #[test]
    fn what_was_written_is_counted_and_no_less_than_the_events() {
        let mut meter = Meter::of_prompt(PromptTokens::Counted(3));
        let chunk = br#"data: {"choices":[{"delta":{"content":"ab\"c"}}]}

data: {"choices":[{"delta":{"role":"assistant","content":""}}]}

"#;

        meter.count_chunks(chunk, 2);
        let few = meter.tokens(&CharTokens);
        meter.count_chunks(b"data: {}\n\n", 40);

        assert_eq!((few.input, few.output), (3, 5));
        assert_eq!(meter.tokens(&CharTokens).output, 42);
    }

    #[test]
    fn blanks_between_key_and_text_hide_nothing() {
        let mut meter = Meter::default();

        meter.count_chunks(br#"data: {"delta": {"content" : "abc", "reasoning": "de"}}"#, 1);

        assert_eq!(meter.tokens(&CharTokens).output, 5);
    }

    #[test]
    fn an_answer_that_was_broken_off_costs_no_less_than_came_of_it() {
        let usage_reported =
            Usage { input: 7, cached_input: 0, output: 1, connector: 0, reasoning: 0 };
        let mut meter = Meter { reported: Some(usage_reported), ..Meter::default() };

        meter.count_chunks(br#"{"content":"abcdef"}"#, 1);

        assert_eq!(
            (meter.tokens(&CharTokens), meter.tokens_so_far(&CharTokens).output),
            (usage_reported, 6)
        );
    }

    #[test]
    fn what_the_upstream_reported_is_believed() {
        let usage_reported =
            Usage { input: 1, cached_input: 1, output: 2, connector: 3, reasoning: 0 };
        let meter = Meter {
            reported: Some(usage_reported),
            events: 99,
            ..Meter::of_prompt(PromptTokens::Counted(5))
        };

        assert_eq!(meter.tokens(&CharTokens), usage_reported);
    }

    #[test]
    fn a_string_ends_at_its_quote() {
        assert_eq!(string(br#"a\\"b"#), br"a\\");
        assert_eq!(string(br#"a\"b""#), br#"a\"b"#);
        assert_eq!(string(b"cut"), b"cut");
    }
}
