//! Frames that wait to be sent, or to be acknowledged. Frames leave in the order
//! control, tracked, close; `connection.rs` decides which kind a message is.

use std::collections::VecDeque;

use crate::message::HubMessage;
use crate::protocol::{HubProtocol, WireFrame};

/// Queue of outgoing frames, with a limit on their length.
///
/// Tracked messages have consecutive sequence ids. With stateful reconnect they
/// stay until they are acknowledged, and are sent again on a new transport.
#[derive(Debug)]
pub(super) struct Outbox {
    /// Handshake, pings and acknowledgements, which go first.
    control: VecDeque<WireFrame>,
    tracked: VecDeque<WireFrame>,
    /// Number of tracked frames that were sent on the current transport.
    sent: usize,
    /// Sequence id of the first tracked frame.
    first_id: u64,
    /// Length of the tracked frames.
    bytes: usize,
    max_bytes: usize,
    awaits_acks: bool,
    /// Goodbye, which goes last.
    close: Option<WireFrame>,
}

impl Outbox {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            control: VecDeque::new(),
            tracked: VecDeque::new(),
            sent: 0,
            first_id: 1,
            bytes: 0,
            max_bytes,
            awaits_acks: false,
            close: None,
        }
    }

    pub(super) fn await_acks(&mut self) {
        self.awaits_acks = true;
    }

    pub(super) fn push_control(&mut self, frame: WireFrame) {
        self.control.push_back(frame);
    }

    /// Appends a tracked frame. Returns false if it does not fit.
    pub(super) fn push_tracked(&mut self, frame: WireFrame) -> bool {
        let bytes = self.bytes.saturating_add(frame.as_bytes().len());
        let fits = bytes <= self.max_bytes;
        if fits {
            self.bytes = bytes;
            self.tracked.push_back(frame);
        }
        fits
    }

    /// Sets the last frame.
    pub(super) fn push_close(&mut self, frame: WireFrame) {
        self.close = Some(frame);
    }

    /// Discards everything.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.max_bytes);
    }

    /// Returns the next frame for the transport.
    pub(super) fn pop(&mut self) -> Option<WireFrame> {
        if let Some(frame) = self.control.pop_front() {
            return Some(frame);
        }

        if self.awaits_acks {
            if let Some(frame) = self.tracked.get(self.sent) {
                self.sent += 1;
                return Some(frame.clone());
            }
        } else if let Some(frame) = self.pop_tracked() {
            return Some(frame);
        }

        self.close.take()
    }

    /// Returns whether no frame waits for the transport.
    pub(super) fn is_empty(&self) -> bool {
        self.control.is_empty() && self.tracked.len() == self.sent && self.close.is_none()
    }

    /// Returns the length of the tracked frames.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Releases frames that the client has received. A client cannot
    /// acknowledge what it was not sent.
    pub(super) fn acknowledge(&mut self, sequence_id: u64) {
        while self.sent > 0 && self.first_id <= sequence_id {
            self.pop_tracked();
            self.sent -= 1;
        }
    }

    /// Starts again on another transport, with the frames that were not
    /// acknowledged. The sequence is the id of the first of them, from which
    /// clients count.
    pub(super) fn restart(&mut self, protocol: HubProtocol) {
        self.sent = 0;
        self.control.clear();
        self.push_control(protocol.encode(&HubMessage::Sequence { sequence_id: self.first_id }));
    }

    fn pop_tracked(&mut self) -> Option<WireFrame> {
        let frame = self.tracked.pop_front()?;
        self.first_id += 1;
        self.bytes = self.bytes.saturating_sub(frame.as_bytes().len());
        Some(frame)
    }
}
