//! End of a request: members that the caller does not control.
//!
//! A dialect chains the members that its upstream knows, and closes with them a body
//! that is still open. `chat_request.rs` in `assistant` forwards none of these names, so
//! that the caller cannot override the model or the cap.

use std::fmt::Write as _;

use bytes::Bytes;
use pia_assistant::{CapName, ChatBody, OutputCap, ReasoningEffort};

use pia_json::{JsonWriter, quoted};

use super::ResponseMode;

/// Further members of a JSON object that is still open.
#[derive(Debug, Default)]
pub(super) struct BodySuffix(String);

impl BodySuffix {
    /// Returns a suffix that names the model.
    pub(super) fn model(model: &str) -> Self {
        Self::default().member("model", &quoted(model))
    }

    /// Adds a member whose value is JSON.
    pub(super) fn member(mut self, key: &str, json: &str) -> Self {
        // Writing to a string cannot fail.
        let _infallible = write!(self.0, ",\"{key}\":{json}");
        self
    }

    /// Sets the maximum length of the response, under the name that the caller
    /// used, or else under this one.
    pub(super) fn cap(self, cap: Option<OutputCap>, default_name: CapName) -> Self {
        match cap {
            Some(OutputCap { tokens, name }) => {
                self.member(name.unwrap_or(default_name).key(), &tokens.to_string())
            }
            None => self,
        }
    }

    /// Sets the maximum length of the response, always under this name.
    pub(super) fn cap_as(self, cap: Option<OutputCap>, name: CapName) -> Self {
        self.cap(cap.map(|it| OutputCap { name: Some(name), ..it }), name)
    }

    /// Sets the reasoning effort, under OpenAI's name and values.
    pub(super) fn effort(self, effort: Option<ReasoningEffort>) -> Self {
        match effort {
            Some(effort) => self.member("reasoning_effort", &effort_json(effort)),
            None => self,
        }
    }

    /// Sets the reasoning effort for upstreams with three steps, and none.
    pub(super) fn effort_of_three(self, effort: Option<ReasoningEffort>) -> Self {
        self.effort(effort.map(nearest_of_three))
    }

    /// Requests the form of the response; a stream with usage.
    pub(super) fn response_mode(self, mode: ResponseMode) -> Self {
        match mode {
            ResponseMode::Streamed => {
                self.member("stream", "true").member("stream_options", r#"{"include_usage":true}"#)
            }
            ResponseMode::Full => self,
        }
    }

    /// Returns a body in OpenAI's format that ends with this suffix.
    pub(super) fn close(self, body: &ChatBody) -> Vec<Bytes> {
        let mut writer = JsonWriter::default();
        body.write_open(&mut writer);
        self.close_written(writer)
    }

    /// Closes a partly written object with this suffix.
    pub(super) fn close_written(self, mut writer: JsonWriter) -> Vec<Bytes> {
        writer.text(&self.0).text("}");
        writer.into_pieces()
    }

    /// Closes a JSON object that is still open with this suffix.
    pub(super) fn close_members(self, open: Bytes) -> Vec<Bytes> {
        vec![open, Bytes::from(format!("{}}}", self.0))]
    }
}

/// Returns the name of an effort as JSON.
pub(super) fn effort_json(effort: ReasoningEffort) -> String {
    quoted(&effort.name().to_ascii_lowercase())
}

/// Returns the nearest of the three common steps.
pub(super) fn nearest_of_three(effort: ReasoningEffort) -> ReasoningEffort {
    match effort {
        ReasoningEffort::Minimal => ReasoningEffort::Low,
        ReasoningEffort::XHigh => ReasoningEffort::High,
        _ => effort,
    }
}
