//! Settings of assignments.

use std::time::Duration;

/// Settings of assignments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssignmentSettings {
    /// Maximum number of steps of a run; a skill with more fails at once.
    pub max_steps: u32,
    /// Maximum duration of a run, from its start.
    pub wall_clock: Duration,
    /// Maximum number of unfinished assignments of a user.
    pub max_per_user: u32,
    /// Maximum number of attempts of a step, without those at which the model was busy.
    pub max_attempts: u32,
    /// Maximum number of tokens of a run; each response is limited to what remains.
    pub token_ceiling: i64,
    /// Time that an assignment may wait before `Upkeep::reconcile` looks after it.
    pub queued_grace: Duration,
    /// Maximum number of times that it is started again.
    pub max_restarts: u32,
    /// Age at which an ended assignment is deleted.
    pub retention: Duration,
    /// Age at which the contents of an ended assignment are deleted.
    pub plaintext_retention: Duration,
}

impl Default for AssignmentSettings {
    fn default() -> Self {
        Self {
            max_steps: 8,
            wall_clock: Duration::from_mins(15),
            max_per_user: 2,
            max_attempts: 3,
            token_ceiling: 200_000,
            queued_grace: Duration::from_mins(5),
            max_restarts: 5,
            retention: Duration::from_hours(30 * 24),
            plaintext_retention: Duration::from_hours(72),
        }
    }
}
