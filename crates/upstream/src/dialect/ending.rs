//! The end of a request: what its caller has no say in.

use std::fmt::Write as _;

use bytes::Bytes;
use pia_assistant::{CapName, ChatBody, OutputCap, ReasoningEffort};

use pia_json::{JsonWriter, quoted};

/// More members of an object that is still open.
#[derive(Debug, Default)]
pub(super) struct BodySuffix(String);

impl BodySuffix {
    /// Names the model.
    pub(super) fn model(model: &str) -> Self {
        Self::default().member("model", &quoted(model))
    }

    /// Adds a member whose value is JSON.
    pub(super) fn member(mut self, key: &str, json: &str) -> Self {
        // Writing to a text cannot fail.
        let _infallible = write!(self.0, ",\"{key}\":{json}");
        self
    }

    /// Maximum length of the answer, under the name that its caller used, or
    /// else under this one.
    pub(super) fn cap(self, cap: Option<OutputCap>, otherwise: CapName) -> Self {
        match cap {
            Some(OutputCap { tokens, name }) => {
                self.member(name.unwrap_or(otherwise).key(), &tokens.to_string())
            }
            None => self,
        }
    }

    /// Sets the maximum length, under the one name that there is.
    pub(super) fn cap_as(self, cap: Option<OutputCap>, name: CapName) -> Self {
        self.cap(cap.map(|it| OutputCap { name: Some(name), ..it }), name)
    }

    /// Sets the reasoning effort, under OpenAI's name and values.
    pub(super) fn effort(self, effort: Option<ReasoningEffort>) -> Self {
        match effort {
            Some(effort) => self.member("reasoning_effort", &lower(effort)),
            None => self,
        }
    }

    /// Sets the reasoning effort for those who know only three steps, and none.
    pub(super) fn effort_of_three(self, effort: Option<ReasoningEffort>) -> Self {
        self.effort(effort.map(three))
    }

    /// Requests a streamed answer with usage.
    pub(super) fn streamed(self, streamed: bool) -> Self {
        if !streamed {
            return self;
        }
        self.member("stream", "true").member("stream_options", r#"{"include_usage":true}"#)
    }

    /// Returns a body in OpenAI's shape that ends with this.
    pub(super) fn close(self, body: &ChatBody) -> Vec<Bytes> {
        let mut writer = JsonWriter::default();
        body.write_open(&mut writer);
        self.close_written(writer)
    }

    /// Closes what was written of an object with this.
    pub(super) fn close_written(self, mut writer: JsonWriter) -> Vec<Bytes> {
        writer.text(&self.0).text("}");
        writer.into_pieces()
    }

    /// Returns a request for embeddings that ends with this.
    pub(super) fn close_embeddings(self, open: Bytes) -> Vec<Bytes> {
        vec![open, Bytes::from(format!("{}}}", self.0))]
    }
}

/// The name of an effort as JSON.
pub(super) fn lower(effort: ReasoningEffort) -> String {
    quoted(&effort.name().to_ascii_lowercase())
}

/// The nearest of the three steps that all know.
pub(super) fn three(effort: ReasoningEffort) -> ReasoningEffort {
    match effort {
        ReasoningEffort::Minimal => ReasoningEffort::Low,
        ReasoningEffort::XHigh => ReasoningEffort::High,
        other => other,
    }
}
