//! Encodings of the hub protocol, and the framing of messages in a byte
//! stream.

mod json;
mod message_pack;
mod payload;

/// Byte behind each JSON message, and behind the handshake.
pub(crate) const RECORD_SEPARATOR: u8 = 0x1e;
