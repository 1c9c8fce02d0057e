//! Run of an assignment by a worker: the values that pass between `runs.rs` and
//! the store.
//!
//! A claim is a fence. Each claim of an assignment gets the next number, and a
//! change is stored only under the latest: a worker that was slow, or was taken
//! for dead, cannot overwrite the work of the next one.

use pia_kernel::{AssignmentId, Timestamp, UserId};
use uuid::Uuid;

use crate::envelope::InputEnvelope;
use crate::event::NewEvent;
use crate::skill::Skill;

/// Id of a worker: one process of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WorkerId(pub Uuid);

/// Claim of an assignment by a worker. One that was lost changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunClaim {
    /// Id of the claimed assignment.
    pub id: AssignmentId,
    /// Number of the claim: each claim of an assignment has the next one.
    pub fence: i64,
}

/// Assignment that a worker has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Claim that the worker holds.
    pub claim: RunClaim,
    /// User who handed it over.
    pub user: UserId,
    /// Skill, as it was when the assignment was handed over.
    pub skill: Skill,
    /// Input that the user handed over.
    pub input: InputEnvelope,
    /// Number of steps that ended.
    pub step_count: i32,
    /// Outputs of these steps, in their order.
    pub outputs: Vec<String>,
    /// Tokens of these steps, which count towards `AssignmentSettings::token_ceiling`.
    pub tokens_spent: i64,
    /// Number of attempts of the next step that failed.
    pub failed_attempts: u32,
    /// Tools that were permitted in the step before; `None` before the first.
    pub tools: Option<Vec<String>>,
    /// Time when a worker first started it; the time limit counts from then.
    pub started_at: Timestamp,
}

/// Change of a run by the worker that holds its claim. Its events are appended
/// with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunChange {
    /// Time of the change.
    pub at: Timestamp,
    /// Tokens of accepted work.
    pub tokens: i64,
    /// Tokens of work that is not accepted.
    pub abandoned: i64,
    /// Events that are appended to the assignment.
    pub events: Vec<NewEvent>,
    /// Outcome of the step.
    pub outcome: RunOutcome,
}

/// Outcome of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    /// Step ended, and another follows, which the same worker begins.
    Continued {
        /// Output of the step.
        output: String,
        /// Tools that were permitted in it.
        tools: Vec<String>,
    },
    /// Run ended with an artifact.
    Completed {
        /// Raw response of the model.
        artifact_json: String,
        /// Text of the response; `None` if it has none.
        artifact_text: Option<String>,
    },
    /// Run ended without one.
    Failed(RunFailure),
    /// Step is still executed: only events are appended.
    Progressed,
    /// Step is to be repeated by any worker.
    Released {
        /// Time from which it is due.
        due_at: Timestamp,
        /// Kind of the attempt that ends.
        attempt: Attempt,
    },
}

/// Kind of an attempt that is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// Attempt counts as failed.
    Failed,
    /// Attempt does not count: the model was busy, or the server stops.
    Postponed,
}

/// Failure of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFailure {
    /// Stable code, for programs.
    pub code: FailureCode,
    /// Text, for the user.
    pub message: String,
}

/// Stable codes of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureCode {
    /// Token ceiling is reached.
    TokenCeilingExceeded,
    /// Skill has more steps than are permitted.
    StepLimitExceeded,
    /// Wall clock ran out.
    WallClockExceeded,
    /// Model did not answer in time.
    UpstreamTimeout,
    /// Model did not answer, or refused.
    UpstreamFailed,
    /// Budget of the user or the group is used up.
    BudgetExceeded,
    /// User may not use models any more.
    NotPermitted,
    /// Pod does not advertise the skill that it was provisioned for.
    PodPlaneMismatch,
    /// Workflow engine did not start it.
    NotStarted,
    /// Administrator terminated it.
    Terminated,
}

impl FailureCode {
    /// Returns the code on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::TokenCeilingExceeded => "operator_token_ceiling_exceeded",
            Self::StepLimitExceeded => "operator_step_limit_exceeded",
            Self::WallClockExceeded => "operator_wall_clock_exceeded",
            Self::UpstreamTimeout => "operator_upstream_timeout",
            Self::UpstreamFailed => "operator_upstream_failed",
            Self::BudgetExceeded => "operator_budget_exceeded",
            Self::NotPermitted => "operator_not_permitted",
            Self::PodPlaneMismatch => "operator_pod_plane_mismatch",
            Self::NotStarted => "operator_not_started",
            Self::Terminated => "operator_terminated",
        }
    }
}
