//! Ports of this domain.
//!
//! `upstream` implements `ChatUpstream`, `TokenCounter` and `Timer`; `storage-assistant`
//! implements `UsageLog`. Further ports are beside their types: `CreditStore`, `Rules`,
//! `Personas`, `Knowledge`, `ConnectorTools`, `WebSearch` and `Guardrail`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_core::Stream;
use pia_kernel::Secret;

use crate::credits::usage::UsageRecord;
use crate::request::chat_body::ChatBody;
use crate::routing::target::{ReasoningEffort, Target};

/// Client of upstream models.
///
/// Dropping a returned stream or future ends the call upstream.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ChatUpstream: Send + Sync {
    /// Starts a stream: resolves once the upstream has accepted it, with its
    /// status and headers.
    async fn open(&self, call: ChatCall) -> Result<Frames, UpstreamError>;

    /// Waits for a full response and returns its body unchanged.
    async fn complete(&self, call: ChatCall) -> Result<Bytes, UpstreamError>;

    /// Waits for the embeddings of texts and returns the response body
    /// unchanged.
    async fn embed(&self, call: ModelCall) -> Result<Bytes, UpstreamError>;

    /// Waits for the ranking of texts and returns the response body unchanged.
    async fn rerank(&self, call: ModelCall) -> Result<Bytes, UpstreamError>;
}

/// Name of the output limit in OpenAI's API. Models may accept only one of the
/// two, so the caller's choice is preserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapName {
    /// Old name, which compatible servers accept.
    MaxTokens,
    /// New name, which OpenAI's reasoning models require.
    MaxCompletionTokens,
}

impl CapName {
    /// Returns the key in a request.
    pub fn key(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

/// Maximum length of a response, and the parameter that carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputCap {
    /// Token limit, reasoning included; above 0.
    pub tokens: i64,
    /// Parameter name that the caller used, if the caller set it.
    pub name: Option<CapName>,
}

/// Call of an upstream model.
#[derive(Debug, Clone)]
pub struct ChatCall {
    /// Model to call, with its endpoint and parameters.
    pub target: Arc<Target>,
    /// Key of the call; empty if the upstream requires none.
    pub key: Secret<String>,
    /// Messages, tools and parameters. The adapter adds the rest.
    pub body: ChatBody,
    /// Maximum length of the response, if it is limited.
    pub max_output: Option<OutputCap>,
    /// Reasoning effort, if it was requested.
    pub effort: Option<ReasoningEffort>,
}

/// Call of a model that does not chat: one that embeds or ranks texts.
#[derive(Debug, Clone)]
pub struct ModelCall {
    /// Model to call, with its endpoint.
    pub target: Arc<Target>,
    /// Key of the call; empty if the upstream requires none.
    pub key: Secret<String>,
    /// Members of the request without the closing brace: `{"input":…` in the
    /// format of OpenAI's embeddings, `{"query":…` in that of Cohere's rerankers.
    /// The adapter adds the model.
    pub body: Bytes,
}

/// Piece of an upstream's event stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Complete `data: …\n\n` frames to forward unchanged.
    Forward {
        /// One or more frames, each complete.
        bytes: Bytes,
        /// Number of events in them, to estimate tokens.
        events: u32,
    },
    /// JSON of one event to parse: it has usage, an error, a finish reason or a
    /// tool call.
    Inspect(Bytes),
    /// Comment: the upstream is alive.
    Alive,
    /// Invalid event, which is dropped.
    Unreadable,
    /// `[DONE]`. The stream itself ends soon after; reading to its end lets the
    /// connection be reused.
    Done,
}

/// Failure of an upstream's response, or of the rest of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// Upstream responded with an error status.
    #[error("the upstream answered {status}")]
    Refused {
        /// HTTP status of the response.
        status: u16,
        /// Value of `Retry-After`, if it was a number of seconds.
        retry_after: Option<Duration>,
        /// First bytes of the body. May contain anything and is never sent to
        /// clients.
        body: Bytes,
    },
    /// Upstream has no equivalent for a part of the messages; it was not called.
    #[error("the upstream does not accept {0}")]
    UnsupportedPart(&'static str),
    /// Response is empty or malformed, although its status was 200 (OK).
    #[error("the upstream answered 200")]
    Malformed,
    /// Upstream could not be reached.
    #[error("the upstream could not be reached: {0}")]
    Unreachable(String),
    /// Upstream exceeded the limit for the first byte or between two.
    #[error("the upstream's stream stalled")]
    Silent,
    /// Upstream ended the response midway.
    #[error("the upstream's response was cut off")]
    Cut,
    /// Response, or one of its events, exceeds the size limit.
    #[error("the upstream's response is too long")]
    TooLong,
}

impl UpstreamError {
    /// Returns the HTTP status of a complete response.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            Self::Malformed => Some(200),
            Self::UnsupportedPart(_)
            | Self::Unreachable(_)
            | Self::Silent
            | Self::Cut
            | Self::TooLong => None,
        }
    }
}

/// Frames of an accepted stream.
pub type Frames = Pin<Box<dyn Stream<Item = Result<Frame, UpstreamError>> + Send>>;

/// Port of usage records; implemented in `storage-assistant`.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait UsageLog: Send + Sync {
    /// Records the usage of a call. Never waits; the adapter writes it soon
    /// after, and retries while the database is unavailable.
    fn record(&self, usage: UsageRecord);
}

/// Port of token counts.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait TokenCounter: Send + Sync {
    /// Returns the number of tokens of a text, which may be an estimate for its
    /// model. Takes at most a few milliseconds for a few kilobytes.
    fn count(&self, text: &str) -> i64;
}

/// Timer of streams.
pub trait Timer: Send + Sync {
    /// Returns the time since a fixed moment before the first call; it is
    /// monotonic.
    fn elapsed(&self) -> Duration;

    /// Returns a future that is ready after `delay`.
    fn pause(&self, delay: Duration) -> TimerFuture;

    /// Returns a future that is ready once the process is to stop, and from
    /// then on.
    fn stop(&self) -> TimerFuture;
}

/// Future that a timer returns.
pub type TimerFuture = Pin<Box<dyn Future<Output = ()> + Send>>;
