//! Counters of attempts to call upstreams.
//!
//! The outcome of an attempt also decides on the next one: `may_be_repeated` permits it,
//! with the next key after a failure of the key (`is_key_failure`), and with the next
//! model after any other.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::ports::UpstreamError;
use crate::routing::target::Target;

/// Outcome of an attempt, as of the start of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttemptOutcome {
    /// Upstream has started to respond.
    Answered,
    /// Upstream rejected the key (401 or 403): the next key is tried.
    KeyRefused,
    /// Upstream is at capacity (429): the next key is tried.
    Busy,
    /// Upstream rejected the request (another 4xx).
    Refused,
    /// Upstream responded with a 5xx status, or not according to the protocol.
    Failed,
    /// Upstream could not be reached.
    Unreachable,
    /// Upstream sent nothing within the time limit.
    Silent,
}

impl AttemptOutcome {
    /// Returns the name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::KeyRefused => "key_refused",
            Self::Busy => "busy",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Unreachable => "unreachable",
            Self::Silent => "silent",
        }
    }

    pub(crate) fn from_error(err: &UpstreamError) -> Self {
        match err {
            UpstreamError::Refused { status: 401 | 403, .. } => Self::KeyRefused,
            UpstreamError::Refused { status: 429, .. } => Self::Busy,
            UpstreamError::Refused { status: 400..=499, .. }
            | UpstreamError::UnsupportedPart(_) => Self::Refused,
            UpstreamError::Refused { .. }
            | UpstreamError::Malformed
            | UpstreamError::Cut
            | UpstreamError::TooLong => Self::Failed,
            UpstreamError::Unreachable(_) => Self::Unreachable,
            UpstreamError::Silent => Self::Silent,
        }
    }

    /// Returns whether another key of the same model might succeed.
    pub(crate) fn is_key_failure(self) -> bool {
        matches!(self, Self::KeyRefused | Self::Busy)
    }
}

/// Returns whether another model may be called instead: there is no response,
/// and no work goes on upstream.
pub(crate) fn may_be_repeated(err: &UpstreamError) -> bool {
    match err {
        UpstreamError::Refused { status, .. } => matches!(status, 401 | 403 | 429 | 500..=599),
        UpstreamError::Unreachable(_) => true,
        UpstreamError::UnsupportedPart(_)
        | UpstreamError::Malformed
        | UpstreamError::Silent
        | UpstreamError::Cut
        | UpstreamError::TooLong => false,
    }
}

/// Attempts of one catalogue entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryAttempts {
    /// Number of attempts by outcome.
    pub counts: BTreeMap<AttemptOutcome, u64>,
    /// Outcome of the last one; `None` before the first.
    pub last: Option<AttemptOutcome>,
}

/// Label of the models of `Ai` and `Ai:Modes` themselves.
const UNNAMED: &str = "default";

/// Counters of attempts by model and outcome. Shared by all workers of a
/// process.
#[derive(Debug, Default)]
pub struct Attempts(Mutex<BTreeMap<String, EntryAttempts>>);

impl Attempts {
    pub(crate) fn count(&self, target: &Target, outcome: AttemptOutcome) {
        self.count_of(target.id.as_deref().unwrap_or(UNNAMED), outcome);
    }

    /// Counts an attempt of an entry that need not be a model.
    pub(crate) fn count_of(&self, label: &str, outcome: AttemptOutcome) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Copies the label for the first attempt only.
        if !entries.contains_key(label) {
            entries.insert(label.to_owned(), EntryAttempts::default());
        }
        let Some(entry) = entries.get_mut(label) else { return };
        *entry.counts.entry(outcome).or_default() += 1;
        entry.last = Some(outcome);
    }

    /// Returns the attempts of the entry with this id; `None` stands for the
    /// models of `Ai` and `Ai:Modes`, which are counted together.
    pub(crate) fn of_entry(&self, id: Option<&str>) -> EntryAttempts {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(id.unwrap_or(UNNAMED)).cloned().unwrap_or_default()
    }

    /// Returns the attempts by the id of the catalogue entry, which is `default` for `Ai` and
    /// `Ai:Modes` themselves.
    pub fn by_entry(&self) -> BTreeMap<String, EntryAttempts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::fakes;

    fn refusal(status: u16) -> UpstreamError {
        UpstreamError::Refused { status, retry_after: None, body: Bytes::new() }
    }

    #[test]
    fn only_calls_without_upstream_work_are_repeated() {
        for status in [401, 403, 429, 500, 502, 503, 529] {
            assert!(may_be_repeated(&refusal(status)), "{status}");
        }
        for status in [302, 400, 404, 413, 422] {
            assert!(!may_be_repeated(&refusal(status)), "{status}");
        }
        assert!(may_be_repeated(&UpstreamError::Unreachable(String::new())));
        for err in [
            UpstreamError::UnsupportedPart("recordings"),
            UpstreamError::Malformed,
            UpstreamError::Silent,
            UpstreamError::Cut,
            UpstreamError::TooLong,
        ] {
            assert!(!may_be_repeated(&err), "{err:?}");
        }
    }

    #[test]
    fn attempts_are_counted_by_model_and_outcome() {
        let attempts = Attempts::default();
        let target = fakes::target("m");
        attempts.count(&target, AttemptOutcome::from_error(&refusal(503)));
        attempts.count(&target, AttemptOutcome::from_error(&refusal(500)));
        attempts.count(&target, AttemptOutcome::Answered);

        let counts = [(AttemptOutcome::Answered, 1), (AttemptOutcome::Failed, 2)].into();
        let entry_attempts = EntryAttempts { counts, last: Some(AttemptOutcome::Answered) };
        assert_eq!(attempts.of_entry(None), entry_attempts);
        assert_eq!(attempts.by_entry(), [("default".to_owned(), entry_attempts)].into());
        assert_eq!(attempts.of_entry(Some("other")), EntryAttempts::default());
    }
}
