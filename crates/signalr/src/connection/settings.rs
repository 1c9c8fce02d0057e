//! Settings of a connection.

use std::time::Duration;

use crate::protocol::MessageLimits;

/// Limits and intervals of a connection; the intervals default to those of
/// ASP.NET Core.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionSettings {
    /// Limits on messages of the client.
    pub messages: MessageLimits,
    /// Maximum number of invocations that are open, in each direction, and of
    /// uploaded streams.
    pub max_open: usize,
    /// Maximum length in bytes of all messages that wait to be sent or, with stateful
    /// reconnect, to be acknowledged; a message beyond it closes the connection.
    pub max_buffered_bytes: usize,
    /// Time without a frame to the client after which it is sent a ping.
    pub keep_alive: Duration,
    /// Time without a frame from the client after which it counts as gone.
    pub client_timeout: Duration,
    /// Time from the opening of the transport until the handshake request is complete.
    pub handshake_timeout: Duration,
    /// Time for a new transport after the loss of one; set if a stateful
    /// reconnect was negotiated.
    pub resume_timeout: Option<Duration>,
}

impl Default for ConnectionSettings {
    fn default() -> Self {
        Self {
            messages: MessageLimits::default(),
            max_open: 1024,
            max_buffered_bytes: 4 * 1024 * 1024,
            keep_alive: Duration::from_secs(15),
            client_timeout: Duration::from_secs(30),
            handshake_timeout: Duration::from_secs(15),
            resume_timeout: None,
        }
    }
}
