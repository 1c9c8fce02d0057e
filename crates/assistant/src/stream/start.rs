//! Start of a response, while another model may still be called.
//!
//! Until the first readable event, a failure is returned as an `UpstreamError` with a
//! status, so that `Turn::call_upstreams` can try the next key or model. Later errors are
//! for `stream/answer.rs`. `reject_error_body` does the same for full responses.

use std::future::poll_fn;

use bytes::Bytes;
use memchr::memmem;
use pia_json::Members;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::ports::{Frame, Frames, UpstreamError};
use crate::routing::refusal::{Tools, is_caller_error};
use crate::stream;
use crate::stream::chunk::{self, EventAction, ParsedEvent};

/// Error codes that concern one key.
const KEY_ERROR_CODES: [&str; 5] =
    ["authentication", "api_key", "permission", "unauthorized", "forbidden"];
/// Error codes of an upstream at capacity.
const BUSY_ERROR_CODES: [&str; 3] = ["rate_limit", "too_many", "quota"];
/// Error codes of a request that no other model would accept.
const REQUEST_ERROR_CODES: [&str; 6] = [
    "invalid_request",
    "bad_request",
    "badrequest",
    "context_length",
    "content_filter",
    "not_found",
];

/// Started stream, with its first frame.
pub(crate) struct StartedStream {
    pub(crate) first: Option<Frame>,
    pub(crate) frames: Frames,
    /// Set if earlier frames could not be parsed.
    pub(crate) unreadable: bool,
}

/// Waits for the first event of a stream.
///
/// A stream that starts with an error counts as refused, although its upstream
/// accepted the call, and one that ends before any readable event as malformed.
pub(crate) async fn start_stream(
    mut frames: Frames,
    tools: Tools,
) -> Result<StartedStream, UpstreamError> {
    let mut unreadable = false;
    loop {
        let first_frame = match poll_fn(|cx| frames.as_mut().poll_next(cx)).await.transpose()? {
            Some(Frame::Alive) => continue,
            Some(Frame::Unreadable) => {
                unreadable = true;
                continue;
            }
            Some(Frame::Forward { bytes, .. }) if !is_readable(&bytes) => {
                unreadable = true;
                continue;
            }
            Some(Frame::Done) | None => return Err(UpstreamError::Malformed),
            Some(first_frame) => first_frame,
        };

        if let Frame::Inspect(json) = &first_frame {
            match chunk::parse(json) {
                ParsedEvent { action: EventAction::Error(error), .. } => {
                    return Err(refusal(&error, tools));
                }
                // Not part of a response.
                ParsedEvent { action: EventAction::Dropped, usage: None, .. } => continue,
                _ => {}
            }
        }

        return Ok(StartedStream { first: Some(first_frame), frames, unreadable });
    }
}

/// Returns whether any of the frames is valid JSON.
fn is_readable(frames: &[u8]) -> bool {
    let mut events = frames.split(|it| *it == b'\n').filter_map(|it| it.strip_prefix(b"data: "));
    events.any(|it| serde_json::from_slice::<IgnoredAny>(it).is_ok())
}

/// Returns a full response unless it is only an error.
pub(crate) fn reject_error_body(body: Bytes, tools: Tools) -> Result<Bytes, UpstreamError> {
    if memmem::find(&body, br#""error""#).is_none() || stream::completion::usage(&body).is_some() {
        return Ok(body);
    }
    let members = serde_json::from_slice::<Members<'_>>(&body).ok();
    match members.as_ref().and_then(|it| it.get("error")) {
        Some(error) => Err(refusal(error, tools)),
        None => Ok(body),
    }
}

/// Converts an error with a success status to a refusal with its own status.
fn refusal(error: &str, tools: Tools) -> UpstreamError {
    let error_json = serde_json::from_str(error).unwrap_or(Value::Null);
    let status = if is_caller_error(error.as_bytes(), tools) { 400 } else { status(&error_json) };
    let body = json!({ "error": error_json }).to_string();
    UpstreamError::Refused { status, retry_after: None, body: Bytes::from(body) }
}

/// Returns the status of an error.
fn status(error: &Value) -> u16 {
    for key in ["status", "code"] {
        if let Some(status) = error.get(key).and_then(error_status) {
            return status;
        }
    }

    let names = ["code", "type"].map(|key| {
        let name = error.get(key).and_then(Value::as_str).unwrap_or_default();
        name.to_ascii_lowercase()
    });

    if has_any(&names, &BUSY_ERROR_CODES) {
        429
    } else if has_any(&names, &KEY_ERROR_CODES) {
        401
    } else if has_any(&names, &REQUEST_ERROR_CODES) {
        400
    } else {
        500
    }
}

/// Parses the status of an error, which may be a string.
fn error_status(value: &Value) -> Option<u16> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|it| (400..=599).contains(it))
}

/// Returns whether any of the names contains any of the codes.
fn has_any(names: &[String], codes: &[&str]) -> bool {
    codes.iter().any(|code| names.iter().any(|name| name.contains(code)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_reported_status_or_that_of_its_code() {
        for (error, expected) in [
            (json!({ "code": 429 }), 429),
            (json!({ "code": "503", "type": "invalid_request_error" }), 503),
            (json!({ "status": 404, "code": "model_not_found" }), 404),
            (json!({ "type": "rate_limit_exceeded" }), 429),
            (json!({ "code": "insufficient_quota", "type": "insufficient_quota" }), 429),
            (json!({ "code": "invalid_api_key", "type": "invalid_request_error" }), 401),
            (json!({ "type": "invalid_request_error", "code": null }), 400),
            (json!({ "type": "BadRequestError" }), 400),
            (json!({ "type": "server_error", "code": 7 }), 500),
            (json!({ "type": "overloaded_error" }), 500),
            (json!("broken"), 500),
            (json!({}), 500),
        ] {
            assert_eq!(status(&error), expected, "{error}");
        }
    }

    #[test]
    fn a_full_response_that_is_an_error_is_a_refusal_unless_it_was_billed() {
        let refused = |body: &'static str| match reject_error_body(Bytes::from(body), Tools::Sent) {
            Err(UpstreamError::Refused { status, .. }) => Some(status),
            _ => None,
        };

        assert_eq!(refused(r#"{"error":{"type":"server_error"}}"#), Some(500));
        assert_eq!(refused(r#"{"error":{"code":500,"message":"no tools here"}}"#), Some(400));
        assert_eq!(refused(r#"{"error":{},"usage":{"prompt_tokens":1}}"#), None);
        assert_eq!(refused(r#"{"error":null,"choices":[]}"#), None);
        assert_eq!(refused(r#"{"choices":[{"message":{"content":"\"error\""}}]}"#), None);
        assert_eq!(refused("<html>\"error\"</html>"), None);
    }
}
