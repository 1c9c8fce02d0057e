//! Schedules: assignments that are handed over at recurring times.
//!
//! Every instance calls `start_due`. The store accepts a start only if the
//! schedule is still due at the same time, and writes the next time with the
//! assignment, so that a time is started at most once. However many times were
//! missed, the next one is computed from now.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, LiveSetting, ScheduleId, Timestamp, Unavailable, UserId};

use crate::assignments::granted_skill;
use crate::envelope::InputEnvelope;
use crate::error::{EnqueueError, ScheduleError};
use crate::ports::assignment_store::NewAssignment;
use crate::ports::engine::WorkflowEngine;
use crate::ports::operator_store::OperatorStore;
use crate::ports::schedule_store::{
    DueSchedule, ScheduleCreationOutcome, ScheduleStart, ScheduleStartOutcome, ScheduleStore,
};
use crate::recurrence::{CatchUp, Recurrence};
use crate::schedule::{Schedule, SkipReason};
use crate::settings::AssignmentSettings;

/// Maximum number of schedules of a user.
const MAX_SCHEDULES: u32 = 20;
/// Time after which a start is late enough to have been missed.
const START_GRACE: Duration = Duration::from_mins(5);
/// Maximum number of schedules that one call starts.
const MAX_STARTS: u32 = 500;

/// Schedules of users.
#[derive(Clone)]
pub struct Schedules {
    /// Store of the schedules.
    pub store: Arc<dyn ScheduleStore>,
    /// Store of the operators.
    pub operators: Arc<dyn OperatorStore>,
    /// Engine that drives the runs.
    pub engine: Arc<dyn WorkflowEngine>,
    /// Limit of unfinished assignments for each user.
    pub settings: LiveSetting<AssignmentSettings>,
    /// Clock by which schedules are due.
    pub clock: Arc<dyn Clock>,
}

/// Fields of a schedule that its user writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleDraft {
    /// Name of a granted skill, in any case.
    pub skill: String,
    /// Input of each assignment, a JSON envelope.
    pub input: String,
    /// Cron expression of five fields.
    pub cron: String,
    /// Id of the time zone.
    pub time_zone: String,
    /// Rule for missed times.
    pub catch_up: CatchUp,
    /// False while nothing is handed over.
    pub is_active: bool,
}

impl Schedules {
    /// Lists the schedules of a user, oldest first.
    pub async fn list(&self, user: UserId) -> Result<Vec<Schedule>, Unavailable> {
        self.store.list(user).await
    }

    /// Creates a schedule.
    pub async fn create(
        &self,
        user: UserId,
        draft: ScheduleDraft,
    ) -> Result<Schedule, ScheduleError> {
        let schedule = self.schedule(user, ScheduleId::generate(), draft).await?;
        match self.store.create(user, schedule.clone(), MAX_SCHEDULES).await? {
            ScheduleCreationOutcome::Done => Ok(schedule),
            ScheduleCreationOutcome::TooMany => Err(ScheduleError::TooMany),
            ScheduleCreationOutcome::Gone => Err(ScheduleError::NotFound),
        }
    }

    /// Replaces a schedule.
    pub async fn update(
        &self,
        user: UserId,
        id: ScheduleId,
        draft: ScheduleDraft,
    ) -> Result<Schedule, ScheduleError> {
        let schedule = self.schedule(user, id, draft).await?;
        self.store.update(user, schedule).await?.ok_or(ScheduleError::NotFound)
    }

    /// Deletes a schedule. Returns false if there is none. Assignments that were
    /// handed over go on.
    pub async fn delete(&self, user: UserId, id: ScheduleId) -> Result<bool, Unavailable> {
        self.store.delete(user, id).await
    }

    /// Checks a draft, and returns the schedule that it describes.
    async fn schedule(
        &self,
        user: UserId,
        id: ScheduleId,
        draft: ScheduleDraft,
    ) -> Result<Schedule, ScheduleError> {
        let ScheduleDraft { skill, input, cron, time_zone, catch_up, is_active } = draft;
        let recurrence = Recurrence::parse(&cron, &time_zone)?;

        let skill = if is_active {
            granted_skill(&*self.operators, user, &skill, &input).await?.name
        } else {
            // One whose skill is not granted any more can still be switched off.
            InputEnvelope::parse(&input).map_err(EnqueueError::from)?;
            skill.to_lowercase()
        };

        let now = self.clock.now();
        let next_at = recurrence.next_after(now).ok_or(ScheduleError::NoTime)?;

        Ok(Schedule {
            id,
            skill,
            input,
            recurrence,
            catch_up,
            next_at: is_active.then_some(next_at),
            last: None,
            created_at: now,
            updated_at: now,
        })
    }

    /// Hands over the assignments of the schedules whose time has come. Any number
    /// of instances may do so at once. One that fails is repeated by the next call,
    /// and delays no other.
    pub async fn start_due(&self) -> Result<(), Unavailable> {
        let now = self.clock.now();
        let mut is_engine_available = true;
        for due in self.store.find_due(now, MAX_STARTS).await? {
            let schedule = due.id;
            let outcome = match self.start_one(due, now).await {
                Ok(outcome) => outcome,
                Err(err) => {
                    tracing::warn!(error = %err, %schedule, "a schedule could not be started");
                    continue;
                }
            };
            let ScheduleStartOutcome::Done(id) = outcome else { continue };

            // Each call may wait for an engine that is down; reconciling starts the
            // others.
            if is_engine_available && let Err(err) = self.engine.start(id).await {
                tracing::warn!(error = %err, assignment = %id, "a workflow could not be started");
                is_engine_available = false;
            }
        }

        Ok(())
    }

    async fn start_one(
        &self,
        due: DueSchedule,
        now: Timestamp,
    ) -> Result<ScheduleStartOutcome, Unavailable> {
        let schedule = due.id;
        let due_at = due.due_at;
        let next_at = due.recurrence.next_after(now);
        let assignment = self.assignment(due, now).await?;
        let start = ScheduleStart { schedule, due_at, next_at, assignment };
        self.store.start(start, self.settings.get().max_per_user).await
    }

    /// Returns the assignment of a due schedule, or the reason why there is none.
    async fn assignment(
        &self,
        due: DueSchedule,
        now: Timestamp,
    ) -> Result<Result<NewAssignment, SkipReason>, Unavailable> {
        if due.catch_up == CatchUp::Skip && due.due_at + START_GRACE < now {
            return Ok(Err(SkipReason::Missed));
        }
        let Some(input) = due.input else { return Ok(Err(SkipReason::Unreadable)) };
        match granted_skill(&*self.operators, due.user, &due.skill, &input).await {
            Ok(skill) => Ok(Ok(NewAssignment::new(due.user, skill, input, now))),
            Err(EnqueueError::Unavailable(err)) => Err(err),
            Err(EnqueueError::Envelope(_)) => Ok(Err(SkipReason::InputRefused)),
            Err(_) => Ok(Err(SkipReason::SkillNotGranted)),
        }
    }
}

#[cfg(test)]
mod tests;
