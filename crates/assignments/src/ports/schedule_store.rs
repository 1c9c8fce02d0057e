//! Port of the stored schedules.
//!
//! Starting a schedule takes two calls: `find_due` returns its `due_at`, and `start`
//! names the same one. If the schedule was started, changed or deleted in between,
//! `start` stores nothing and returns `Lost`.

use async_trait::async_trait;
use pia_kernel::{AssignmentId, PageRequest, ScheduleId, Timestamp, Unavailable, UserId};

use crate::ports::assignment_store::NewAssignment;
use crate::recurrence::{CatchUp, Recurrence};
use crate::schedule::{Schedule, ScheduleEntry, SkipReason};

/// Store of schedules. Their inputs are sealed under the user's key.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ScheduleStore: Send + Sync {
    /// Lists the schedules of a user, oldest first.
    async fn list(&self, user: UserId) -> Result<Vec<Schedule>, Unavailable>;

    /// Returns a page of the schedules of all users, or of one, newest first, whether or
    /// not they can be read.
    async fn page(
        &self,
        user: Option<UserId>,
        page: PageRequest,
    ) -> Result<Vec<ScheduleEntry>, Unavailable>;

    /// Stores a schedule. Returns `TooMany` if the user already has `max`, even with
    /// concurrent calls.
    async fn create(
        &self,
        user: UserId,
        schedule: Schedule,
        max: u32,
    ) -> Result<ScheduleCreationOutcome, Unavailable>;

    /// Replaces a schedule of a user, except for its time of creation and its last
    /// outcome. Returns the stored schedule; `None` if it does not exist.
    async fn update(
        &self,
        user: UserId,
        schedule: Schedule,
    ) -> Result<Option<Schedule>, Unavailable>;

    /// Deletes a schedule of a user. Returns false if there is none.
    async fn delete(&self, user: UserId, id: ScheduleId) -> Result<bool, Unavailable>;

    /// Lists up to `limit` schedules of all users that are due at `now`, the longest
    /// due first.
    async fn find_due(&self, now: Timestamp, limit: u32) -> Result<Vec<DueSchedule>, Unavailable>;

    /// Stores the next time, the outcome and the assignment of a schedule in one
    /// transaction. Of several processes, one succeeds and the others get `Lost`. If
    /// the user already has `max_unfinished` unfinished assignments, stores none and
    /// returns `Skipped`.
    async fn start(
        &self,
        start: ScheduleStart,
        max_unfinished: u32,
    ) -> Result<ScheduleStartOutcome, Unavailable>;
}

/// Outcome of creating a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleCreationOutcome {
    /// Schedule is stored.
    Done,
    /// User has the maximum number of schedules.
    TooMany,
    /// Account no longer exists.
    Gone,
}

/// Schedule that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueSchedule {
    /// Id of the schedule.
    pub id: ScheduleId,
    /// Owner of the schedule and of the new assignment.
    pub user: UserId,
    /// Name of the skill.
    pub skill: String,
    /// Input, a JSON envelope; `None` if it cannot be decrypted.
    pub input: Option<String>,
    /// Rule that determines the next time.
    pub recurrence: Recurrence,
    /// Rule for times when no server was running.
    pub catch_up: CatchUp,
    /// Time when the assignment is due; `start` names it.
    pub due_at: Timestamp,
}

/// Start of a due schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleStart {
    /// Id of the schedule.
    pub schedule: ScheduleId,
    /// `due_at` of the [`DueSchedule`].
    pub due_at: Timestamp,
    /// Time when the schedule is due next; `None` if it never is again.
    pub next_at: Option<Timestamp>,
    /// Assignment to be stored, or the reason why there is none.
    pub assignment: Result<NewAssignment, SkipReason>,
}

/// Outcome of starting a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleStartOutcome {
    /// Assignment is stored.
    Done(AssignmentId),
    /// No assignment is stored, for the reason that the schedule records.
    Skipped,
    /// Schedule was started by another process, changed or deleted, or its account was.
    Lost,
}
