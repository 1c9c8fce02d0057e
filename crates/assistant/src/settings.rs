//! Operator's settings.

use std::time::Duration;

/// The assistant's settings; all of them reload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Maximum length of a text to optimise, in UTF-16 code units.
    pub max_optimize_text: usize,
    /// Duration for which a call waits for room at its upstream.
    pub max_wait: Duration,
    /// Number of times that a model may have something done for it in one turn.
    pub max_tool_rounds: u32,
    /// After how long without an event a stream opens all the same, so that
    /// the caller learns that it is being served.
    pub open_after: Duration,
    /// After how long without a word an open stream says that it is alive.
    pub heartbeat: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_optimize_text: 10_000,
            max_wait: Duration::from_secs(5),
            max_tool_rounds: 5,
            open_after: Duration::from_secs(10),
            heartbeat: Duration::from_secs(15),
        }
    }
}
