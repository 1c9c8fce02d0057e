//! State of an answer so far.

use bytes::Bytes;

use crate::stream::chunk::ChunkHead;
use crate::stream::merge::{RoleFilter, rewrite_heads};

/// Parts of the upstream's answer so far that the end depends on.
#[derive(Default)]
pub(crate) struct StreamState {
    pub(crate) ended: bool,
    pub(crate) called: bool,
    /// True if there were deltas.
    pub(crate) deltas: bool,
    pub(crate) roles: RoleFilter,
    pub(crate) head: Option<ChunkHead>,
    /// Number of calls of the turn came before.
    pub(crate) calls_before: u32,
}

impl StreamState {
    /// Hears what chunks of the answer begin with.
    pub(crate) fn set_head(&mut self, head: Option<ChunkHead>) {
        if self.calls_before == 0 || self.head.is_none() {
            self.head = head.or(self.head.take());
        }
    }

    /// Events as those of one answer.
    pub(crate) fn unify_heads(&self, events: Bytes) -> Bytes {
        match &self.head {
            Some(head) if self.calls_before > 0 => rewrite_heads(&events, head),
            _ => events,
        }
    }
}
