//! Assignments, as their users and administrators see them. A worker's view is
//! `Run`.

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
    /// Name of the skill, as it was when the assignment was handed over.
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
    /// Time when it was handed over.
    pub created_at: Timestamp,
    /// Time of its last change.
    pub updated_at: Timestamp,
    /// Time when a worker first started it, if one did.
    pub started_at: Option<Timestamp>,
    /// Time when it ended, in whatever way; `None` while it is unfinished.
    pub completed_at: Option<Timestamp>,
    /// Stable code of a failure; `None` unless it failed.
    pub error_code: Option<String>,
    /// Text of a failure, for its user; `None` in the lists of administrators too.
    pub error_message: Option<String>,
}

/// Assignment with its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignmentDetails {
    /// Assignment to which the events belong.
    pub assignment: Assignment,
    /// Raw response of the last step; `None` until the assignment completes, and once its
    /// contents were deleted.
    pub artifact_json: Option<String>,
    /// Text of that response; `None` as well if the model returned no text.
    pub artifact_text: Option<String>,
    /// Time when the contents were deleted from the server.
    pub plaintext_dropped_at: Option<Timestamp>,
    /// Events, oldest first.
    pub events: Vec<AssignmentEvent>,
}
