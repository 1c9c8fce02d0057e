//! Timeouts and size limits of upstreams.

use std::time::Duration;

/// Limits of every call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamLimits {
    /// Timeout of connecting. Read once, when the client is created.
    pub connect: Duration,
    /// Time for which an unused connection stays open. Read once, when the
    /// client is created.
    pub idle: Duration,
    /// Timeout for the status and headers of a stream, from the start of the
    /// request.
    pub first_byte: Duration,
    /// Timeout between two pieces of a stream.
    pub silence: Duration,
    /// Timeout of a full response, from the first byte sent to the last one
    /// read.
    pub answer: Duration,
    /// Maximum length of an event of a stream in bytes.
    pub max_event: usize,
    /// Maximum length of a full response in bytes.
    pub max_answer: usize,
    /// Maximum length of a refusal's body in bytes; the rest is not read.
    pub max_refusal: usize,
}

impl Default for UpstreamLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            // Many servers close after five seconds; a call on a connection
            // that closes at that moment would fail.
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
