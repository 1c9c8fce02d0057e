//! Event log of an assignment, which users read as its history.
//!
//! An event's key makes its insertion idempotent, such as `step:2` or `tool:2:0`:
//! a step that is executed again after its worker was lost appends only what is
//! new. The author of a message decides whether it is sealed and later redacted.

use pia_kernel::{Timestamp, named_variants};
use serde::Serialize;
use uuid::Uuid;

use crate::ports::step_executor::ToolCallRecord;
use crate::truncation::{MAX_MESSAGE_CHARS, truncated};

/// Maximum number of tool names in the detail of an event.
const MAX_TOOLS: usize = 50;

named_variants! {
    /// Kind of an event, with its name on the wire and in the database.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum EventKind {
        /// Assignment was accepted.
        Queued = "queued",
        /// Worker started it.
        Started = "started",
        /// Step ended, and another follows.
        Step = "step",
        /// Next step begins.
        Continued = "continued",
        /// Pod that runs the step reported its progress.
        Progress = "progress",
        /// Step used a tool of the server.
        Tool = "tool",
        /// Last step ended with the artifact.
        Artifact = "artifact",
        /// Tools are no longer permitted.
        Deauthorized = "deauthorized",
        /// Run ended with an artifact.
        Completed = "completed",
        /// Run ended without one.
        Failed = "failed",
        /// User cancelled it.
        Cancelled = "cancelled",
        /// Administrator terminated it.
        Terminated = "terminated",
        /// Contents were deleted from the server.
        Redacted = "redacted",
    }
}

/// Author of an event's message, which decides whether redaction deletes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageAuthor {
    /// Server itself: the message stays.
    Server,
    /// Model or person: the message is deleted.
    Other,
}

/// Event to be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Kind, by which programs tell events apart.
    pub kind: EventKind,
    /// Key, unique within the assignment: an event that is appended twice exists
    /// once.
    pub key: String,
    /// Prose for a person.
    pub message: String,
    /// Author of the message.
    pub author: MessageAuthor,
    /// JSON object with the details.
    pub detail: Option<String>,
}

impl NewEvent {
    /// Creates an event that happens once, with a message of the server.
    pub fn once(kind: EventKind, message: &str) -> Self {
        let message = truncated(message, MAX_MESSAGE_CHARS);
        let key = kind.name().to_owned();
        Self { kind, key, message, author: MessageAuthor::Server, detail: None }
    }

    /// Creates an event of a step.
    pub fn of_step(kind: EventKind, step: i32, message: &str) -> Self {
        Self { key: format!("{}:{step}", kind.name()), ..Self::once(kind, message) }
    }

    /// Creates the event of a call of a tool, which is one of several of a step.
    pub fn of_tool(step: i32, number: usize, call: &ToolCallRecord) -> Self {
        let ToolCallRecord { tool, failed } = call;
        let message = if *failed { format!("{tool} failed.") } else { format!("Used {tool}.") };
        let event = Self::once(EventKind::Tool, &message);
        Self { key: format!("{}:{step}:{number}", event.key), ..event }
    }

    /// Changes the author of the message to someone else than the server.
    #[must_use]
    pub fn by_other(self) -> Self {
        Self { author: MessageAuthor::Other, ..self }
    }

    /// Adds the details, which are stored as JSON.
    #[must_use]
    pub fn with_detail(self, detail: &StepDetail) -> Self {
        // Numbers and texts can always be formatted.
        Self { detail: serde_json::to_string(detail).ok(), ..self }
    }
}

/// Details of a step, an artifact, or lost tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepDetail {
    /// Number of the step, from 0.
    pub step_index: i32,
    /// Tokens of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<i64>,
    /// Tools that are no longer permitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_tools: Option<Vec<String>>,
    /// Number of permitted tools, also of those that are not named.
    pub tool_count: usize,
    /// Names of the permitted tools, the first fifty.
    pub tools: Vec<String>,
}

impl StepDetail {
    /// Creates the details of a step that spent these tokens.
    pub fn step(step_index: i32, tokens: i64, tools: &[String]) -> Self {
        Self { tokens: Some(tokens), ..Self::with_tools(step_index, tools) }
    }

    /// Creates the details of a step whose tools were lost.
    pub fn lost(step_index: i32, mut lost: Vec<String>, tools: &[String]) -> Self {
        lost.truncate(MAX_TOOLS);
        Self { lost_tools: Some(lost), ..Self::with_tools(step_index, tools) }
    }

    fn with_tools(step_index: i32, tools: &[String]) -> Self {
        Self {
            step_index,
            tokens: None,
            lost_tools: None,
            tool_count: tools.len(),
            tools: tools.iter().take(MAX_TOOLS).cloned().collect(),
        }
    }
}

/// Event as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignmentEvent {
    /// Id of the event.
    pub id: Uuid,
    /// Name of the kind.
    pub kind: String,
    /// Prose for a person; `None` once it was redacted.
    pub message: Option<String>,
    /// JSON object with the details.
    pub detail: Option<String>,
    /// Time when it was appended.
    pub created_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_name_fifty_tools_and_count_all() {
        let tools: Vec<String> = (0..60).map(|it| format!("tool{it}")).collect();

        let event = NewEvent::of_step(EventKind::Step, 1, "Done")
            .with_detail(&StepDetail::step(1, 7, &tools));

        let detail: serde_json::Value = serde_json::from_str(&event.detail.unwrap()).unwrap();
        assert_eq!(detail["tools"].as_array().map(Vec::len), Some(50));
        assert_eq!(detail["toolCount"], 60);
        assert_eq!(detail["tokens"], 7);
        assert!(detail.get("lostTools").is_none());
        assert_eq!(event.key, "step:1");
    }
}
