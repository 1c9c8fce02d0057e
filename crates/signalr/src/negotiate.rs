//! Negotiation: the request before the first transport, which clients may skip.
//! Its owner generates the id and the token, and creates the connection when a
//! transport presents the token.

use serde::{Deserialize, Serialize};

/// Query of `POST <hub>/negotiate`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NegotiateQuery {
    /// Version that the client asks for.
    pub negotiate_version: u32,
    /// Request for a connection that survives the loss of its transport.
    pub use_stateful_reconnect: bool,
}

/// Response that offers the WebSocket transport.
///
/// The client presents its token as the query parameter `id` of every
/// transport that it opens for this connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NegotiateResponse {
    negotiate_version: u32,
    connection_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    connection_token: Option<String>,
    available_transports: [AvailableTransport; 1],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    use_stateful_reconnect: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct AvailableTransport {
    transport: &'static str,
    transfer_formats: [&'static str; 2],
}

impl NegotiateResponse {
    /// Creates the response to a query.
    ///
    /// The id is public, the token a secret. Version 0 has only one of them,
    /// so that its clients get the token as their id; they cannot reconnect
    /// statefully.
    pub fn new(query: NegotiateQuery, connection_id: String, connection_token: String) -> Self {
        let negotiate_version = query.negotiate_version.min(1);
        let (connection_id, connection_token) = match negotiate_version {
            0 => (connection_token, None),
            _ => (connection_id, Some(connection_token)),
        };

        Self {
            negotiate_version,
            connection_id,
            use_stateful_reconnect: query.use_stateful_reconnect && connection_token.is_some(),
            connection_token,
            available_transports: [AvailableTransport {
                transport: "WebSockets",
                transfer_formats: ["Text", "Binary"],
            }],
        }
    }

    /// Returns whether the connection may be resumed on a new transport.
    pub fn is_stateful(&self) -> bool {
        self.use_stateful_reconnect
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn response(negotiate_version: u32, use_stateful_reconnect: bool) -> Value {
        let query = NegotiateQuery { negotiate_version, use_stateful_reconnect };
        let response = NegotiateResponse::new(query, "id".to_owned(), "token".to_owned());
        serde_json::to_value(response).unwrap()
    }

    fn transports() -> Value {
        json!([{"transport": "WebSockets", "transferFormats": ["Text", "Binary"]}])
    }

    #[test]
    fn version_1_has_an_id_and_a_token() {
        let expected = json!({
            "negotiateVersion": 1,
            "connectionId": "id",
            "connectionToken": "token",
            "availableTransports": transports(),
        });

        assert_eq!(response(1, false), expected);
        assert_eq!(response(7, false), expected);
    }

    #[test]
    fn version_0_has_the_token_as_its_id() {
        let expected = json!({
            "negotiateVersion": 0,
            "connectionId": "token",
            "availableTransports": transports(),
        });

        assert_eq!(response(0, true), expected);
    }

    #[test]
    fn stateful_reconnect_is_echoed() {
        assert_eq!(response(1, true)["useStatefulReconnect"], true);
    }
}
