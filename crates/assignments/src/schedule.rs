//! Schedules of users: values only; `schedules.rs` has the use cases, and
//! `recurrence.rs` the times.

use pia_kernel::{AssignmentId, ScheduleId, Timestamp, UserId};

use crate::recurrence::{CatchUp, Recurrence};

/// Schedule: hands the same assignment over at recurring times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// Id of the schedule.
    pub id: ScheduleId,
    /// Name of the skill.
    pub skill: String,
    /// Input of each assignment, a JSON envelope; empty if it cannot be decrypted.
    pub input: String,
    /// Rule from which its times follow.
    pub recurrence: Recurrence,
    /// Rule for times when no server was running.
    pub catch_up: CatchUp,
    /// Next time; `None` while it is switched off, or if there is none.
    pub next_at: Option<Timestamp>,
    /// Outcome of the last time.
    pub last: Option<LastStart>,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Time of its last change by the user; starts do not change it.
    pub updated_at: Timestamp,
}

/// Schedule of any user, without its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleEntry {
    /// Id of the schedule.
    pub id: ScheduleId,
    /// User to whom it belongs.
    pub user: UserId,
    /// Name of the skill.
    pub skill: String,
    /// Cron expression of its times.
    pub cron: String,
    /// Id of the time zone.
    pub time_zone: String,
    /// Next time; `None` while it is switched off, or if there is none.
    pub next_at: Option<Timestamp>,
    /// Outcome of the last time.
    pub last: Option<LastStart>,
    /// Time of its creation.
    pub created_at: Timestamp,
}

/// Outcome of a time of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastStart {
    /// Time when the schedule was due, which is before its start.
    pub due_at: Timestamp,
    /// Assignment that was handed over, or the reason why none was.
    pub outcome: Result<AssignmentId, SkipReason>,
}

/// Reason why no assignment was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// No server was running, and the schedule does not catch up.
    Missed,
    /// User had as many unfinished assignments as are permitted.
    TooManyAssignments,
    /// Skill is not granted to the user any more.
    SkillNotGranted,
    /// Skill does not accept the input any more.
    InputRefused,
    /// Schedule could not be read, or its input not be decrypted.
    Unreadable,
}

impl SkipReason {
    const ALL: [Self; 5] = [
        Self::Missed,
        Self::TooManyAssignments,
        Self::SkillNotGranted,
        Self::InputRefused,
        Self::Unreadable,
    ];

    /// Returns the code by which it is stored and written.
    pub fn code(self) -> &'static str {
        match self {
            Self::Missed => "missed",
            Self::TooManyAssignments => "too_many_assignments",
            Self::SkillNotGranted => "skill_not_granted",
            Self::InputRefused => "input_refused",
            Self::Unreadable => "unreadable",
        }
    }

    /// Returns the reason with this code; `None` if a newer server stored another.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.code() == code)
    }
}
