//! Operator's settings.

use std::time::Duration;

use crate::knowledge::KnowledgeMode;

/// The assistant's settings; all of them reload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Maximum length of a text to optimise, in UTF-16 code units.
    pub max_optimize_text: usize,
    /// Maximum time for which a call waits for a permit of its upstream.
    pub max_wait: Duration,
    /// Maximum number of rounds of server tools in one turn.
    pub max_tool_rounds: u32,
    /// Moment at which knowledge bases are searched.
    pub knowledge: KnowledgeMode,
    /// Time after which a stream opens without an event, so that the caller
    /// learns that its request was accepted.
    pub open_after: Duration,
    /// Interval of keep-alive comments on a silent stream.
    pub heartbeat: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_optimize_text: 10_000,
            max_wait: Duration::from_secs(5),
            max_tool_rounds: 5,
            knowledge: KnowledgeMode::default(),
            open_after: Duration::from_secs(10),
            heartbeat: Duration::from_secs(15),
        }
    }
}
