//! Recorded usage of a call.
//!
//! `MeteredCall` creates the record at the end of its call, and `storage-assistant` stores it
//! once, with the sums that administrators read (`usage_sums.rs`).

use std::time::Duration;

use pia_kernel::{ApiKeyId, GroupId, Timestamp, UserId};
use uuid::Uuid;

use crate::credits::rates::{Micros, Rates};
use crate::routing::target::Mode;

/// Tokens that a call used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Prompt tokens, cached ones included.
    pub input: i64,
    /// Part of `input` that was read from a cache.
    pub cached_input: i64,
    /// Completion tokens, those for reasoning included.
    pub output: i64,
    /// Tokens that the provider's own tools inserted.
    pub connector: i64,
    /// Part of `output` spent on reasoning, which most providers do not return.
    pub reasoning: i64,
}

impl Usage {
    /// Returns the sum of two calls.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached_input: self.cached_input.saturating_add(other.cached_input),
            output: self.output.saturating_add(other.output),
            connector: self.connector.saturating_add(other.connector),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }
}

/// State in which a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    /// Response was sent to its end.
    Completed,
    /// Caller left before the end.
    Abandoned,
    /// Upstream failed after its response had started.
    Failed,
}

impl CallOutcome {
    /// Returns the name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Abandoned => "abandoned",
            Self::Failed => "failed",
        }
    }
}

/// Usage of one call, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRecord {
    /// Own id, by which duplicate writes are detected.
    pub id: Uuid,
    /// Time when the call ended.
    pub at: Timestamp,
    /// Account of the caller at the time.
    pub user: UserId,
    /// Group of the caller at the time.
    pub group: GroupId,
    /// API key of the call, if one was used.
    pub key: Option<ApiKeyId>,
    /// Mode that the caller requested, or that of the use case.
    pub mode: Mode,
    /// Provider type that answered: `OpenAI`.
    pub provider: &'static str,
    /// Id of the catalogue entry that answered, if it was one.
    pub entry: Option<String>,
    /// Id of the model at its provider.
    pub model: String,
    /// Tokens as reported, or as estimated.
    pub tokens: Usage,
    /// Rates per million tokens of each kind at that time.
    pub rates: Rates,
    /// Cost of the call at these rates.
    pub spent: Micros,
    /// Set if the tokens are an estimate, as the upstream reported none.
    pub estimated: bool,
    /// State in which the call ended.
    pub outcome: CallOutcome,
    /// Time from the admission of the call to its end.
    pub duration: Duration,
}
