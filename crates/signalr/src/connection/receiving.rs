//! Processing of frames that a client sends: decode, skip what was received
//! before, check the ids, and return events. An error ends the connection; events
//! before it still count.

use std::time::Instant;

use super::event::{ClientInvocation, CloseReason, ExpectedReply, HubEvent};
use super::invocations::ReplyForm;
use super::receipts::Receipts;
use super::{HubConnection, Phase, Session};
use crate::error::ProtocolError;
use crate::handshake::{HandshakeRequest, format_handshake_response};
use crate::message::HubMessage;
use crate::protocol::{HubProtocol, MessageDecoder, WireFrame};

/// First version of the protocol with acknowledgements.
const ACK_VERSION: u32 = 2;

impl HubConnection {
    pub(super) fn process_frame(
        &mut self,
        now: Instant,
        frame: &[u8],
        events: &mut Vec<HubEvent>,
    ) -> Result<(), ProtocolError> {
        match &mut self.phase {
            Phase::Handshake { input, .. } => {
                input.extend_from_slice(frame);
                let Some((request, length)) = HandshakeRequest::parse(input)? else {
                    return Ok(());
                };
                let messages = input.split_off(length);
                self.open(request, &messages);
                events.push(HubEvent::Connected);
            }
            Phase::Open(session) if session.detached_until.is_none() => session.decoder.push(frame),
            Phase::Open(_) | Phase::Closed(_) => return Ok(()),
        }

        self.last_received = now;

        while let Some(message) = self.next_message(now)? {
            events.extend(self.process_message(message)?);
        }

        Ok(())
    }

    /// Accepts a handshake, with the bytes that follow it.
    fn open(&mut self, request: HandshakeRequest, messages: &[u8]) {
        let HandshakeRequest { protocol, version } = request;
        let response = format_handshake_response(None);
        self.outbox.push_control(match protocol {
            HubProtocol::Json => WireFrame::Text(response),
            HubProtocol::MessagePack => WireFrame::Binary(response.into_bytes()),
        });
        let is_stateful = self.settings.resume_timeout.is_some() && version >= ACK_VERSION;
        if is_stateful {
            self.outbox.await_acks();
        }

        let mut decoder = MessageDecoder::new(protocol, self.settings.messages);
        decoder.push(messages);
        let receipts = is_stateful.then(Receipts::new);
        self.phase = Phase::Open(Session { protocol, decoder, receipts, detached_until: None });
    }

    /// Returns the next message that is to be processed.
    fn next_message(&mut self, now: Instant) -> Result<Option<HubMessage>, ProtocolError> {
        let Phase::Open(session) = &mut self.phase else { return Ok(None) };
        while let Some(message) = session.decoder.next_message()? {
            let is_new = match &mut session.receipts {
                Some(receipts) => receipts.record(&message, now)?,
                None => true,
            };
            if is_new {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// Processes a message. Ids that are not open are ignored: the client may
    /// have sent them before it learned of their end.
    fn process_message(&mut self, message: HubMessage) -> Result<Option<HubEvent>, ProtocolError> {
        let invocations = &mut self.invocations;
        let event = match message {
            HubMessage::Invocation { invocation_id, target, arguments, stream_ids } => {
                let reply = if let Some(id) = invocation_id {
                    invocations.open(&id, ReplyForm::Single, &stream_ids)?;
                    ExpectedReply::Completion(id)
                } else {
                    invocations.open_uploads(&stream_ids)?;
                    ExpectedReply::None
                };
                HubEvent::Invoked(ClientInvocation { reply, target, arguments, stream_ids })
            }
            HubMessage::StreamInvocation { invocation_id, target, arguments, stream_ids } => {
                invocations.open(&invocation_id, ReplyForm::Stream, &stream_ids)?;
                let reply = ExpectedReply::Stream(invocation_id);
                HubEvent::Invoked(ClientInvocation { reply, target, arguments, stream_ids })
            }
            HubMessage::CancelInvocation { invocation_id } => {
                if !invocations.cancel(&invocation_id) {
                    return Ok(None);
                }
                HubEvent::Canceled { invocation_id }
            }
            HubMessage::StreamItem { invocation_id, item } => {
                if !invocations.is_uploading(&invocation_id) {
                    return Ok(None);
                }
                HubEvent::StreamItem { stream_id: invocation_id, item }
            }
            HubMessage::Completion { invocation_id, result } => {
                if invocations.end_upload(&invocation_id) {
                    HubEvent::StreamEnded { stream_id: invocation_id, error: result.err() }
                } else if invocations.end_pending(&invocation_id) {
                    HubEvent::Returned { invocation_id, result }
                } else {
                    return Ok(None);
                }
            }
            HubMessage::Close { error, .. } => {
                self.abandon(CloseReason::Client { error });
                return Ok(None);
            }
            HubMessage::Ack { sequence_id } => {
                self.outbox.acknowledge(sequence_id);
                return Ok(None);
            }
            HubMessage::Ping | HubMessage::Sequence { .. } => return Ok(None),
        };

        Ok(Some(event))
    }
}
