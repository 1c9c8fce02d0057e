//! Connection of one client, without its input and output.
//!
//! `Phase` is the state: handshake, open (with a transport or detached), closed.
//! Time is an argument, never read. `receiving.rs` turns frames into events,
//! `outbox.rs` orders what is sent, `invocations.rs` knows the ids that are open,
//! and `receipts.rs` makes a resumed connection process each message once.

mod event;
mod invocations;
mod outbox;
mod receipts;
mod receiving;
mod settings;

use std::time::Instant;

use serde_json::Value;

pub use self::event::{ClientInvocation, CloseReason, ExpectedReply, HubEvent, SendError};
use self::invocations::{Invocations, ReplyForm};
use self::outbox::Outbox;
use self::receipts::Receipts;
pub use self::settings::ConnectionSettings;
use crate::handshake::format_handshake_response;
use crate::message::{HubMessage, InvocationResult};
use crate::protocol::{HubProtocol, MessageDecoder, WireFrame};

/// Server's side of a connection.
///
/// Its owner passes in the frames that a client sends ([`receive`]) and the
/// time ([`handle_timeout`], when [`poll_timeout`] has passed), and takes out
/// the frames to send ([`poll_transmit`]) after every call, until there are
/// none. When [`close_reason`] is set, the transport is to be closed after the
/// last frame.
///
/// [`receive`]: Self::receive
/// [`handle_timeout`]: Self::handle_timeout
/// [`poll_timeout`]: Self::poll_timeout
/// [`poll_transmit`]: Self::poll_transmit
/// [`close_reason`]: Self::close_reason
#[derive(Debug)]
pub struct HubConnection {
    settings: ConnectionSettings,
    phase: Phase,
    outbox: Outbox,
    invocations: Invocations,
    last_received: Instant,
    last_sent: Instant,
}

#[derive(Debug)]
enum Phase {
    Handshake { input: Vec<u8>, deadline: Instant },
    Open(Session),
    Closed(CloseReason),
}

/// State of a connection that has shaken hands.
#[derive(Debug)]
struct Session {
    protocol: HubProtocol,
    decoder: MessageDecoder,
    /// Receipts, if the session can be resumed.
    receipts: Option<Receipts>,
    /// Time until which the session waits for a new transport.
    detached_until: Option<Instant>,
}

/// Permission for a client to connect again by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reconnect {
    /// Client may connect again.
    Allowed,
    /// Client must not connect again.
    Denied,
}

impl HubConnection {
    /// Creates the connection of a transport that was just opened.
    pub fn new(settings: ConnectionSettings, now: Instant) -> Self {
        let deadline = now + settings.handshake_timeout;
        Self {
            settings,
            phase: Phase::Handshake { input: Vec::new(), deadline },
            outbox: Outbox::new(settings.max_buffered_bytes),
            invocations: Invocations::new(settings.max_open),
            last_received: now,
            last_sent: now,
        }
    }

    /// Processes the content of a frame from the client.
    ///
    /// Bytes that violate the protocol close the connection; events that they
    /// follow are still returned.
    pub fn receive(&mut self, now: Instant, frame: &[u8]) -> Vec<HubEvent> {
        let mut events = Vec::new();
        if let Err(error) = self.process_frame(now, frame, &mut events) {
            let message = error.to_string();
            self.shut_down(error.into(), Some(message), Reconnect::Denied);
        }
        events
    }

    /// Returns the next frame to send.
    ///
    /// A transport that does not take it yet must stop neither the clock nor
    /// the other calls: that is how a client that does not read is noticed.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<WireFrame> {
        if matches!(&self.phase, Phase::Open(session) if session.detached_until.is_some()) {
            return None;
        }
        let frame = self.outbox.pop()?;
        self.last_sent = now;
        Some(frame)
    }

    /// Returns the time when [`handle_timeout`](Self::handle_timeout) is to
    /// be called, if nothing happens before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Handshake { deadline, .. }
            | Phase::Open(Session { detached_until: Some(deadline), .. }) => Some(*deadline),
            Phase::Open(session) => {
                let silent = self.last_received + self.settings.client_timeout;
                let ping = self.last_sent + self.settings.keep_alive;
                let ack = session.receipts.as_ref().and_then(Receipts::ack_due);
                ack.into_iter().chain([silent, ping]).min()
            }
            Phase::Closed(_) => None,
        }
    }
    /// Sends the pings and acknowledgements that are due, and ends a connection
    /// that is silent.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_none_or(|due| now < due) {
            return;
        }

        match &mut self.phase {
            Phase::Handshake { .. } => self.time_out(CloseReason::HandshakeTimeout),
            Phase::Open(session) if session.detached_until.is_some() => {
                self.abandon(CloseReason::TransportLost);
            }
            Phase::Open(_) if self.last_received + self.settings.client_timeout <= now => {
                self.time_out(CloseReason::ClientTimeout);
            }
            Phase::Open(session) => {
                if let Some(ack) = session.receipts.as_mut().and_then(|it| it.take_ack(now)) {
                    self.outbox.push_control(session.protocol.encode(&ack));
                }
                if self.last_sent + self.settings.keep_alive <= now {
                    if self.outbox.is_empty() {
                        self.outbox.push_control(session.protocol.encode(&HubMessage::Ping));
                    }
                    self.last_sent = now;
                }
            }
            Phase::Closed(_) => {}
        }
    }

    /// Calls a method of the client, which does not answer.
    pub fn send(&mut self, target: &str, arguments: Vec<Value>) -> Result<(), SendError> {
        self.push_invocation(None, target, arguments)
    }

    /// Calls a method of the client, and returns the id of the invocation. The
    /// answer is [`HubEvent::Returned`].
    pub fn invoke(&mut self, target: &str, arguments: Vec<Value>) -> Result<String, SendError> {
        let id = self.invocations.open_pending().ok_or(SendError::TooManyPending)?;
        let outcome = self.push_invocation(Some(id.clone()), target, arguments);
        if outcome.is_err() {
            self.forget(&id);
        }
        outcome.map(|()| id)
    }

    /// Stops waiting for the answer to an invocation of the client.
    pub fn forget(&mut self, invocation_id: &str) {
        self.invocations.end_pending(invocation_id);
    }

    /// Sends an item of a stream that the client invoked.
    pub fn send_item(&mut self, invocation_id: &str, item: Value) -> Result<(), SendError> {
        if !self.invocations.accepts_items(invocation_id) {
            return Err(SendError::InvocationEnded);
        }
        self.push(&HubMessage::StreamItem { invocation_id: invocation_id.to_owned(), item })
    }

    /// Completes an invocation by the client; streams end without a value.
    pub fn complete(
        &mut self,
        invocation_id: &str,
        result: InvocationResult,
    ) -> Result<(), SendError> {
        let form = self.invocations.complete(invocation_id).ok_or(SendError::InvocationEnded)?;
        let result = match form {
            ReplyForm::Single => result,
            ReplyForm::Stream => result.map(|_| None),
        };
        self.push(&HubMessage::Completion { invocation_id: invocation_id.to_owned(), result })
    }

    /// Closes the connection, behind all messages that wait.
    pub fn close(&mut self, error: Option<String>, reconnect: Reconnect) {
        self.shut_down(CloseReason::Server, error, reconnect);
    }

    /// Returns the reason for the end of the connection, if it has ended.
    pub fn close_reason(&self) -> Option<&CloseReason> {
        match &self.phase {
            Phase::Closed(reason) => Some(reason),
            Phase::Handshake { .. } | Phase::Open(_) => None,
        }
    }

    /// Returns the length of the messages that wait to be sent or to be
    /// acknowledged. Streams pause while it is large.
    pub fn buffered_bytes(&self) -> usize {
        self.outbox.bytes()
    }

    /// Records the loss of the transport. The connection ends, unless it can be
    /// resumed.
    pub fn detach(&mut self, now: Instant) {
        match (&mut self.phase, self.settings.resume_timeout) {
            (Phase::Open(session), Some(timeout)) if session.receipts.is_some() => {
                session.detached_until = Some(now + timeout);
            }
            (Phase::Open(_) | Phase::Handshake { .. }, _) => {
                self.abandon(CloseReason::TransportLost);
            }
            (Phase::Closed(_), _) => {}
        }
    }

    /// Returns whether the connection can continue on a new transport.
    pub fn is_resumable(&self) -> bool {
        matches!(&self.phase, Phase::Open(session) if session.receipts.is_some())
    }

    /// Continues on a new transport, which replaces the present one if there is
    /// still one. There is no second handshake.
    pub fn resume(&mut self, now: Instant) -> Result<(), SendError> {
        let Phase::Open(Session { protocol, decoder, receipts: Some(receipts), detached_until }) =
            &mut self.phase
        else {
            return Err(SendError::NotOpen);
        };

        *decoder = MessageDecoder::new(*protocol, self.settings.messages);
        *detached_until = None;
        receipts.restart();
        self.outbox.restart(*protocol);
        self.last_received = now;
        self.last_sent = now;

        Ok(())
    }

    fn push_invocation(
        &mut self,
        invocation_id: Option<String>,
        target: &str,
        arguments: Vec<Value>,
    ) -> Result<(), SendError> {
        self.push(&HubMessage::Invocation {
            invocation_id,
            target: target.to_owned(),
            arguments,
            stream_ids: Vec::new(),
        })
    }

    fn push(&mut self, message: &HubMessage) -> Result<(), SendError> {
        let Phase::Open(session) = &self.phase else { return Err(SendError::NotOpen) };
        if self.outbox.push_tracked(session.protocol.encode(message)) {
            return Ok(());
        }
        // Makes room: the goodbye goes out without what the client did not read.
        self.outbox.clear();
        self.time_out(CloseReason::BufferFull);
        Err(SendError::BufferFull)
    }

    /// Closes the connection of a client that may try again.
    fn time_out(&mut self, reason: CloseReason) {
        let message = reason.to_string();
        self.shut_down(reason, Some(message), Reconnect::Allowed);
    }

    /// Closes the connection and tells the client.
    fn shut_down(&mut self, reason: CloseReason, error: Option<String>, reconnect: Reconnect) {
        match &self.phase {
            Phase::Handshake { .. } => {
                let refusal = error.as_deref().or(Some("the connection was closed"));
                let response = format_handshake_response(refusal);
                self.outbox.push_control(WireFrame::Text(response));
            }
            Phase::Open(session) if session.detached_until.is_some() => self.outbox.clear(),
            Phase::Open(session) => {
                let allow_reconnect = reconnect == Reconnect::Allowed;
                let close = HubMessage::Close { error, allow_reconnect };
                self.outbox.push_close(session.protocol.encode(&close));
            }
            Phase::Closed(_) => return,
        }

        self.phase = Phase::Closed(reason);
    }

    /// Closes the connection without notifying the client.
    fn abandon(&mut self, reason: CloseReason) {
        self.outbox.clear();
        self.phase = Phase::Closed(reason);
    }
}

#[cfg(test)]
mod tests;
