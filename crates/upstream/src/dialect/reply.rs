//! Translation of an upstream's response into the common format.
//!
//! `FrameStream` in `reading.rs` passes each selected event to `Translate::event` and
//! `[DONE]` to `Translate::done`, and sends the frames that they push in that order.
//! Events that the filter did not select bypass the translation.

use std::collections::VecDeque;
use std::sync::LazyLock;

use bytes::{BufMut, Bytes, BytesMut};
use pia_assistant::{Frame, UpstreamError};
use serde_json::{Value, json};

use crate::event_filter::EventFilter;

/// Translation of the events of one stream into the common format.
pub(crate) trait Translate: Send {
    /// Translates the JSON of a selected event. `first` is set if no event was
    /// sent before it.
    fn event(&mut self, json: &Bytes, first: bool, output: &mut TranslatedFrames);

    /// Handles the upstream's `[DONE]`.
    fn done(&mut self, output: &mut TranslatedFrames) {
        output.frames.push_back(Frame::Done);
    }

    /// Returns whether the response is complete, or `None` if the splitter
    /// decides, which knows finish reasons and `[DONE]` only.
    fn is_finished(&self) -> Option<bool> {
        None
    }
}

/// Frames for the caller.
#[derive(Debug, Default)]
pub(crate) struct TranslatedFrames {
    pub(crate) frames: VecDeque<Frame>,
    /// Error that ends the stream after these frames.
    pub(crate) failure: Option<UpstreamError>,
}

impl TranslatedFrames {
    /// Pushes an event of the upstream, which is inspected and sent unchanged.
    pub(super) fn push_upstream_event(&mut self, json: &Bytes) {
        self.frames.push_back(Frame::Inspect(json.clone()));
    }

    /// Pushes an event without finish reason, usage and tool call, which is forwarded
    /// without inspection unless it has a role or is not part of a response.
    pub(super) fn push_forwarded(&mut self, json: &[u8]) {
        static PARTS: LazyLock<EventFilter> = LazyLock::new(EventFilter::for_answers);
        if PARTS.selects(json) {
            return self.frames.push_back(Frame::Inspect(Bytes::copy_from_slice(json)));
        }
        let mut bytes = BytesMut::with_capacity(json.len() + 8);
        bytes.put_slice(b"data: ");
        bytes.put_slice(json);
        bytes.put_slice(b"\n\n");
        self.frames.push_back(Frame::Forward { bytes: bytes.freeze(), events: 1 });
    }

    /// Pushes an event of our own, which is inspected.
    pub(super) fn push_value(&mut self, event: &Value) {
        self.frames.push_back(Frame::Inspect(Bytes::from(event.to_string())));
    }

    /// Reports an error: with its own status before the first event, and as the
    /// last event otherwise.
    pub(super) fn push_error(&mut self, status: Option<u16>, error: &Value, first: bool) {
        match status {
            Some(status) if first => self.failure = Some(refusal(status, error)),
            _ => self.push_value(&json!({ "error": error })),
        }
    }
}

/// Returns the refusal for an error that came with a success status.
pub(super) fn refusal(status: u16, error: &Value) -> UpstreamError {
    let body = json!({ "error": error }).to_string();
    UpstreamError::Refused { status, retry_after: None, body: Bytes::from(body) }
}

/// Returns the error for a request that is not a JSON object, which our callers
/// never send.
pub(super) fn unreadable() -> UpstreamError {
    UpstreamError::Unreachable("the request cannot be read".to_owned())
}

/// Returns the text of a content: a string, or the texts of its parts.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|it| it.get("text").and_then(Value::as_str)).collect()
        }
        _ => String::new(),
    }
}
