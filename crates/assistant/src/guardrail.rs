//! Marking of answers given under protection.

use bytes::Bytes;

use crate::ai_caller::AiCaller;
use pia_json::Members;

/// Says which answers are given under the protection of a guardrail. Callers
/// get no more than that.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait Guardrail: Send + Sync {
    /// Returns whether the answer to this asker is.
    fn protects(&self, caller: &AiCaller) -> bool;
}

/// A server without a guardrail.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoGuardrail;

impl Guardrail for NoGuardrail {
    fn protects(&self, _asker: &AiCaller) -> bool {
        false
    }
}

/// The chunk that says it, before all others.
pub(crate) const CHUNK: Bytes =
    Bytes::from_static(b"data: {\"guardrail\":{\"protected\":true}}\n\n");

/// A whole answer without what its upstream says of guardrails: callers take
/// it for ours.
pub(crate) fn unmarked(answer: Bytes) -> Bytes {
    if memchr::memmem::find(&answer, br#""guardrail""#).is_none() {
        return answer;
    }
    let Ok(mut members) = serde_json::from_slice::<Members<'_>>(&answer) else { return answer };
    members.remove("guardrail");
    Bytes::from(members.to_json())
}

/// A whole answer that says it, beside its choices.
pub(crate) fn marked(answer: &Bytes) -> Bytes {
    let Some(rest) = answer.trim_ascii_start().strip_prefix(b"{") else { return answer.clone() };
    Bytes::from([br#"{"guardrail":{"protected":true},"#, rest].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstreams_mark_is_none_of_ours() {
        let answer = Bytes::from_static(br#"{"choices":[],"guardrail":{"protected":true}}"#);
        let other = Bytes::from_static(br#"{"choices":["a \"guardrail\""]}"#);

        assert_eq!(unmarked(answer), r#"{"choices":[]}"#);
        assert_eq!(unmarked(other.clone()), other);
    }
}
