//! Store of schedules. `find_due` and `start` are one protocol: a start names the
//! time that `find_due` returned, and is lost if the schedule is due at another
//! by then.

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

    /// Stores a schedule, unless the user has `max`. However many are created at
    /// once, the limit holds.
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

    /// Lists up to `limit` schedules of all users whose time has come, the longest
    /// due first.
    async fn find_due(&self, now: Timestamp, limit: u32) -> Result<Vec<DueSchedule>, Unavailable>;

    /// Stores the next time, the outcome and the assignment of a schedule in one
    /// transaction, if it is still due at the same time. If several processes start
    /// it at once, one succeeds. No assignment is stored if the user has
    /// `max_unfinished`.
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
    /// User has as many schedules as are permitted.
    TooMany,
    /// Account no longer exists.
    Gone,
}

/// Schedule whose time has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueSchedule {
    /// Id of the schedule.
    pub id: ScheduleId,
    /// User for whom the assignment is handed over.
    pub user: UserId,
    /// Name of the skill.
    pub skill: String,
    /// Input, a JSON envelope; `None` if it cannot be decrypted.
    pub input: Option<String>,
    /// Rule from which the next time follows.
    pub recurrence: Recurrence,
    /// Rule for times at which no server was running.
    pub catch_up: CatchUp,
    /// Time that has come, by which the start is guarded.
    pub due_at: Timestamp,
}

/// Start of a due schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleStart {
    /// Id of the schedule.
    pub schedule: ScheduleId,
    /// Time that has come. The start is lost if the schedule is due at another.
    pub due_at: Timestamp,
    /// Time at which it is due next; `None` if it never is again.
    pub next_at: Option<Timestamp>,
    /// Assignment that is handed over, or the reason why none is.
    pub assignment: Result<NewAssignment, SkipReason>,
}

/// Outcome of starting a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleStartOutcome {
    /// Assignment is stored.
    Done(AssignmentId),
    /// No assignment is stored, for the reason that the schedule records.
    Skipped,
    /// Schedule was started by another process, changed or deleted meanwhile.
    Lost,
}
