//! Bodies of assignments.

use pia_assignments::{Assignment, AssignmentDetails, AssignmentEvent, Operator};
use pia_kernel::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Long task for a skill.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AssignmentRequest {
    /// Name of a skill that is granted to the caller, in any case.
    #[schema(value_type = String)]
    pub(super) skill_name: Option<String>,
    /// JSON object in a string: `schemaVersion` 1, `prompt` of up to 4,000
    /// characters, and up to 20 `items`.
    #[schema(value_type = String)]
    pub(super) input_json: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AssignmentAccepted {
    #[schema(format = Uuid)]
    pub(super) id: String,
}

/// Skill that the caller may use.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SkillItem {
    name: String,
    /// Name that administrators chose.
    display_name: String,
    /// `Assistant` or `Research`.
    mode: String,
    /// Types of items that the skill accepts; none if it takes a prompt only.
    declared_input_types: Vec<String>,
}

/// Assignment without its contents.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AssignmentItem {
    #[schema(format = Uuid)]
    id: String,
    skill_name: String,
    mode: String,
    /// `Queued`, `Running`, `Completed`, `Failed` or `Cancelled`.
    status: &'static str,
    step_count: i32,
    /// Tokens of accepted work.
    tokens_spent: i64,
    /// Tokens of work that ended too late to be accepted.
    tokens_abandoned: i64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
    /// Stable code of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<String>,
}

/// Assignments, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AssignmentList(pub(super) Vec<AssignmentItem>);

/// Assignment with its contents and events.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AssignmentResponse {
    #[serde(flatten)]
    assignment: AssignmentItem,
    /// Response of the model in the format of chat completions.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_json: Option<String>,
    /// Text of that response, in Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_text: Option<String>,
    /// Time at which the contents were deleted from the server.
    #[schema(value_type = String, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    plaintext_dropped_at: Option<Timestamp>,
    events: Vec<AssignmentEventItem>,
}

/// Event of an assignment.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AssignmentEventItem {
    #[schema(format = Uuid)]
    id: String,
    /// `queued`, `started`, `step`, `continued`, `tool`, `progress`, `artifact`,
    /// `deauthorized`, `completed`, `failed`, `cancelled`, `terminated`,
    /// `redacted`, or one that is added later.
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// JSON object in a string.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail_json: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<Operator> for SkillItem {
    fn from(operator: Operator) -> Self {
        let Operator { name: display_name, skill, .. } = operator;
        let types = skill.declared_input_types.iter();
        Self {
            name: skill.name,
            display_name,
            mode: skill.mode.name().to_owned(),
            declared_input_types: types.map(|it| it.name().to_owned()).collect(),
        }
    }
}

impl From<Assignment> for AssignmentItem {
    fn from(it: Assignment) -> Self {
        Self {
            id: it.id.to_string(),
            skill_name: it.skill,
            mode: it.mode,
            status: it.status.name(),
            step_count: it.step_count,
            tokens_spent: it.tokens_spent,
            tokens_abandoned: it.tokens_abandoned,
            created_at: it.created_at,
            updated_at: it.updated_at,
            started_at: it.started_at,
            completed_at: it.completed_at,
            error_code: it.error_code,
            error_message: it.error_message,
        }
    }
}

impl From<AssignmentDetails> for AssignmentResponse {
    fn from(details: AssignmentDetails) -> Self {
        let AssignmentDetails {
            assignment,
            artifact_json,
            artifact_text,
            plaintext_dropped_at,
            events,
        } = details;
        Self {
            assignment: assignment.into(),
            artifact_json,
            artifact_text,
            plaintext_dropped_at,
            events: events.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<AssignmentEvent> for AssignmentEventItem {
    fn from(event: AssignmentEvent) -> Self {
        let AssignmentEvent { id, kind, message, detail, created_at } = event;
        Self { id: id.to_string(), kind, message, detail_json: detail, created_at }
    }
}
