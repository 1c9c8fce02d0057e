//! Sequence ids of messages that are received, for stateful reconnect.
//!
//! Ids are not on the wire: both sides count tracked messages from 1, and a
//! `Sequence` on a new transport says from which the client repeats. Those up to
//! `last_id` were processed and are skipped.

use std::time::{Duration, Instant};

use crate::error::ProtocolError;
use crate::message::HubMessage;

/// Time in which acknowledgements are gathered.
const ACK_DELAY: Duration = Duration::from_secs(1);

/// Record of the tracked messages that were received.
#[derive(Debug)]
pub(super) struct Receipts {
    /// Sequence id of the next tracked message.
    next_id: u64,
    /// Highest sequence id of all messages that were received.
    last_id: u64,
    awaits_sequence: bool,
    ack_due: Option<Instant>,
}

impl Receipts {
    pub(super) fn new() -> Self {
        Self { next_id: 1, last_id: 0, awaits_sequence: false, ack_due: None }
    }

    /// Expects a sequence before all other messages of a new transport.
    pub(super) fn restart(&mut self) {
        self.awaits_sequence = true;
    }

    /// Records a message. Returns whether it is to be processed: messages that
    /// were received before are not.
    pub(super) fn record(
        &mut self,
        message: &HubMessage,
        now: Instant,
    ) -> Result<bool, ProtocolError> {
        if let HubMessage::Sequence { sequence_id } = message {
            if *sequence_id > self.last_id + 1 {
                return Err(ProtocolError::SequenceGap);
            }
            if self.awaits_sequence {
                self.awaits_sequence = false;
                self.next_id = *sequence_id;
            }
            return Ok(false);
        }
        // Before the sequence nothing can be numbered, and nothing is processed.
        if self.awaits_sequence || !message.is_tracked() {
            return Ok(!self.awaits_sequence);
        }

        let id = self.next_id;
        self.next_id += 1;
        self.ack_due.get_or_insert(now + ACK_DELAY);
        let is_new = id > self.last_id;
        self.last_id = self.last_id.max(id);

        Ok(is_new)
    }

    /// Returns the time of the next acknowledgement.
    pub(super) fn ack_due(&self) -> Option<Instant> {
        self.ack_due
    }

    /// Returns the acknowledgement, if it is due.
    pub(super) fn take_ack(&mut self, now: Instant) -> Option<HubMessage> {
        self.ack_due.take_if(|due| *due <= now)?;
        Some(HubMessage::Ack { sequence_id: self.last_id })
    }
}
