//! State of a stream so far.

use bytes::Bytes;
use pia_json::Members;

use crate::stream::call_indices::CallIndices;
use crate::stream::chunk_head::ChunkHead;
use crate::stream::merge::{RoleFilter, rewrite_heads};

/// State of the upstream's response so far on which the end depends.
#[derive(Default)]
pub(crate) struct StreamState {
    /// Set if an event had a finish reason.
    pub(crate) has_ended: bool,
    /// Set if an event had a part of a tool call.
    pub(crate) has_called_tools: bool,
    pub(crate) has_deltas: bool,
    pub(crate) roles: RoleFilter,
    /// Indices of the tool calls of the current call.
    pub(crate) call_indices: CallIndices,
    pub(crate) head: Option<ChunkHead>,
    /// Number of earlier calls of the turn.
    pub(crate) calls_before: u32,
}

impl StreamState {
    /// Stores the head of a chunk; later calls do not replace it.
    pub(crate) fn set_head(&mut self, head: Option<ChunkHead>) {
        if self.calls_before == 0 || self.head.is_none() {
            self.head = head.or(self.head.take());
        }
    }

    /// Stores the head of the first of these events, unless there is one.
    pub(crate) fn set_head_of(&mut self, events: &[u8]) {
        if self.head.is_some() {
            return;
        }
        let mut lines = events.split(|it| *it == b'\n');
        let json = lines.find_map(|it| it.strip_prefix(b"data: "));
        let chunk = json.and_then(|it| serde_json::from_slice::<Members<'_>>(it).ok());
        self.set_head(chunk.as_ref().and_then(ChunkHead::from_members));
    }

    /// Replaces the heads of events of later calls by that of the first call.
    pub(crate) fn unify_heads(&self, events: Bytes) -> Bytes {
        match &self.head {
            Some(head) if self.calls_before > 0 => rewrite_heads(&events, head),
            _ => events,
        }
    }
}
