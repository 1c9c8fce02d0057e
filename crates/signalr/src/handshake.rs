//! Handshake: the first message in each direction, always JSON:
//!
//! ```text
//! client {"protocol":"messagepack","version":1}␞     server {}␞  or  {"error":"…"}␞
//! ```
//!
//! Frames may be cut anywhere, and messages may follow the request in its frame.

use serde::Deserialize;

use crate::error::ProtocolError;
use crate::protocol::{HubProtocol, RECORD_SEPARATOR};

/// Maximum length of a request, in bytes with its separator.
const MAX_REQUEST_BYTES: usize = 4096;

/// Request for an encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HandshakeRequest {
    /// Encoding of all messages that follow.
    pub(crate) protocol: HubProtocol,
    /// Version of the hub protocol: 2 has acknowledgements.
    pub(crate) version: u32,
}

impl HandshakeRequest {
    /// Parses the request at the beginning of the input, and returns it with
    /// its length; messages may follow it. Returns `None` if its end has not
    /// arrived.
    pub(crate) fn parse(input: &[u8]) -> Result<Option<(Self, usize)>, ProtocolError> {
        #[derive(Deserialize)]
        struct Request {
            protocol: String,
            version: u32,
        }

        let within_limit = input.get(..MAX_REQUEST_BYTES).unwrap_or(input);
        let Some(end) = memchr::memchr(RECORD_SEPARATOR, within_limit) else {
            let is_too_long = input.len() >= MAX_REQUEST_BYTES;
            return if is_too_long { Err(ProtocolError::MessageTooLarge) } else { Ok(None) };
        };
        let body = within_limit.get(..end).unwrap_or_default();
        let Ok(request) = serde_json::from_slice::<Request>(body) else {
            return Err(ProtocolError::Handshake);
        };
        let protocol = match request.protocol.to_ascii_lowercase().as_str() {
            "json" => HubProtocol::Json,
            "messagepack" => HubProtocol::MessagePack,
            _ => return Err(ProtocolError::UnsupportedProtocol),
        };
        if !(1..=2).contains(&request.version) {
            return Err(ProtocolError::UnsupportedVersion);
        }
        Ok(Some((Self { protocol, version: request.version }, end + 1)))
    }
}

/// Formats the response to a handshake request, which has an error if the
/// request was refused.
pub(crate) fn format_handshake_response(refusal: Option<&str>) -> String {
    let body = match refusal {
        None => serde_json::json!({}),
        Some(error) => serde_json::json!({ "error": error }),
    };
    format!("{body}{}", char::from(RECORD_SEPARATOR))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLISHED: &[u8] = b"{\n    \"protocol\": \"messagepack\",\n    \"version\": 1\n}\x1e";

    #[test]
    fn a_request_is_parsed_up_to_its_separator() {
        let input = [PUBLISHED, b"\x02\x91\x06"].concat();

        let (request, length) = HandshakeRequest::parse(&input).unwrap().unwrap();

        assert_eq!(request, HandshakeRequest { protocol: HubProtocol::MessagePack, version: 1 });
        assert_eq!(length, PUBLISHED.len());
    }

    #[test]
    fn a_request_is_awaited_until_it_is_complete() {
        for end in 0..PUBLISHED.len() {
            assert_eq!(HandshakeRequest::parse(&PUBLISHED[..end]), Ok(None), "{end}");
        }
    }

    #[test]
    fn unsupported_and_malformed_requests_are_refused() {
        for (input, error) in [
            (r#"{"protocol":"bson","version":1}"#, ProtocolError::UnsupportedProtocol),
            (r#"{"protocol":"json","version":0}"#, ProtocolError::UnsupportedVersion),
            (r#"{"protocol":"json","version":3}"#, ProtocolError::UnsupportedVersion),
            (r#"{"protocol":"json","version":-1}"#, ProtocolError::Handshake),
            (r#"{"protocol":"json"}"#, ProtocolError::Handshake),
            (r#"{"type":6}"#, ProtocolError::Handshake),
            ("", ProtocolError::Handshake),
        ] {
            let input = format!("{input}\u{1e}");
            assert_eq!(HandshakeRequest::parse(input.as_bytes()), Err(error), "{input}");
        }
    }

    #[test]
    fn a_request_without_an_end_is_too_large() {
        let input = vec![b' '; MAX_REQUEST_BYTES];

        assert_eq!(HandshakeRequest::parse(&input), Err(ProtocolError::MessageTooLarge));
    }

    #[test]
    fn the_response_names_the_error() {
        assert_eq!(format_handshake_response(None), "{}\u{1e}");
        assert_eq!(format_handshake_response(Some("a \"b\"")), "{\"error\":\"a \\\"b\\\"\"}\u{1e}");
    }
}
