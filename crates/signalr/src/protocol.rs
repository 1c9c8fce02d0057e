//! Encodings of the hub protocol, and the framing of messages in a byte
//! stream.

mod payload;
