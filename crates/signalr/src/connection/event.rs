//! Events that a client causes, and the reasons for an end. An owner must
//! complete each `Invoked` that expects a reply, also after `Canceled`: until
//! then it counts as open.

use serde_json::Value;

use crate::error::ProtocolError;
use crate::message::InvocationResult;

/// Event for the application behind a connection.
#[derive(Debug, Clone, PartialEq)]
pub enum HubEvent {
    /// Handshake succeeded: the client can be called.
    Connected,
    /// Client calls a method.
    Invoked(ClientInvocation),
    /// Client wants an invocation to end. It still has to be completed.
    Canceled {
        /// Id of the invocation.
        invocation_id: String,
    },
    /// Item of a stream that the client uploads.
    StreamItem {
        /// Id of the stream, from [`ClientInvocation::stream_ids`].
        stream_id: String,
        /// Value of the item.
        item: Value,
    },
    /// End of a stream that the client uploads.
    StreamEnded {
        /// Id of the stream.
        stream_id: String,
        /// Reason, if the client could not upload all of it; `None` at its regular end.
        error: Option<String>,
    },
    /// Client answered an invocation of the server.
    Returned {
        /// Id that [`HubConnection::invoke`](crate::HubConnection::invoke)
        /// returned.
        invocation_id: String,
        /// Value, nothing, or the client's error.
        result: InvocationResult,
    },
}

/// Call of a method by the client.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientInvocation {
    /// Response that the client expects.
    pub reply: ExpectedReply,
    /// Name of the method.
    pub target: String,
    /// Arguments of the method.
    pub arguments: Vec<Value>,
    /// Streams that the client uploads to the method.
    pub stream_ids: Vec<String>,
}

/// Response that a client expects to an invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedReply {
    /// No response.
    None,
    /// One completion, with this invocation id.
    Completion(String),
    /// Items and then a completion, with this invocation id.
    Stream(String),
}

/// Reason for the end of a connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CloseReason {
    /// The client closed the connection.
    #[error("the client closed the connection")]
    Client {
        /// Error that the client named.
        error: Option<String>,
    },
    /// The server closed the connection.
    #[error("the server closed the connection")]
    Server,
    /// Client violated the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// Client sent no handshake request in time.
    #[error("the handshake took too long")]
    HandshakeTimeout,
    /// Client sent nothing for too long.
    #[error("the client is silent")]
    ClientTimeout,
    /// Client reads messages more slowly than they are sent.
    #[error("the client does not read its messages")]
    BufferFull,
    /// Transport was lost, and cannot or did not come back.
    #[error("the transport was lost")]
    TransportLost,
}

/// Reasons why a message is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Connection is closed, or not open yet.
    #[error("the connection is not open")]
    NotOpen,
    /// Message does not fit into the buffer; the connection is closed.
    #[error("the client does not read its messages")]
    BufferFull,
    /// Invocation is unknown, ended or was canceled by the client.
    #[error("the invocation is not open")]
    InvocationEnded,
    /// Client has not answered too many other invocations.
    #[error("too many invocations are pending")]
    TooManyPending,
}
