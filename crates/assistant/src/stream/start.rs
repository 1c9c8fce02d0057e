//! Start of an answer, while another model may still be asked.

use std::future::poll_fn;

use bytes::Bytes;
use memchr::memmem;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::ports::{Frame, Frames, UpstreamError};
use crate::routing::refusal::{Tools, is_caller_error};
use crate::stream;
use crate::stream::chunk::{self, EventAction, ParsedEvent};
use pia_json::Members;

/// Error names that are the fault of one key.
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

/// A streamed answer that has begun, with what it began with.
pub(crate) struct StartedStream {
    pub(crate) first: Option<Frame>,
    pub(crate) frames: Frames,
    /// True if some of what came before could not be read.
    pub(crate) unreadable: bool,
}

/// Waits until a stream says something. One that begins with an error has not
/// begun: its upstream accepted the call and failed all the same. Nor has one
/// that ends before anything of it could be read.
pub(crate) async fn start_stream(
    mut frames: Frames,
    tools: Tools,
) -> Result<StartedStream, UpstreamError> {
    let mut unreadable = false;
    loop {
        let first = match poll_fn(|cx| frames.as_mut().poll_next(cx)).await.transpose()? {
            Some(Frame::Alive) => continue,
            Some(Frame::Unreadable) => {
                unreadable = true;
                continue;
            }
            Some(Frame::Pass { bytes, .. }) if !is_readable(&bytes) => {
                unreadable = true;
                continue;
            }
            Some(Frame::Done) | None => return Err(empty_answer_error()),
            Some(first) => first,
        };
        if let Frame::Look(json) = &first {
            match chunk::parse(json) {
                ParsedEvent { verdict: EventAction::Error(error), .. } => {
                    return Err(refusal(&error, tools));
                }
                // It says nothing of an answer.
                ParsedEvent { verdict: EventAction::Withheld, usage: None, .. } => continue,
                _ => {}
            }
        }
        return Ok(StartedStream { first: Some(first), frames, unreadable });
    }
}

/// Returns whether there is an event of sound JSON in some frames.
fn is_readable(frames: &[u8]) -> bool {
    let mut events = frames.split(|it| *it == b'\n').filter_map(|it| it.strip_prefix(b"data: "));
    events.any(|it| serde_json::from_slice::<IgnoredAny>(it).is_ok())
}

/// An answer with a good status that is none.
fn empty_answer_error() -> UpstreamError {
    UpstreamError::Refused { status: 200, retry_after: None, body: Bytes::new() }
}

/// A whole answer, unless it is nothing but an error.
pub(crate) fn reject_error_body(body: Bytes, tools: Tools) -> Result<Bytes, UpstreamError> {
    if memmem::find(&body, br#""error""#).is_none() || stream::completion::usage(&body).is_some() {
        return Ok(body);
    }
    let error = serde_json::from_slice::<Members<'_>>(&body).ok();
    match error.as_ref().and_then(|it| it.get("error")) {
        Some(error) => Err(refusal(error, tools)),
        None => Ok(body),
    }
}

/// An error that came with the status of a success, as if it had come with its
/// own.
fn refusal(error: &str, tools: Tools) -> UpstreamError {
    let reported = serde_json::from_str(error).unwrap_or(Value::Null);
    let status = if is_caller_error(error.as_bytes(), tools) { 400 } else { status(&reported) };
    let body = json!({ "error": reported }).to_string();
    UpstreamError::Refused { status, retry_after: None, body: Bytes::from(body) }
}

/// The status that an error would have had.
fn status(error: &Value) -> u16 {
    let number = |it: &Value| {
        let number = it.as_u64().or_else(|| it.as_str()?.parse().ok())?;
        u16::try_from(number).ok().filter(|it| (400..=599).contains(it))
    };
    let reported = ["status", "code"].into_iter().find_map(|it| error.get(it).and_then(number));
    let names = ["code", "type"].map(|it| {
        let name = error.get(it).and_then(Value::as_str).unwrap_or_default();
        name.to_ascii_lowercase()
    });
    let is_one = |words: &[&str]| words.iter().any(|it| names.iter().any(|name| name.contains(it)));
    reported.unwrap_or_else(|| match () {
        () if is_one(&BUSY_ERROR_CODES) => 429,
        () if is_one(&KEY_ERROR_CODES) => 401,
        () if is_one(&REQUEST_ERROR_CODES) => 400,
        () => 500,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_status_that_it_reports_or_is_called_by() {
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
    fn a_whole_answer_that_is_an_error_is_a_refusal_unless_it_was_billed() {
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
