//! Faults that a request triggers by magic words.
//!
//! In the last user message or the header `x-demo`: `demo:status=429 retry-after=5`,
//! `demo:cut`, `demo:slow=500 demo:chunks=16`. Several words combine; of two faults
//! the last counts.

use std::time::Duration;

/// Fault to simulate in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Closes the connection half-way through the response.
    Cut,
    /// Sends an error chunk half-way through the stream.
    Error,
    /// Sends nothing more after this number of chunks and keeps the connection
    /// open.
    Silent(usize),
    /// Sends a proxy's HTML page.
    Html,
    /// Sends a body that is not valid JSON.
    Broken,
    /// Refuses the conversation as too long.
    ContextLength,
    /// Refuses requests with tools.
    NoTools,
}

/// Instructions from the magic words of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) fault: Option<Fault>,
    pub(crate) status: Option<u16>,
    pub(crate) retry_after: Option<u32>,
    pub(crate) delay: Option<Duration>,
    pub(crate) chunks: Option<usize>,
    /// Set to omit a stream's usage although it was requested.
    pub(crate) no_usage: bool,
    /// Set to omit a stream's `[DONE]`.
    pub(crate) no_done: bool,
}

/// Maximum number of chunks: more than any test needs, few enough for memory.
const MAX_CHUNKS: usize = 100_000;

/// Delay before each chunk for `demo:slow` without a value.
const SLOW: Duration = Duration::from_millis(200);

impl Script {
    /// Parses `demo:<word>` and `demo:<word>=<value>` anywhere in a text;
    /// unknown words are ignored.
    pub(crate) fn parse(text: &str) -> Self {
        let mut script = Self::default();
        for word in text.split(|it: char| !(it.is_ascii_alphanumeric() || ":=-".contains(it))) {
            if let Some((_, directive)) = word.split_once("demo:") {
                let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
                script.apply(name, value);
            } else if let Some(("retry-after", value)) = word.split_once('=') {
                script.retry_after = value.parse().ok();
            }
        }
        script
    }

    fn apply(&mut self, name: &str, value: &str) {
        match name {
            "status" => self.status = value.parse().ok(),
            "chunks" => self.chunks = value.parse().ok().map(|it: usize| it.min(MAX_CHUNKS)),
            "slow" => self.delay = Some(value.parse().map_or(SLOW, Duration::from_millis)),
            "cut" => self.fault = Some(Fault::Cut),
            "error" => self.fault = Some(Fault::Error),
            "silent" => self.fault = Some(Fault::Silent(value.parse().unwrap_or_default())),
            "html" => self.fault = Some(Fault::Html),
            "broken" => self.fault = Some(Fault::Broken),
            "context-length" => self.fault = Some(Fault::ContextLength),
            "no-tools" => self.fault = Some(Fault::NoTools),
            "no-usage" => self.no_usage = true,
            "no-done" => self.no_done = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magic_words_are_found_anywhere_in_a_text() {
        let script = Script::parse("Mend this: <text>demo:status=429 retry-after=7</text>, please");

        assert_eq!(script.status, Some(429));
        assert_eq!(script.retry_after, Some(7));
    }

    #[test]
    fn words_can_be_combined() {
        let script = Script::parse("demo:silent=3 demo:chunks=9 demo:no-usage demo:no-done");

        let expected = Script {
            fault: Some(Fault::Silent(3)),
            chunks: Some(9),
            no_usage: true,
            no_done: true,
            ..Script::default()
        };
        assert_eq!(script, expected);
    }

    #[test]
    fn an_ordinary_text_contains_no_instructions() {
        assert_eq!(Script::parse("A demo: status=500, demo:unknown"), Script::default());
    }
}
