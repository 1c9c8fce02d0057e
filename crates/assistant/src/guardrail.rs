//! What marks an answer as given under protection.

use bytes::Bytes;

use crate::gateway::Asker;

/// Says which answers are given under the protection of a guardrail. Callers
/// are told no more than that.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait Guardrail: Send + Sync {
    /// Whether the answer to this asker is.
    fn protects(&self, asker: &Asker) -> bool;
}

/// A server without a guardrail.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unguarded;

impl Guardrail for Unguarded {
    fn protects(&self, _asker: &Asker) -> bool {
        false
    }
}

/// The chunk that says it, before all others.
pub(crate) const CHUNK: Bytes =
    Bytes::from_static(b"data: {\"guardrail\":{\"protected\":true}}\n\n");

/// A whole answer that says it, beside its choices.
pub(crate) fn marked(answer: &Bytes) -> Bytes {
    let Some(rest) = answer.trim_ascii_start().strip_prefix(b"{") else { return answer.clone() };
    Bytes::from([br#"{"guardrail":{"protected":true},"#, rest].concat())
}
