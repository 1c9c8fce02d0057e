//! Errors of a pod. The server closes a connection with a sentence; two of these
//! decide what the pod does next and equal those in `pod_session.rs` of `uplink`.

use std::time::Duration;

use pia_signalr::ProtocolError;
use tokio_tungstenite::tungstenite;

/// Error that ends a pod: connecting again would not help.
#[derive(Debug, thiserror::Error)]
pub enum PodError {
    /// Address that is not one of a server.
    #[error("{0:?} is not the address of a server: it must begin with https:// or http://")]
    Address(String),
    /// Token with characters that no token has.
    #[error("the token has characters that no token has")]
    MalformedToken,
    /// Token that the server does not accept.
    #[error("the server refuses the token: it is wrong or revoked")]
    TokenRefused,
    /// Description that the server does not accept.
    #[error("the server refuses the pod: {0}")]
    HelloRefused(String),
    /// End of the connection by the server, which wants no other.
    #[error("the server closed the connection and wants no other: {0}")]
    Expelled(String),
    /// End of the pod, which an administrator wants.
    #[error("an administrator has ended this pod")]
    Drained,
    /// TLS that could not be set up.
    #[error("TLS could not be set up")]
    Tls(#[from] rustls::Error),
}

/// Message of the server that closes the connection of a pod whose token has ended.
const TOKEN_ENDED: &str = "The token is no longer valid.";

/// Message of the server that closes the connection of a pod which an administrator has
/// ended.
const DRAINED: &str = "An administrator has ended this pod.";

impl PodError {
    /// Returns the error of a connection that the server has closed with a message.
    pub(crate) fn closed(reason: String) -> Self {
        if reason == DRAINED { Self::Drained } else { Self::Expelled(reason) }
    }

    /// Returns whether another token would help.
    pub(crate) fn is_of_token(&self) -> bool {
        match self {
            Self::TokenRefused => true,
            Self::Expelled(reason) => reason == TOKEN_ENDED,
            _ => false,
        }
    }
}

/// Reason for the end of a connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionError {
    #[error(transparent)]
    Fatal(#[from] PodError),
    #[error("{0}")]
    Transport(Box<tungstenite::Error>),
    #[error("the server violated the protocol: {0}")]
    Protocol(#[from] ProtocolError),
    #[error("the server refused the handshake: {0}")]
    Handshake(String),
    #[error("the server sent or read nothing for {0:?}")]
    Silent(Duration),
    #[error("the server closed the connection: {0}")]
    Closed(String),
}

impl From<tungstenite::Error> for ConnectionError {
    fn from(error: tungstenite::Error) -> Self {
        match error {
            tungstenite::Error::Http(response) if response.status() == 401 => {
                PodError::TokenRefused.into()
            }
            error => Self::Transport(Box::new(error)),
        }
    }
}
