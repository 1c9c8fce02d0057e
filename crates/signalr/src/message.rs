//! Messages of the hub protocol, in either encoding: what `protocol.rs` encodes
//! and decodes. Owners of a connection use `HubEvent` and the methods of
//! `HubConnection` instead; clients and tests use these messages.

use serde_json::Value;

/// Result of an invocation: a value, nothing, or the reason of its failure.
pub type InvocationResult = Result<Option<Value>, String>;

/// Message after the handshake.
///
/// Headers are left out: the protocol defines none, so those of a client are
/// disregarded and none are sent.
#[derive(Debug, Clone, PartialEq)]
pub enum HubMessage {
    /// Call of a method with at most one result. Without an id it is not
    /// answered.
    Invocation {
        /// Id that the caller chose.
        invocation_id: Option<String>,
        /// Name of the method.
        target: String,
        /// Arguments of the method.
        arguments: Vec<Value>,
        /// Streams that the caller uploads to the method.
        stream_ids: Vec<String>,
    },
    /// Item of a stream, in either direction.
    StreamItem {
        /// Id of the invocation, or of the uploaded stream.
        invocation_id: String,
        /// Value of the item.
        item: Value,
    },
    /// End of an invocation or of an uploaded stream.
    Completion {
        /// Id of the invocation, or of the uploaded stream.
        invocation_id: String,
        /// Result that it ended with.
        result: InvocationResult,
    },
    /// Call of a method with a stream of results.
    StreamInvocation {
        /// Id that the caller chose.
        invocation_id: String,
        /// Name of the method.
        target: String,
        /// Arguments of the method.
        arguments: Vec<Value>,
        /// Streams that the caller uploads to the method.
        stream_ids: Vec<String>,
    },
    /// Request to stop an invocation.
    CancelInvocation {
        /// Id of the invocation.
        invocation_id: String,
    },
    /// Sign of life of a side that has nothing to send.
    Ping,
    /// End of the connection.
    Close {
        /// Reason, if the end is an error.
        error: Option<String>,
        /// Permission for the client to connect again by itself.
        allow_reconnect: bool,
    },
    /// Confirmation of all tracked messages up to a sequence id.
    Ack {
        /// Sequence id of the last message that was received.
        sequence_id: u64,
    },
    /// First message on a new transport of a resumed connection.
    Sequence {
        /// Sequence id of the tracked message that follows.
        sequence_id: u64,
    },
}

impl HubMessage {
    /// Returns whether the message has a sequence id and is repeated after a
    /// reconnect.
    pub(crate) fn is_tracked(&self) -> bool {
        match self {
            Self::Invocation { .. }
            | Self::StreamItem { .. }
            | Self::Completion { .. }
            | Self::StreamInvocation { .. }
            | Self::CancelInvocation { .. } => true,
            Self::Ping | Self::Close { .. } | Self::Ack { .. } | Self::Sequence { .. } => false,
        }
    }
}

/// Numbers of the types on the wire.
pub(crate) mod kind {
    pub(crate) const INVOCATION: u64 = 1;
    pub(crate) const STREAM_ITEM: u64 = 2;
    pub(crate) const COMPLETION: u64 = 3;
    pub(crate) const STREAM_INVOCATION: u64 = 4;
    pub(crate) const CANCEL_INVOCATION: u64 = 5;
    pub(crate) const PING: u64 = 6;
    pub(crate) const CLOSE: u64 = 7;
    pub(crate) const ACK: u64 = 8;
    pub(crate) const SEQUENCE: u64 = 9;
}
