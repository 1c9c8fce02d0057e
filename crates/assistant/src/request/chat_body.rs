//! Body of a chat request to an upstream.
//!
//! `UpstreamPrompt::body` creates it for each call. A dialect of `upstream` writes it with
//! `write_open` and closes it with the members that the caller does not control.

use bytes::Bytes;
use pia_json::{JsonWriter, Rope};

/// Part of a chat request that its caller controls, each value as JSON.
///
/// Large values are slices of the caller's request, so that nothing is held
/// twice.
#[derive(Debug, Clone, Default)]
pub struct ChatBody {
    /// JSON array of messages.
    pub messages: Rope,
    /// Array of tools, if there are any.
    pub tools: Option<Rope>,
    /// Other members with their values, in the order in which they are sent.
    pub parameters: Vec<(&'static str, Bytes)>,
}

impl ChatBody {
    /// Returns the value of a parameter.
    pub fn parameter(&self, key: &str) -> Option<Rope> {
        let (_, value) = self.parameters.iter().find(|(it, _)| *it == key)?;
        Some(Rope::from(vec![value.clone()]))
    }

    /// Writes the body in OpenAI's format, without the closing brace.
    pub fn write_open(&self, writer: &mut JsonWriter) {
        writer.text("{\"messages\":").rope(&self.messages);
        if let Some(tools) = &self.tools {
            writer.text(",\"tools\":").rope(tools);
        }
        for (key, value) in &self.parameters {
            writer.text(",\"").text(key).text("\":").bytes(value);
        }
    }
}
