//! Errors of the assistant.
//!
//! One error has three forms: `message` and `title` for the desktop client, `openai` for
//! OpenAI's clients, and `Display` for the log. None contains text of an upstream.

use std::borrow::Cow;
use std::time::Duration;

use pia_kernel::Unavailable;

use crate::credits::{BudgetRefusal, Period};

/// Invalid part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Path of the value: `messages[2].role`.
    pub field: String,
    /// Machine-readable code: `required`, `invalid_type`, `out_of_range`, …
    pub code: &'static str,
    /// Sentence in English for users.
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

/// Error in the format of OpenAI's API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAiError {
    /// HTTP status, for a response that has not begun.
    pub status: u16,
    /// Kind of error (`type`): `invalid_request_error`.
    pub kind: &'static str,
    /// Machine-readable code, by which clients tell errors apart.
    pub code: &'static str,
    /// Sentence in English for users.
    pub message: Cow<'static, str>,
}

/// Reason why a call failed, or a stream ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AssistantError {
    /// Body is not valid JSON. Contains the position and the reason, never
    /// content.
    #[error("the body is not valid JSON: {0}")]
    Malformed(String),
    /// Request has invalid members, all of which are listed.
    #[error("the request is invalid")]
    Invalid(Vec<Violation>),
    /// Text to optimise is too long.
    #[error("the text is longer than {limit} characters")]
    TextTooLong {
        /// Maximum length in UTF-16 code units.
        limit: usize,
    },
    /// Model is unknown, or not available to the caller.
    #[error("the model is unknown")]
    UnknownModel,
    /// No model is configured for this.
    #[error("no upstream model is configured")]
    NotConfigured,
    /// Model accepts no tools, and the request had some.
    #[error("the upstream refused the tools")]
    ToolsRefused,
    /// Conversation is too long for the model.
    #[error("the upstream rejected the context as too long")]
    ContextTooLong,
    /// Budget of the caller, or of their group, is exhausted.
    #[error("a budget is exhausted")]
    OverBudget(BudgetRefusal),
    /// Upstream is at capacity (429): the caller tries again later.
    #[error("the upstream is busy")]
    UpstreamBusy {
        /// Time to wait, as reported by the upstream, or a default.
        retry_after: Duration,
    },
    /// Upstream's limits, which the operator sets, are reached.
    #[error("too many requests to the upstream")]
    UpstreamLimitReached {
        /// Time until an upstream may be called again.
        retry_after: Duration,
    },
    /// Upstream refused the request for another reason.
    #[error("the upstream refused the request")]
    UpstreamRefused,
    /// Upstream failed, refused our key, or sent an invalid response.
    #[error("the upstream failed")]
    UpstreamFailed,
    /// Upstream did not respond in time; it may still bill the call.
    #[error("the upstream didn't respond in time")]
    UpstreamTimeout,
    /// Database is unavailable: the caller tries again later.
    #[error("a port is unavailable")]
    Unavailable,
    /// Server is stopping: the caller tries again.
    #[error("the server is stopping")]
    Stopping,
}

/// Logs the cause, which is not passed on.
impl From<Unavailable> for AssistantError {
    fn from(err: Unavailable) -> Self {
        let error = &err as &dyn std::error::Error;
        tracing::error!(error, "failed to admit a model call");
        Self::Unavailable
    }
}

impl AssistantError {
    /// Returns a sentence for users, which discloses nothing about the
    /// upstream.
    pub fn message(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Malformed(reason) => {
                return Cow::Owned(format!("The request body is not valid JSON: {reason}."));
            }
            Self::Invalid(violations) => {
                let first_message = violations.first().map(|it| it.message.as_str());
                return Cow::Owned(first_message.unwrap_or("The request is not valid.").to_owned());
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

    /// Returns the `error` of the chunk that ends a stream: the reason phrase
    /// of the corresponding status. Clients expect that of a failed gateway for
    /// timeouts, too.
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
