//! Errors of the client.
//!
//! Texts of a server reach logs and models only through `quote`, which removes the
//! token and cuts them; texts of transports are replaced.

use std::borrow::Cow;
use std::error::Error;
use std::io;
use std::time::Duration;

use pia_kernel::Secret;
use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;

/// Maximum length of an error message of a server, in bytes.
const MAX_MESSAGE_BYTES: usize = 500;

/// Reason why a server cannot be used, or a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// Command that could not be started.
    #[error("the command of the MCP server could not be started: {0}")]
    Start(#[source] io::Error),
    /// Address that is not one of HTTP.
    #[error("the address of the MCP server must begin with https:// or http://")]
    Address,
    /// Token with characters that no token has.
    #[error("the token for the MCP server has characters that no token has")]
    MalformedToken,
    /// Token that the server does not accept, or that it misses.
    #[error("the MCP server refuses the token, or requires one")]
    Unauthorized,
    /// Connection that failed.
    #[error("the MCP server cannot be reached: {0}")]
    Transport(Cow<'static, str>),
    /// Server that is gone.
    #[error("the MCP server closed the connection")]
    Closed,
    /// Server that violates the protocol.
    #[error("the MCP server violated the protocol: {0}")]
    Protocol(&'static str),
    /// Error that the server returned.
    #[error("the MCP server returned an error: {0}")]
    Refused(String),
    /// End of the time for a request.
    #[error("the MCP server took longer than {} s", .0.as_secs())]
    TimedOut(Duration),
    /// Call that its caller cancelled.
    #[error("the call was cancelled")]
    Cancelled,
    /// Result that is too large.
    #[error("the result is too large: {length} of {max} bytes")]
    TooLarge {
        /// Length as JSON, in bytes.
        length: usize,
        /// Maximum length, in bytes.
        max: usize,
    },
}

impl McpError {
    /// Converts an error of a request. The text of a server is cut, and the
    /// secret is removed from it.
    pub(crate) fn from_service(error: &ServiceError, secret: Option<&Secret<String>>) -> Self {
        match error {
            ServiceError::McpError(error) => Self::Refused(quote(&error.message, secret)),
            ServiceError::TransportSend(error) => Self::from_transport(error.error.as_ref()),
            ServiceError::TransportClosed => Self::Closed,
            ServiceError::Cancelled { .. } => Self::Cancelled,
            ServiceError::Timeout { timeout } => Self::TimedOut(*timeout),
            _ => Self::Protocol("its response is not the one that was requested"),
        }
    }

    /// Converts an error of the initialization, in the same way.
    pub(crate) fn from_initialization(
        error: &ClientInitializeError,
        secret: Option<&Secret<String>>,
    ) -> Self {
        match error {
            ClientInitializeError::JsonRpcError(error) => {
                Self::Refused(quote(&error.message, secret))
            }
            ClientInitializeError::TransportError { error, .. } => {
                Self::from_transport(error.error.as_ref())
            }
            ClientInitializeError::ConnectionClosed(_) => Self::Closed,
            ClientInitializeError::Cancelled => Self::Cancelled,
            ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
                Self::Protocol("it speaks no version that this client speaks")
            }
            _ => Self::Protocol("it did not initialize"),
        }
    }

    fn from_transport(error: &(dyn Error + 'static)) -> Self {
        #[cfg(feature = "http")]
        if let Some(error) = crate::http_client::HttpError::find(error) {
            return error.into();
        }
        // The texts of a transport may contain what the server sent.
        let is_io = error.is::<io::Error>();
        if is_io { Self::Closed } else { Self::Transport("the message was not sent".into()) }
    }
}

/// Returns a text of a server without the secret, cut to a length that fits in
/// a log and in a result.
fn quote(text: &str, secret: Option<&Secret<String>>) -> String {
    let clean = match secret.map(Secret::expose).filter(|it| !it.is_empty()) {
        Some(secret) => Cow::Owned(text.replace(secret.as_str(), "***")),
        None => Cow::Borrowed(text),
    };
    truncate(&clean, MAX_MESSAGE_BYTES).to_owned()
}

/// Returns the longest prefix of a text with at most this many bytes.
pub(crate) fn truncate(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_servers_are_cut_and_do_not_contain_the_secret() {
        let secret = Secret::new("s3cret".to_owned());

        assert_eq!(quote("no s3cret here: s3cret", Some(&secret)), "no *** here: ***");
        assert_eq!(quote("no s3cret", None), "no s3cret");
        assert_eq!(quote(&"ü".repeat(400), None), "ü".repeat(250));
        assert_eq!(truncate("aü", 2), "a");
    }
}
