//! Marks of protected responses.
//!
//! The server marks a response itself, a stream by a first chunk and a full response by its
//! first member, and removes marks that an upstream sent.

use bytes::Bytes;
use pia_json::Members;

use crate::ai_caller::AiCaller;

/// Guardrail that protects responses. Callers learn only whether it does.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait Guardrail: Send + Sync {
    /// Returns whether responses to this caller are protected.
    fn protects(&self, caller: &AiCaller) -> bool;
}

/// Guardrail of a server that protects no responses.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoGuardrail;

impl Guardrail for NoGuardrail {
    fn protects(&self, _caller: &AiCaller) -> bool {
        false
    }
}

/// Chunk that marks a stream, before all others.
pub(crate) const CHUNK: Bytes =
    Bytes::from_static(b"data: {\"guardrail\":{\"protected\":true}}\n\n");

/// Removes an upstream's mark from a full response: callers would take it for
/// ours.
pub(crate) fn without_mark(answer: Bytes) -> Bytes {
    if memchr::memmem::find(&answer, br#""guardrail""#).is_none() {
        return answer;
    }
    let Ok(mut members) = serde_json::from_slice::<Members<'_>>(&answer) else { return answer };
    members.remove("guardrail");
    Bytes::from(members.to_json())
}

/// Adds the mark to a full response.
pub(crate) fn with_mark(answer: &Bytes) -> Bytes {
    let Some(rest) = answer.trim_ascii_start().strip_prefix(b"{") else { return answer.clone() };
    Bytes::from([br#"{"guardrail":{"protected":true},"#, rest].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstreams_mark_is_removed() {
        let answer = Bytes::from_static(br#"{"choices":[],"guardrail":{"protected":true}}"#);
        let other = Bytes::from_static(br#"{"choices":["a \"guardrail\""]}"#);

        assert_eq!(without_mark(answer), r#"{"choices":[]}"#);
        assert_eq!(without_mark(other.clone()), other);
    }
}
