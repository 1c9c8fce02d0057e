//! What was said of an answer so far.

use bytes::Bytes;

use crate::chunk::Head;
use crate::joined::{Roles, continued};

/// What the upstream has said so far that the end depends on.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) ended: bool,
    pub(crate) called: bool,
    /// Whether there were deltas.
    pub(crate) deltas: bool,
    pub(crate) roles: Roles,
    pub(crate) head: Option<Head>,
    /// Whether this is not the first call of the turn any more.
    pub(crate) again: bool,
}

impl Said {
    /// Hears what chunks of the answer begin with.
    pub(crate) fn begins(&mut self, head: Option<Head>) {
        if !self.again || self.head.is_none() {
            self.head = head.or(self.head.take());
        }
    }

    /// Events as those of one answer.
    pub(crate) fn continued(&self, events: Bytes) -> Bytes {
        match &self.head {
            Some(head) if self.again => continued(&events, head),
            _ => events,
        }
    }
}
