//! Errors that a client's bytes cause.

/// Violation of the protocol by a client; it ends the connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// Handshake request that is not one.
    #[error("the handshake request is malformed")]
    Handshake,
    /// Handshake request for an encoding that does not exist.
    #[error("the protocol is not supported")]
    UnsupportedProtocol,
    /// Handshake request for a version that does not exist.
    #[error("the version of the protocol is not supported")]
    UnsupportedVersion,
    /// Message over [`MessageLimits::max_bytes`](crate::MessageLimits).
    #[error("the message is too large")]
    MessageTooLarge,
    /// Value over [`MessageLimits::max_depth`](crate::MessageLimits).
    #[error("a value is nested too deeply")]
    TooDeep,
    /// Frame over [`MessageLimits::max_per_frame`](crate::MessageLimits).
    #[error("too many messages in one frame")]
    TooManyMessages,
    /// Bytes that are not of the connection's encoding.
    #[error("the message is not of the connection's encoding")]
    Encoding,
    /// Message of a known type without a required field, or with a wrong one.
    #[error("{0} message with a missing or wrong field")]
    Field(&'static str),
    /// Extension of MessagePack other than a timestamp.
    #[error("a MessagePack extension is not supported")]
    Extension,
    /// Id of an invocation or a stream that is longer than 128 bytes.
    #[error("an id is too long")]
    IdTooLong,
    /// Id of an invocation or a stream that is already in use.
    #[error("an id is already in use")]
    DuplicateId,
    /// Client with more open invocations or streams than it may have.
    #[error("too many open invocations")]
    TooManyInvocations,
    /// Sequence behind messages that never arrived.
    #[error("messages are missing after the reconnect")]
    SequenceGap,
}
