//! Assignments, as their users and administrators see them.

use pia_kernel::{AssignmentId, Timestamp, UserId};

use crate::event::AssignmentEvent;
use crate::status::AssignmentStatus;

/// Assignment without its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Id of the assignment.
    pub id: AssignmentId,
    /// User who handed it over.
    pub user: UserId,
    /// Name of the skill.
    pub skill: String,
    /// Name of the skill's mode.
    pub mode: String,
    /// Status of the assignment.
    pub status: AssignmentStatus,
    /// Number of steps that ended.
    pub step_count: i32,
    /// Tokens of accepted steps.
    pub tokens_spent: i64,
    /// Tokens of calls whose results were not accepted.
    pub tokens_abandoned: i64,
    /// Time at which it was handed over.
    pub created_at: Timestamp,
    /// Time of its last change.
    pub updated_at: Timestamp,
    /// Time at which a worker started it.
    pub started_at: Option<Timestamp>,
    /// Time at which it ended.
    pub completed_at: Option<Timestamp>,
    /// Stable code of a failure.
    pub error_code: Option<String>,
    /// Text of a failure, for its user.
    pub error_message: Option<String>,
}

/// Assignment with its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignmentDetails {
    /// Assignment to which the events belong.
    pub assignment: Assignment,
    /// Raw response of the last step.
    pub artifact_json: Option<String>,
    /// Text of that response.
    pub artifact_text: Option<String>,
    /// Time at which the contents were deleted from the server.
    pub plaintext_dropped_at: Option<Timestamp>,
    /// Events, in order.
    pub events: Vec<AssignmentEvent>,
}
