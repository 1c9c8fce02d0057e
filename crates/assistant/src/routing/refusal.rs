//! Translation of an upstream's failures into errors for the caller.
//!
//! `explain_failure` is for calls that failed, `explain_stream_error` for error events
//! within a stream. An upstream's text is searched for phrases, never passed on: only a
//! conversation that is too long and refused tools are the caller's to correct.

use std::time::Duration;

use serde::Deserialize;

use crate::error::{AssistantError, Violation};
use crate::ports::UpstreamError;
use crate::routing::target::Target;

/// Default time to wait for a busy upstream.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(10);
/// Maximum time to wait that is reported to callers.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(1);

/// Phrases by which upstreams report that a conversation is too long.
const CONTEXT_PHRASES: [&str; 10] = [
    "context_length_exceeded",
    "context length",
    "context limit",
    "context window",
    "context size",
    "maximum context",
    "prompt is too long",
    "too many tokens",
    "input token count",
    "reduce the length of the messages",
];

/// Words by which upstreams refer to tools.
const TOOL_PHRASES: [&str; 2] = ["tool", "function"];

/// Presence of tools in a request, which may be the reason for a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tools {
    Sent,
    None,
}

/// Translates an upstream's failure into an error, and logs it.
pub(crate) fn explain_failure(
    err: &UpstreamError,
    tools: Tools,
    target: &Target,
) -> AssistantError {
    let code = match err {
        UpstreamError::Refused { body, .. } => error_code(body),
        _ => None,
    };

    // The body may contain the caller's content, so only its code is logged.
    tracing::warn!(
        upstream.provider = target.provider.name(),
        upstream.model = target.model,
        upstream.status = err.status(),
        upstream.code = code,
        error = %err,
        "upstream model did not answer"
    );

    match err {
        UpstreamError::Refused { status, retry_after, body } => {
            refusal_error(*status, *retry_after, body, tools)
        }
        UpstreamError::UnsupportedPart(part) => {
            let message = format!("The AI model does not accept {part}.");
            AssistantError::Invalid(vec![Violation::new("messages", "unsupported", message)])
        }
        UpstreamError::Silent => AssistantError::UpstreamTimeout,
        UpstreamError::Malformed
        | UpstreamError::Unreachable(_)
        | UpstreamError::Cut
        | UpstreamError::TooLong => AssistantError::UpstreamFailed,
    }
}

/// Translates an error event of a stream into an error, and logs it.
pub(crate) fn explain_stream_error(error: &[u8], tools: Tools, target: &Target) -> AssistantError {
    tracing::warn!(
        upstream.provider = target.provider.name(),
        upstream.model = target.model,
        upstream.code = error_code(error),
        "upstream model failed during its answer"
    );
    caller_error(error, tools).unwrap_or(AssistantError::UpstreamFailed)
}

fn refusal_error(
    status: u16,
    retry_after: Option<Duration>,
    body: &[u8],
    tools: Tools,
) -> AssistantError {
    let error = match status {
        // The second is Anthropic's status for an overloaded server.
        429 | 529 => {
            let retry_after = retry_after.unwrap_or(DEFAULT_RETRY_AFTER).min(MAX_RETRY_AFTER);
            Some(AssistantError::UpstreamBusy { retry_after })
        }
        400 | 422 => caller_error(body, tools).or(Some(AssistantError::UpstreamRefused)),
        413 => caller_error(body, Tools::None),
        // Also 401 and 403: the operator's key is refused, not the caller's.
        _ => None,
    };

    error.unwrap_or(AssistantError::UpstreamFailed)
}

/// Returns whether the caller can correct an error.
pub(crate) fn is_caller_error(error: &[u8], tools: Tools) -> bool {
    caller_error(error, tools).is_some()
}

/// Returns the error if the caller can correct it.
fn caller_error(body: &[u8], tools: Tools) -> Option<AssistantError> {
    let text = String::from_utf8_lossy(body).to_ascii_lowercase();
    let mentions = |phrases: &[&str]| phrases.iter().any(|it| text.contains(it));
    if mentions(&CONTEXT_PHRASES) {
        Some(AssistantError::ContextTooLong)
    } else if tools == Tools::Sent && mentions(&TOOL_PHRASES) {
        Some(AssistantError::ToolsRefused)
    } else {
        None
    }
}

/// Returns the machine-readable code of an error for the log: unlike the rest
/// of it, it cannot contain text of a user.
fn error_code(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Body {
        error: Option<Error>,
        #[serde(flatten)]
        bare: Error,
    }

    #[derive(Deserialize)]
    struct Error {
        code: Option<serde_json::Value>,
        r#type: Option<serde_json::Value>,
    }

    let body: Body = serde_json::from_slice(body).ok()?;
    let error = body.error.unwrap_or(body.bare);
    let value = error.code.filter(serde_json::Value::is_string).or(error.r#type)?;
    let code = value.as_str()?;
    let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '.');
    (code.len() <= 64 && code.chars().all(is_plain)).then(|| code.to_owned())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::fakes;

    /// Real responses of each type of upstream.
    const REFUSALS: &[(u16, &str, AssistantError)] = &[
        // OpenAI and AzureOpenAI
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            AssistantError::ContextTooLong,
        ),
        (
            400,
            r#"{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","status":400}}"#,
            AssistantError::UpstreamRefused,
        ),
        (
            401,
            r#"{"error":{"code":"401","message":"Access denied due to invalid key."}}"#,
            AssistantError::UpstreamFailed,
        ),
        // Ollama
        (
            400,
            r#"{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools","type":"api_error","param":null,"code":null}}"#,
            AssistantError::ToolsRefused,
        ),
        (
            404,
            r#"{"error":{"message":"model 'x' not found","type":"not_found_error"}}"#,
            AssistantError::UpstreamFailed,
        ),
        // OpenRouter
        (
            404,
            r#"{"error":{"message":"No endpoints found for x/y.","code":404}}"#,
            AssistantError::UpstreamFailed,
        ),
        (
            402,
            r#"{"error":{"message":"Insufficient credits","code":402}}"#,
            AssistantError::UpstreamFailed,
        ),
        // vLLM
        (
            400,
            r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice","type":"BadRequestError","param":null,"code":400}"#,
            AssistantError::ToolsRefused,
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 5000.","type":"BadRequestError","param":null,"code":400}}"#,
            AssistantError::ContextTooLong,
        ),
        // Mistral
        (
            400,
            r#"{"object":"error","message":"Prompt contains 40000 tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","code":"3051"}"#,
            AssistantError::ContextTooLong,
        ),
        (
            422,
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","logprobs"],"msg":"Extra inputs are not permitted"}]}"#,
            AssistantError::UpstreamRefused,
        ),
        // Anthropic
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 205000 tokens > 200000 maximum"}}"#,
            AssistantError::ContextTooLong,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"}}"#,
            AssistantError::ContextTooLong,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"tools.0.custom.name: String should match pattern"}}"#,
            AssistantError::ToolsRefused,
        ),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            AssistantError::UpstreamBusy { retry_after: DEFAULT_RETRY_AFTER },
        ),
    ];

    fn explain(status: u16, body: &'static str, tools: Tools) -> AssistantError {
        let err = UpstreamError::Refused {
            status,
            retry_after: None,
            body: Bytes::from_static(body.as_bytes()),
        };
        explain_failure(&err, tools, &fakes::target("m"))
    }

    #[test]
    fn only_a_refusal_of_sent_tools_is_a_caller_error() {
        let body = r#"{"error":{"message":"This model does not support Tools."}}"#;

        assert_eq!(explain(400, body, Tools::Sent), AssistantError::ToolsRefused);
        assert_eq!(explain(422, body, Tools::Sent), AssistantError::ToolsRefused);
        assert_eq!(explain(400, body, Tools::None), AssistantError::UpstreamRefused);
        assert_eq!(explain(404, body, Tools::Sent), AssistantError::UpstreamFailed);
        assert_eq!(explain(400, "no", Tools::Sent), AssistantError::UpstreamRefused);
    }

    #[test]
    fn too_long_a_conversation_is_reported_as_context_length() {
        for body in ["context_length_exceeded", "the Context Window", "Prompt is too long: 3 > 2"] {
            assert_eq!(explain(400, body, Tools::Sent), AssistantError::ContextTooLong, "{body}");
            assert_eq!(explain(413, body, Tools::None), AssistantError::ContextTooLong, "{body}");
        }
        assert!(AssistantError::ContextTooLong.message().contains("context length"));
    }

    #[test]
    fn refusals_of_each_type_are_recognised() {
        for (status, body, expected) in REFUSALS {
            assert_eq!(&explain(*status, body, Tools::Sent), expected, "{body}");
        }
    }

    #[test]
    fn everything_else_is_a_failure_of_the_upstream() {
        for status in [301, 401, 402, 403, 404, 413, 500, 502, 503, 504] {
            let err = explain(status, "<html>tools</html>", Tools::Sent);

            assert_eq!(err, AssistantError::UpstreamFailed, "{status}");
        }
    }

    #[test]
    fn a_busy_upstream_has_a_retry_time() {
        let busy = |retry_after| {
            let err = UpstreamError::Refused { status: 429, retry_after, body: Bytes::new() };
            explain_failure(&err, Tools::None, &fakes::target("m"))
        };
        let after =
            |seconds| AssistantError::UpstreamBusy { retry_after: Duration::from_secs(seconds) };

        assert_eq!(busy(Some(Duration::from_secs(7))), after(7));
        assert_eq!(busy(None), after(10));
        assert_eq!(busy(Some(Duration::MAX)), after(3600));
    }

    #[test]
    fn silence_is_a_timeout_and_a_cut_is_a_failure() {
        let target = fakes::target("m");
        let explain = |err| explain_failure(&err, Tools::None, &target);

        assert_eq!(explain(UpstreamError::Silent), AssistantError::UpstreamTimeout);
        assert_eq!(explain(UpstreamError::Malformed), AssistantError::UpstreamFailed);
        assert_eq!(explain(UpstreamError::Cut), AssistantError::UpstreamFailed);
        assert_eq!(explain(UpstreamError::TooLong), AssistantError::UpstreamFailed);
    }

    #[test]
    fn an_unsupported_part_is_a_caller_error() {
        let err = UpstreamError::UnsupportedPart("recordings");

        let error = explain_failure(&err, Tools::None, &fakes::target("m"));

        assert_eq!(error.openai().status, 400);
        assert_eq!(error.message(), "The AI model does not accept recordings.");
    }

    #[test]
    fn only_a_plain_code_reaches_the_log() {
        let code = |body: &str| error_code(body.as_bytes());

        assert_eq!(code(r#"{"error":{"code":"invalid_api_key"}}"#).unwrap(), "invalid_api_key");
        assert_eq!(code(r#"{"error":{"code":7,"type":"server_error"}}"#).unwrap(), "server_error");
        assert_eq!(code(r#"{"type":"overloaded"}"#).unwrap(), "overloaded");
        assert_eq!(code(r#"{"error":{"code":"you wrote: secret"}}"#), None);
        assert_eq!(code("<html>"), None);
    }
}
