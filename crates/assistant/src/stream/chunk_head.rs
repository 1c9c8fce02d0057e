//! Members that the chunks of a response have in common. The server's own chunks have them
//! too, so that they look like the upstream's.

use pia_json::{Members, quoted};

/// Keys of the members that the chunks of a response have in common.
pub(super) const HEAD_KEYS: [&str; 5] = ["id", "object", "created", "model", "system_fingerprint"];

/// Common members of the chunks of a response, as JSON without braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChunkHead(String);

impl ChunkHead {
    /// Creates a head for a response whose upstream has not sent one.
    pub(crate) fn new(id: &str, created: i64, model: &str) -> Self {
        let id = quoted(id);
        let model = quoted(model);
        Self(format!(
            r#""id":{id},"object":"chat.completion.chunk","created":{created},"model":{model}"#
        ))
    }

    /// Returns the head of a chunk; `None` if it has none of the members.
    pub(super) fn from_members(chunk: &Members<'_>) -> Option<Self> {
        let head = chunk.only(&HEAD_KEYS).to_json();
        let members = head.strip_prefix('{')?.strip_suffix('}')?;
        (!members.is_empty()).then(|| Self(members.to_owned()))
    }

    /// Replaces the head of a chunk by this one.
    pub(crate) fn apply_to(&self, json: &[u8]) -> Option<String> {
        let mut chunk: Members<'_> = serde_json::from_slice(json).ok()?;
        for key in HEAD_KEYS {
            chunk.remove(key);
        }
        let Self(head) = self;
        let json_without_head = chunk.to_json();
        let members = json_without_head.strip_prefix('{')?;
        Some(if members == "}" { format!("{{{head}}}") } else { format!("{{{head},{members}") })
    }

    /// Returns a chunk with a finish reason.
    pub(crate) fn end(&self, reason: &str) -> String {
        let Self(head) = self;
        let reason = quoted(reason);
        format!(r#"{{{head},"choices":[{{"index":0,"delta":{{}},"finish_reason":{reason}}}]}}"#)
    }

    /// Returns a chunk with usage.
    pub(crate) fn usage(&self, usage: &str) -> String {
        let Self(head) = self;
        format!(r#"{{{head},"choices":[],"usage":{usage}}}"#)
    }
}
