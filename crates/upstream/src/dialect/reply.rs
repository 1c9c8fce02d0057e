//! Translation of an upstream's answer into the form that all callers read.

use std::collections::VecDeque;
use std::sync::LazyLock;

use bytes::{BufMut, Bytes, BytesMut};
use pia_assistant::{Frame, UpstreamError};
use serde_json::{Value, json};

use crate::event_filter::EventFilter;

/// Puts the events of one stream into the common form.
pub(crate) trait Translate: Send {
    /// Takes the JSON of an event that is worth reading. `first` reports that
    /// nothing was said before it.
    fn event(&mut self, json: &Bytes, first: bool, message: &mut TranslatedFrames);

    /// Takes the end, as the upstream says it.
    fn done(&mut self, message: &mut TranslatedFrames) {
        message.frames.push_back(Frame::Done);
    }

    /// Returns whether the answer is complete; nothing where the splitter
    /// knows.
    fn is_finished(&self) -> Option<bool> {
        None
    }
}

/// Frames for the caller.
#[derive(Debug, Default)]
pub(crate) struct TranslatedFrames {
    pub(crate) frames: VecDeque<Frame>,
    /// Failure that ends the answer, after these frames.
    pub(crate) failure: Option<UpstreamError>,
}

impl TranslatedFrames {
    /// Goes on as it came.
    pub(super) fn push_unchanged(&mut self, json: &Bytes) {
        self.frames.push_back(Frame::Look(json.clone()));
    }

    /// An event that says nothing of an end, of usage or of a tool, and is
    /// read nevertheless where it says whose words it has, or is no part of an
    /// answer.
    pub(super) fn plain(&mut self, json: &[u8]) {
        static PARTS: LazyLock<EventFilter> = LazyLock::new(EventFilter::of_answers);
        if PARTS.selects(json) {
            return self.frames.push_back(Frame::Look(Bytes::copy_from_slice(json)));
        }
        let mut bytes = BytesMut::with_capacity(json.len() + 8);
        bytes.put_slice(b"data: ");
        bytes.put_slice(json);
        bytes.put_slice(b"\n\n");
        self.frames.push_back(Frame::Pass { bytes: bytes.freeze(), events: 1 });
    }

    /// An event that is worth reading.
    pub(super) fn push_parsed(&mut self, event: &Value) {
        self.frames.push_back(Frame::Look(Bytes::from(event.to_string())));
    }

    /// An error: with a status of its own before anything was said, and
    /// otherwise as the last event.
    pub(super) fn error(&mut self, status: Option<u16>, error: &Value, first: bool) {
        match status.filter(|_| first) {
            Some(status) => self.failure = Some(refusal(status, error)),
            None => self.push_parsed(&json!({ "error": error })),
        }
    }
}

/// An error that came with the status of a success.
pub(super) fn refusal(status: u16, error: &Value) -> UpstreamError {
    let body = json!({ "error": error }).to_string();
    UpstreamError::Refused { status, retry_after: None, body: Bytes::from(body) }
}

/// A request that is no JSON object, which our own callers never make.
pub(super) fn unreadable() -> UpstreamError {
    UpstreamError::Unreachable("the request cannot be read".to_owned())
}

/// An answer with a good status that is none.
pub(super) fn malformed_response() -> UpstreamError {
    UpstreamError::Refused { status: 200, retry_after: None, body: Bytes::new() }
}

/// The text of a content: a string, or parts of which some have texts.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|it| it.get("text").and_then(Value::as_str)).collect()
        }
        _ => String::new(),
    }
}
