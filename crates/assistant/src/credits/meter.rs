//! Metering of a running call.
//!
//! The upstream's last report of usage counts. Without one, and if texts follow it, tokens
//! are counted from the texts that the stream carries: their keys are searched in the bytes
//! of the chunks, which need not be parsed. Only a sample of the text is stored.

use memchr::memmem;

use crate::credits::usage::Usage;
use crate::ports::TokenCounter;
use crate::request::sample::{PromptText, TokenSample};

/// Keys of chunks whose values are texts of the model.
const TEXTS: [&[u8]; 4] =
    [b"\"content\"", b"\"reasoning_content\"", b"\"reasoning\"", b"\"arguments\""];

/// Length of a prompt. It is counted if something depends on it, and otherwise
/// only if the upstream does not report it.
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
    /// Number of received events, each of which has at least one token.
    pub(crate) events: i64,
    /// Last usage that the upstream reported; its reports are cumulative.
    pub(crate) reported: Option<Usage>,
    /// Length of the output when it was reported.
    reported_len: usize,
    /// Sample of the output, and its length.
    output_sample: TokenSample,
}

impl Meter {
    /// Creates a meter without output.
    pub(crate) fn for_prompt(prompt: PromptTokens) -> Self {
        Self { prompt, ..Self::default() }
    }

    /// Sets the usage that the upstream reports for the output so far.
    pub(crate) fn report(&mut self, usage: Usage) {
        self.reported = Some(usage);
        self.reported_len = self.output_sample.len();
    }

    /// Returns whether texts were received after the last report, which lacks them.
    pub(crate) fn has_unreported_text(&self) -> bool {
        self.output_sample.len() > self.reported_len
    }

    /// Counts the chunks of events.
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

    /// Counts a complete text.
    pub(crate) fn count_text(&mut self, text: &str) {
        self.output_sample.add(text.as_bytes());
    }

    /// Returns whether no text was received: no content, reasoning or call
    /// arguments.
    pub(crate) fn has_no_text(&self) -> bool {
        self.output_sample.is_empty()
    }

    /// Returns whether nothing was received.
    pub(crate) fn is_empty(&self) -> bool {
        self.events == 0 && self.output_sample.is_empty() && self.reported.is_none()
    }

    /// Returns the reported tokens, or an estimate. Of a report before the last text, no less
    /// than was received counts.
    pub(crate) fn tokens(&self, tokens: &dyn TokenCounter) -> Usage {
        match self.reported {
            Some(usage) if self.has_unreported_text() => {
                Usage { output: usage.output.max(self.output(tokens)), ..usage }
            }
            Some(usage) => usage,
            None => Usage {
                input: self.prompt.tokens(tokens),
                cached_input: 0,
                output: self.output(tokens),
                connector: 0,
                reasoning: 0,
            },
        }
    }

    /// Returns the usage of a response that was cut off: the report may be
    /// partial, and no less than was received is charged.
    pub(crate) fn tokens_so_far(&self, tokens: &dyn TokenCounter) -> Usage {
        let usage = self.tokens(tokens);
        Usage { output: usage.output.max(self.output(tokens)), ..usage }
    }

    /// Returns the output tokens: at least one per event.
    fn output(&self, tokens: &dyn TokenCounter) -> i64 {
        self.output_sample.tokens(tokens).max(self.events)
    }
}

/// Returns a JSON string up to its closing quote, still escaped.
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
    fn output_is_counted_with_at_least_one_token_per_event() {
        let mut meter = Meter::for_prompt(PromptTokens::Counted(3));
        let chunk = br#"data: {"choices":[{"delta":{"content":"ab\"c"}}]}

data: {"choices":[{"delta":{"role":"assistant","content":""}}]}

"#;

        meter.count_chunks(chunk, 2);
        assert_eq!(meter.tokens(&CharTokens).input, 3);
        assert_eq!(meter.tokens(&CharTokens).output, 5);

        meter.count_chunks(b"data: {}\n\n", 40);
        assert_eq!(meter.tokens(&CharTokens).output, 42);
    }

    #[test]
    fn spaces_between_key_and_text_are_skipped() {
        let mut meter = Meter::default();

        meter.count_chunks(br#"data: {"delta": {"content" : "abc", "reasoning": "de"}}"#, 1);

        assert_eq!(meter.tokens(&CharTokens).output, 5);
    }

    #[test]
    fn a_response_that_breaks_off_costs_at_least_its_received_part() {
        let usage = Usage { input: 7, cached_input: 0, output: 1, connector: 0, reasoning: 0 };
        let mut meter = Meter::default();

        meter.count_chunks(br#"{"content":"abcdef"}"#, 1);
        meter.report(usage);

        assert_eq!(meter.tokens(&CharTokens), usage);
        assert_eq!(meter.tokens_so_far(&CharTokens).output, 6);
    }

    #[test]
    fn a_report_before_the_last_text_is_no_maximum() {
        let usage = Usage { input: 7, cached_input: 0, output: 1, connector: 0, reasoning: 0 };
        let mut meter = Meter::default();

        meter.report(usage);
        meter.count_chunks(br#"{"delta":{}}"#, 1);
        assert_eq!(meter.tokens(&CharTokens), usage);

        meter.count_chunks(br#"{"content":"abcdef"}"#, 1);
        assert_eq!(meter.tokens(&CharTokens), Usage { output: 6, ..usage });

        meter.report(usage);
        assert_eq!(meter.tokens(&CharTokens), usage);
    }

    #[test]
    fn reported_usage_is_trusted() {
        let usage = Usage { input: 1, cached_input: 1, output: 2, connector: 3, reasoning: 0 };
        let meter = Meter {
            reported: Some(usage),
            events: 99,
            ..Meter::for_prompt(PromptTokens::Counted(5))
        };

        assert_eq!(meter.tokens(&CharTokens), usage);
    }

    #[test]
    fn a_string_ends_at_its_quote() {
        assert_eq!(string(br#"a\\"b"#), br"a\\");
        assert_eq!(string(br#"a\"b""#), br#"a\"b"#);
        assert_eq!(string(b"cut"), b"cut");
    }
}
