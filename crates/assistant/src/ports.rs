//! Ports of this domain.

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

/// The two names that OpenAI's API has for one thing. Models of one age
/// understand but one of them, so a caller's choice is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapName {
    /// The old one, which all who are compatible understand.
    MaxTokens,
    /// The new one.
    MaxCompletionTokens,
}

impl CapName {
    /// Key in a request.
    pub fn key(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

/// Maximum length of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputCap {
    /// Token limit, reasoning included; above 0.
    pub tokens: i64,
    /// Parameter name that the caller used, where it was the caller who set it.
    pub name: Option<CapName>,
}

/// Call of an upstream model.
#[derive(Debug, Clone)]
pub struct ChatCall {
    /// Model that is called.
    pub target: Arc<Target>,
    /// The key to call it with; empty where it wants none.
    pub key: Secret<String>,
    /// Messages, tools and parameters. The adapter adds the rest.
    pub body: ChatBody,
    /// Number of tokens the answer may have at most, where that is bounded.
    pub max_output: Option<OutputCap>,
    /// Reasoning effort, where it was requested.
    pub effort: Option<ReasoningEffort>,
}

/// Call of an embedding model.
#[derive(Debug, Clone)]
pub struct EmbeddingCall {
    /// Model that is called.
    pub target: Arc<Target>,
    /// The key to call it with; empty where it wants none.
    pub key: Secret<String>,
    /// Members of the request in the shape of OpenAI's embeddings, as a JSON
    /// object that is still open: `{"input":…`. The adapter adds the model.
    pub body: Bytes,
}

/// Meaning of one piece of an upstream's event stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Whole `data: …\n\n` frames that can go on untouched.
    Pass {
        /// The frames.
        bytes: Bytes,
        /// Number of events.
        events: u32,
    },
    /// The JSON of one event that says something about usage, an error, the
    /// end or a tool call.
    Look(Bytes),
    /// A comment: the upstream is still there.
    Alive,
    /// An event that cannot be read, and is left out.
    Unreadable,
    /// `[DONE]`. The stream itself ends soon after; who reads so far lets its
    /// connection serve the next call.
    Done,
}

/// Reasons why an upstream gave no answer, or no more of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// Upstream answered with an error status.
    #[error("the upstream answered {status}")]
    Refused {
        /// The status.
        status: u16,
        /// Value of its `Retry-After`, where it was a number of seconds.
        retry_after: Option<Duration>,
        /// The first bytes of its body. May hold anything; no client sees it.
        body: Bytes,
    },
    /// Upstream could not be reached.
    #[error("the upstream could not be reached: {0}")]
    Unreachable(String),
    /// Upstream exceeded the limit for the first byte or between two.
    #[error("the upstream was silent for too long")]
    Silent,
    /// Upstream ended the answer midway.
    #[error("the upstream's answer was cut off")]
    Cut,
    /// Answer, or one of its events, exceeds the size limit.
    #[error("the upstream's answer is too long")]
    TooLong,
}

/// The frames of a stream that the upstream has agreed to send.
pub type Frames = Pin<Box<dyn Stream<Item = Result<Frame, UpstreamError>> + Send>>;

/// Client of upstream models.
///
/// Dropping what a method answers, or its future, ends the call upstream.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ChatUpstream: Send + Sync {
    /// Begins a streamed answer: resolves once the upstream has agreed to
    /// stream, that is with its status and headers.
    async fn open(&self, call: ChatCall) -> Result<Frames, UpstreamError>;

    /// Waits for a whole answer and gives its body as it came.
    async fn complete(&self, call: ChatCall) -> Result<Bytes, UpstreamError>;

    /// Waits for the vectors of texts and gives the answer's body as it came.
    async fn embed(&self, call: EmbeddingCall) -> Result<Bytes, UpstreamError>;
}

/// Log of usage.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait UsageLog: Send + Sync {
    /// Notes what a call used. Never waits; the adapter writes it soon after,
    /// and tries again while the database is away.
    fn record(&self, usage: UsageRecord);
}

/// Counter of tokens.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait TokenCounter: Send + Sync {
    /// Returns the number of tokens a text has, as far as is known of the model
    /// that reads or wrote it. Takes a few milliseconds at most for a few
    /// kilobytes.
    fn count(&self, text: &str) -> i64;
}

/// Something to wait for.
pub type TimerFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Source of waiting times for a streamed answer.
pub trait Timer: Send + Sync {
    /// Returns the time since some moment before the first call; it only grows.
    fn elapsed(&self) -> Duration;

    /// Ready once `delay` is over.
    fn pause(&self, delay: Duration) -> TimerFuture;

    /// Ready once the process is to stop, and from then on.
    fn stop(&self) -> TimerFuture;
}
