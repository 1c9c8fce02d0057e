//! Encodings of the hub protocol, and the framing of messages in a byte stream.
//! Frames of a WebSocket do not delimit messages: call `MessageDecoder::push`
//! with each frame, then `next_message` until there is none.

mod json;
mod message_pack;
mod payload;

use crate::error::ProtocolError;
use crate::message::HubMessage;

/// Byte behind each JSON message, and behind the handshake.
pub(crate) const RECORD_SEPARATOR: u8 = 0x1e;

/// Encoding of a connection's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HubProtocol {
    /// JSON objects, each followed by a record separator, in text frames.
    Json,
    /// MessagePack arrays, each behind its length, in binary frames.
    MessagePack,
}

impl HubProtocol {
    /// Encodes a message as the content of one frame.
    pub fn encode(self, message: &HubMessage) -> WireFrame {
        match self {
            Self::Json => WireFrame::Text(json::encode(message)),
            Self::MessagePack => WireFrame::Binary(message_pack::encode(message)),
        }
    }

    /// Decodes a message without its framing. Returns `None` for a type that
    /// is unknown, as later versions may have more.
    fn decode(self, body: &[u8], max_depth: usize) -> Result<Option<HubMessage>, ProtocolError> {
        match self {
            Self::Json => json::decode(body, max_depth),
            Self::MessagePack => message_pack::decode(body, max_depth),
        }
    }
}

/// Content of one WebSocket frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireFrame {
    /// Content of a text frame.
    Text(String),
    /// Content of a binary frame.
    Binary(Vec<u8>),
}

impl WireFrame {
    /// Returns the content of either kind.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }
}

/// Limits on messages that are received.
#[derive(Debug, Clone, Copy)]
pub struct MessageLimits {
    /// Maximum length of a message, in bytes without its framing. Its decoded values may
    /// take two hundred times as much memory for a moment.
    pub max_bytes: usize,
    /// Maximum nesting depth of an argument, an item or a result; 100 at most
    /// in JSON.
    pub max_depth: usize,
    /// Maximum number of messages that end in one frame.
    pub max_per_frame: usize,
}

impl Default for MessageLimits {
    fn default() -> Self {
        Self { max_bytes: 256 * 1024, max_depth: 64, max_per_frame: 1024 }
    }
}

/// Decoder of a stream of frames, which may be cut anywhere.
#[derive(Debug)]
pub struct MessageDecoder {
    protocol: HubProtocol,
    limits: MessageLimits,
    buffer: Vec<u8>,
    /// Number of bytes at the start of the buffer that were decoded.
    consumed: usize,
    /// Number of bytes behind them that contain no separator.
    searched: usize,
    messages_in_frame: usize,
}

impl MessageDecoder {
    /// Creates a decoder for a new transport.
    pub fn new(protocol: HubProtocol, limits: MessageLimits) -> Self {
        Self {
            protocol,
            limits,
            buffer: Vec::new(),
            consumed: 0,
            searched: 0,
            messages_in_frame: 0,
        }
    }

    /// Appends the content of a frame.
    pub fn push(&mut self, frame: &[u8]) {
        self.buffer.drain(..self.consumed);
        self.buffer.extend_from_slice(frame);
        self.consumed = 0;
        self.messages_in_frame = 0;
    }

    /// Decodes the next message. Returns `None` if its end has not arrived.
    pub fn next_message(&mut self) -> Result<Option<HubMessage>, ProtocolError> {
        loop {
            let input = self.buffer.get(self.consumed..).unwrap_or_default();
            let body = match self.protocol {
                HubProtocol::Json => json::split(input, self.searched, self.limits.max_bytes)?,
                HubProtocol::MessagePack => message_pack::split(input, self.limits.max_bytes)?,
            };

            let Some((body, length)) = body else {
                self.searched = input.len();
                self.release();
                return Ok(None);
            };

            self.messages_in_frame += 1;
            if self.messages_in_frame > self.limits.max_per_frame {
                return Err(ProtocolError::TooManyMessages);
            }

            let message = self.protocol.decode(body, self.limits.max_depth)?;
            self.consumed += length;
            self.searched = 0;
            if message.is_some() {
                return Ok(message);
            }
        }
    }

    /// Releases the memory of a buffer that is decoded: a connection is mostly idle.
    fn release(&mut self) {
        if self.consumed == self.buffer.len() {
            self.buffer = Vec::new();
            self.consumed = 0;
        }
    }
}

#[cfg(test)]
mod tests;
