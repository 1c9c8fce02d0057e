//! Reason why the assistant did not answer.

use std::borrow::Cow;
use std::time::Duration;

use pia_kernel::Unavailable;

use crate::credits::{BudgetRefusal, Period};

/// Invalid part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Path of the value: `messages[2].role`.
    pub field: String,
    /// Code, for programs: `required`, `invalid_type`, `out_of_range`, …
    pub code: &'static str,
    /// Description, for people: a sentence.
    pub message: String,
}

impl Violation {
    pub(crate) fn new(
        field: impl Into<String>,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self { field: field.into(), code, message: message.into() }
    }
}

const INVALID_REQUEST: &str = "invalid_request_error";
const SERVER_ERROR: &str = "server_error";

/// An error in the words of OpenAI's API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAiError {
    /// The status of an answer that did not begin.
    pub status: u16,
    /// The kind of error (`type`): `invalid_request_error`.
    pub kind: &'static str,
    /// Code, for programs: `context_length_exceeded`.
    pub code: &'static str,
    /// Description, for people.
    pub message: Cow<'static, str>,
}

/// Reasons why there is no answer, or no more of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AssistantError {
    /// The request's body is no JSON. Carries where and why, never content.
    #[error("the body is not valid JSON: {0}")]
    Malformed(String),
    /// The request requests what cannot be.
    #[error("the request is invalid")]
    Invalid(Vec<Violation>),
    /// The text to optimise is longer than it may be.
    #[error("the text is longer than {limit} characters")]
    TextTooLong {
        /// Maximum length, in UTF-16 code units.
        limit: usize,
    },
    /// Model is unknown, or the caller may not use it.
    #[error("the model is not known")]
    UnknownModel,
    /// No model is configured for this.
    #[error("no upstream model is configured")]
    NotConfigured,
    /// The model takes no tools, and the request had some: the caller can
    /// mend that.
    #[error("the upstream refused the tools")]
    ToolsRefused,
    /// The conversation is too long for the model.
    #[error("the upstream found the context too long")]
    ContextTooLong,
    /// The caller's budget, or their group's, is used up.
    #[error("a budget is used up")]
    OverBudget(BudgetRefusal),
    /// The upstream has too much to do.
    #[error("the upstream is busy")]
    UpstreamBusy {
        /// Time to wait, as the upstream said, or our guess.
        retry_after: Duration,
    },
    /// More is asked of the upstream than the operator lets through.
    #[error("too much is asked of the upstream")]
    UpstreamLimitReached {
        /// Time to wait.
        retry_after: Duration,
    },
    /// The upstream refused what the caller requested, for a reason of its own.
    #[error("the upstream refused the request")]
    UpstreamRefused,
    /// The upstream failed, refused us, or said nothing that makes sense.
    #[error("the upstream failed")]
    UpstreamFailed,
    /// The upstream took too long.
    #[error("the upstream took too long")]
    UpstreamTimeout,
    /// The database did not answer.
    #[error("a port is unavailable")]
    Unavailable,
    /// The server is about to stop.
    #[error("the server is stopping")]
    Stopping,
}

/// The cause is for the log alone.
impl From<Unavailable> for AssistantError {
    fn from(err: Unavailable) -> Self {
        let error = &err as &dyn std::error::Error;
        tracing::error!(error, "failed to admit a model call");
        Self::Unavailable
    }
}

impl AssistantError {
    /// Returns a sentence for people, which discloses nothing of the upstream.
    pub fn message(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Malformed(why) => {
                return Cow::Owned(format!("The request body is not valid JSON: {why}."));
            }
            Self::Invalid(violations) => {
                let first = violations.first().map(|it| it.message.as_str());
                return Cow::Owned(first.unwrap_or("The request is not valid.").to_owned());
            }
            Self::TextTooLong { limit } => {
                return Cow::Owned(format!("The text is longer than {limit} characters."));
            }
            Self::UnknownModel => "This model does not exist, or you may not use it.",
            Self::NotConfigured => "The AI proxy is not configured on this server.",
            Self::ToolsRefused => {
                "The upstream AI model does not accept the tools of this request."
            }
            Self::ContextTooLong => {
                "The conversation is longer than the context length of the upstream AI model."
            }
            Self::OverBudget(BudgetRefusal { period: Period::FreeTierSuspended, .. }) => {
                "Free use of the AI proxy is suspended at the moment."
            }
            Self::OverBudget(BudgetRefusal { resets_at, .. }) => {
                return Cow::Owned(format!("Your credits are used up until {resets_at}."));
            }
            Self::UpstreamBusy { .. } => "The upstream AI provider is busy. Try again later.",
            Self::UpstreamLimitReached { .. } => {
                "Too many requests are waiting for the AI model. Try again later."
            }
            Self::UpstreamRefused | Self::UpstreamFailed => {
                "The upstream AI provider could not answer the request."
            }
            // This sentence is fixed: clients compare it.
            Self::UpstreamTimeout => "Request to upstream AI provider timed out.",
            Self::Unavailable => "The server cannot answer just now. Try again in a moment.",
            Self::Stopping => "The server is stopping. Send the request again.",
        })
    }

    /// Returns the error for OpenAI's clients.
    pub fn openai(&self) -> OpenAiError {
        let (status, kind, code) = match self {
            Self::Malformed(_) => (400, INVALID_REQUEST, "malformed_json"),
            Self::Invalid(_) | Self::TextTooLong { .. } => (400, INVALID_REQUEST, "invalid_value"),
            Self::UnknownModel => (404, INVALID_REQUEST, "model_not_found"),
            Self::ToolsRefused => (400, INVALID_REQUEST, "tools_not_supported"),
            Self::ContextTooLong => (400, INVALID_REQUEST, "context_length_exceeded"),
            Self::UpstreamRefused => (400, INVALID_REQUEST, "upstream_refused"),
            Self::OverBudget(_) => (429, "insufficient_quota", "insufficient_quota"),
            Self::NotConfigured => (503, SERVER_ERROR, "ai_not_configured"),
            Self::UpstreamBusy { .. } => (503, SERVER_ERROR, "upstream_busy"),
            Self::UpstreamLimitReached { .. } => (503, SERVER_ERROR, "ai_crowded"),
            Self::UpstreamFailed => (502, SERVER_ERROR, "upstream_failed"),
            Self::UpstreamTimeout => (504, SERVER_ERROR, "upstream_timeout"),
            Self::Unavailable => (503, SERVER_ERROR, "unavailable"),
            Self::Stopping => (503, SERVER_ERROR, "stopping"),
        };
        let message = match self {
            Self::UpstreamRefused => {
                "The AI model refused the request: one of its parameters or its content.".into()
            }
            _ => self.message(),
        };
        OpenAiError { status, kind, code, message }
    }

    /// Returns whether the same request would fail again in the same way.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Malformed(_)
            | Self::Invalid(_)
            | Self::TextTooLong { .. }
            | Self::UnknownModel
            | Self::NotConfigured
            | Self::ToolsRefused
            | Self::ContextTooLong
            | Self::OverBudget(_)
            | Self::UpstreamRefused => true,
            Self::UpstreamBusy { .. }
            | Self::UpstreamLimitReached { .. }
            | Self::UpstreamFailed
            | Self::UpstreamTimeout
            | Self::Unavailable
            | Self::Stopping => false,
        }
    }

    /// The `error` of the chunk that ends a stream: the reason phrase of the
    /// status that it would have had. Clients expect the one of a gateway's
    /// failure for a timeout, too.
    pub(crate) fn title(&self) -> &'static str {
        match self {
            Self::Malformed(_)
            | Self::Invalid(_)
            | Self::TextTooLong { .. }
            | Self::ToolsRefused => "Bad Request",
            Self::UnknownModel => "Not Found",
            Self::NotConfigured
            | Self::UpstreamLimitReached { .. }
            | Self::Unavailable
            | Self::Stopping => "Service Unavailable",
            Self::OverBudget(_) => "Token Limit Exceeded",
            Self::ContextTooLong
            | Self::UpstreamBusy { .. }
            | Self::UpstreamRefused
            | Self::UpstreamFailed
            | Self::UpstreamTimeout => "Bad Gateway",
        }
    }
}
