//! State of an answer so far.

use bytes::Bytes;

use crate::chunk::Head;
use crate::stream_merge::{Roles, continued};

/// Parts of the upstream's answer so far that the end depends on.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) ended: bool,
    pub(crate) called: bool,
    /// True if there were deltas.
    pub(crate) deltas: bool,
    pub(crate) roles: Roles,
    pub(crate) head: Option<Head>,
    /// Number of calls of the turn came before.
    pub(crate) calls_before: u32,
}

impl Said {
    /// Hears what chunks of the answer begin with.
    pub(crate) fn begins(&mut self, head: Option<Head>) {
        if self.calls_before == 0 || self.head.is_none() {
            self.head = head.or(self.head.take());
        }
    }

    /// Events as those of one answer.
    pub(crate) fn continued(&self, events: Bytes) -> Bytes {
        match &self.head {
            Some(head) if self.calls_before > 0 => continued(&events, head),
            _ => events,
        }
    }
}
