//! Assignments of a user: handing over, reading, cancelling and collecting.
//!
//! The order matters in both directions. `enqueue` stores the assignment before
//! it starts the workflow, since a workflow without a row ends at once. `cancel`
//! ends the row before it stops the workflow: the row decides, and a stop that
//! fails has no consequence.

use std::sync::Arc;

use pia_kernel::{AssignmentId, Clock, LiveSetting, Unavailable, UserId};

use crate::assignment::{Assignment, AssignmentDetails};
use crate::envelope::InputEnvelope;
use crate::error::EnqueueError;
use crate::event::{EventKind, NewEvent};
use crate::operator::Operator;
use crate::ports::assignment_store::{
    AssignmentCreationOutcome, AssignmentStore, CollectionOutcome, ForcedEnd, NewAssignment,
};
use crate::ports::engine::{StopMode, WorkflowEngine};
use crate::ports::operator_store::OperatorStore;
use crate::settings::AssignmentSettings;
use crate::skill::Skill;

/// Assignments of a user.
#[derive(Clone)]
pub struct Assignments {
    /// Store of the assignments.
    pub store: Arc<dyn AssignmentStore>,
    /// Store of the operators.
    pub operators: Arc<dyn OperatorStore>,
    /// Engine that drives the runs.
    pub engine: Arc<dyn WorkflowEngine>,
    /// Limit of unfinished assignments for each user.
    pub settings: LiveSetting<AssignmentSettings>,
    /// Clock that stamps events and changes.
    pub clock: Arc<dyn Clock>,
}

impl Assignments {
    /// Lists the operators that a user may hand assignments to.
    pub async fn operators(&self, user: UserId) -> Result<Vec<Operator>, Unavailable> {
        self.operators.list_granted(user).await
    }

    /// Accepts an assignment: `skill` is the name of a granted skill in any case,
    /// `input` a JSON envelope.
    pub async fn enqueue(
        &self,
        user: UserId,
        skill: &str,
        input: String,
    ) -> Result<AssignmentId, EnqueueError> {
        let skill = granted_skill(&*self.operators, user, skill, &input).await?;
        let assignment = NewAssignment::new(user, skill, input, self.clock.now());
        let id = assignment.id;

        match self.store.create(assignment, self.settings.get().max_per_user).await? {
            AssignmentCreationOutcome::Done => {}
            AssignmentCreationOutcome::TooMany => return Err(EnqueueError::TooMany),
            AssignmentCreationOutcome::Gone => return Err(EnqueueError::Gone),
        }

        if let Err(err) = self.engine.start(id).await {
            // If the workflow was started nevertheless, it ends, since it finds
            // nothing to run.
            self.store.discard(id).await?;
            return Err(EnqueueError::NotStarted(err));
        }

        Ok(id)
    }

    /// Lists assignments of a user, newest first.
    pub async fn list(
        &self,
        user: UserId,
        skip: u32,
        limit: u32,
    ) -> Result<Vec<Assignment>, Unavailable> {
        self.store.list(user, skip, limit).await
    }

    /// Loads an assignment of a user with its events; `None` if it does not exist or
    /// belongs to someone else.
    pub async fn load(
        &self,
        user: UserId,
        id: AssignmentId,
    ) -> Result<Option<AssignmentDetails>, Unavailable> {
        self.store.load(user, id).await
    }

    /// Cancels an unfinished assignment of a user. Returns false if there is
    /// none. A step that is in progress is not accepted any more.
    pub async fn cancel(&self, user: UserId, id: AssignmentId) -> Result<bool, Unavailable> {
        let event = NewEvent::once(EventKind::Cancelled, "Cancelled.");
        let end = ForcedEnd { at: self.clock.now(), event };
        let is_cancelled = self.store.cancel(user, id, end).await?;
        if is_cancelled {
            stop(&*self.engine, id, StopMode::Cancel).await;
        }
        Ok(is_cancelled)
    }

    /// Deletes the contents of an ended assignment from the server.
    pub async fn collect(
        &self,
        user: UserId,
        id: AssignmentId,
    ) -> Result<CollectionOutcome, Unavailable> {
        let event = NewEvent::once(EventKind::Redacted, "The contents were deleted.");
        let end = ForcedEnd { at: self.clock.now(), event };
        self.store.collect(user, id, end).await
    }
}

/// Returns the skill of this name, in any case, if it is granted to the user and
/// accepts the input.
pub(crate) async fn granted_skill(
    operators: &dyn OperatorStore,
    user: UserId,
    name: &str,
    input: &str,
) -> Result<Skill, EnqueueError> {
    let envelope = InputEnvelope::parse(input)?;
    let skill = operators
        .list_granted(user)
        .await?
        .into_iter()
        .map(|it| it.skill)
        .find(|it| it.name.eq_ignore_ascii_case(name))
        .ok_or(EnqueueError::SkillNotGranted)?;
    envelope.check_types(&skill.declared_input_types)?;
    Ok(skill)
}
/// Stops a workflow that has nothing to do any more. If the stop fails, the
/// workflow ends when it finds nothing to run.
pub(crate) async fn stop(engine: &dyn WorkflowEngine, id: AssignmentId, mode: StopMode) {
    if let Err(err) = engine.stop(id, mode).await {
        tracing::warn!(error = %err, assignment = %id, "a workflow could not be stopped");
    }
}

#[cfg(test)]
mod tests;
