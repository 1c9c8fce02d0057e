//! Timeouts and size limits of upstreams.

use std::time::Duration;

/// The bounds of every call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamLimits {
    /// For a connection to stand. Read once, when the client is made.
    pub connect: Duration,
    /// Duration for which an unused connection is stored. Read once, when the
    /// client is made.
    pub idle: Duration,
    /// For the status and headers of a streamed answer, the sending of the
    /// request included.
    pub first_byte: Duration,
    /// Between two pieces of a streamed answer.
    pub silence: Duration,
    /// For a whole answer, from the first byte sent to the last one read.
    pub answer: Duration,
    /// Number of bytes one event of a stream may have.
    pub max_event: usize,
    /// Number of bytes a whole answer may have.
    pub max_answer: usize,
    /// Number of bytes of a refusal's body are read; the rest is left.
    pub max_refusal: usize,
}

impl Default for UpstreamLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            // Many servers close after five seconds; a call that met a
            // connection just then would fail.
            idle: Duration::from_secs(4),
            first_byte: Duration::from_mins(2),
            silence: Duration::from_mins(2),
            answer: Duration::from_secs(290),
            max_event: 4 * 1024 * 1024,
            max_answer: 16 * 1024 * 1024,
            max_refusal: 16 * 1024,
        }
    }
}
