//! Administration of assignments and operators, for the JSON API, the console and
//! the command line. Every change but `put_built_in` writes its entry of the
//! audit log in the same transaction. Webhooks of operators are in `webhooks.rs`.

use std::sync::Arc;

use pia_kernel::{
    AssignmentId, Clock, Cursor, GroupSelection, OperatorId, Page, PageRequest, SideEffects,
    TimeOrder, Timestamp, Unavailable, UserId, utf16_len,
};

use crate::assignment::Assignment;
use crate::assignments::stop;
use crate::built_in::built_in_operators;
use crate::error::{OperatorError, OperatorField};
use crate::event::{EventKind, NewEvent};
use crate::operator::Operator;
use crate::ports::assignment_store::{AssignmentStore, ForcedEnd};
use crate::ports::engine::{StopMode, WorkflowEngine};
use crate::ports::operator_store::{OperatorChangeOutcome, OperatorStore, OperatorUpdate};
use crate::ports::run_store::{QueueState, RunStore, Worker};
use crate::ports::schedule_store::ScheduleStore;
use crate::schedule::ScheduleEntry;
use crate::skill::Skill;
use crate::status::AssignmentStatus;
use crate::truncation::{MAX_ERROR_CHARS, truncated};

/// Maximum length of a name, in UTF-16 code units.
const MAX_NAME_CHARS: usize = 100;
/// Maximum number of steps of a skill.
const MAX_STEPS: usize = 50;
/// Maximum length of the instructions of a step, in UTF-16 code units.
const MAX_INSTRUCTIONS_CHARS: usize = 20_000;

/// Administration of assignments and operators. A user is `None` for the command
/// line.
#[derive(Clone)]
pub struct AssignmentAdministration {
    /// Store of the assignments.
    pub assignments: Arc<dyn AssignmentStore>,
    /// Store of the runs.
    pub runs: Arc<dyn RunStore>,
    /// Store of the schedules.
    pub schedules: Arc<dyn ScheduleStore>,
    /// Store of the operators.
    pub operators: Arc<dyn OperatorStore>,
    /// Engine that drives the runs.
    pub engine: Arc<dyn WorkflowEngine>,
    /// Clock that stamps events and changes.
    pub clock: Arc<dyn Clock>,
}

/// Operator to be created or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorDraft {
    /// Name that users see.
    pub name: String,
    /// False while nobody may use it; `None` keeps it, and is true for a new operator.
    pub is_active: Option<bool>,
    /// Skill; `None` keeps it.
    pub skill: Option<Skill>,
}

impl AssignmentAdministration {
    /// Lists assignments of all users, newest first, without error messages.
    pub async fn list(&self, skip: u32, limit: u32) -> Result<Vec<Assignment>, Unavailable> {
        self.assignments.list_all(skip, limit).await
    }

    /// Returns a page of the assignments of all users or of one, and with any or
    /// this status, in this order, without error messages.
    pub async fn page(
        &self,
        user: Option<UserId>,
        status: Option<AssignmentStatus>,
        order: TimeOrder,
        page: PageRequest,
    ) -> Result<Page<Assignment>, Unavailable> {
        self.assignments.page_of_all(user, status, order, page).await
    }

    /// Returns an assignment of any user, without its error message.
    pub async fn find(&self, id: AssignmentId) -> Result<Option<Assignment>, Unavailable> {
        self.assignments.find(id).await
    }

    /// Ends an unfinished assignment. Returns false if there is none.
    pub async fn terminate(
        &self,
        by: Option<UserId>,
        id: AssignmentId,
        reason: Option<&str>,
    ) -> Result<bool, Unavailable> {
        let terminated = NewEvent::once(EventKind::Terminated, "Terminated by an administrator.");
        let event = match reason.map(str::trim).filter(|it| !it.is_empty()) {
            Some(reason) => {
                NewEvent { message: truncated(reason, MAX_ERROR_CHARS), ..terminated }.by_other()
            }
            None => terminated,
        };

        let end = ForcedEnd { at: self.clock.now(), event };
        let effects = self.effects(by, format!("assignment:{id}"), "Assignment.Terminated");
        let is_terminated = self.assignments.terminate(id, end, effects).await?;
        if is_terminated {
            stop(&*self.engine, id, StopMode::Terminate).await;
        }

        Ok(is_terminated)
    }

    /// Lists the schedules of all users, or of one, newest first, without their inputs.
    pub async fn schedules(
        &self,
        user: Option<UserId>,
        page: PageRequest,
    ) -> Result<Page<ScheduleEntry>, Unavailable> {
        let entries = self.schedules.page(user, page.and_one_more()).await?;
        Ok(page.into_page(entries, |it| Cursor { at: it.created_at, id: it.id.0 }))
    }

    /// Returns the state of the queue.
    pub async fn queue(&self) -> Result<QueueState, Unavailable> {
        self.runs.count_queue().await
    }

    /// Lists the workers that are alive.
    pub async fn workers(&self) -> Result<Vec<Worker>, Unavailable> {
        self.runs.list_workers(self.clock.now()).await
    }

    /// Lists all operators, by name.
    pub async fn operators(&self) -> Result<Vec<Operator>, Unavailable> {
        self.operators.list().await
    }

    /// Stores the operators of the skills that the server ships. Call it at
    /// start.
    pub async fn put_built_in(&self) -> Result<(), Unavailable> {
        self.operators.put_built_in(built_in_operators(self.clock.now())).await
    }

    /// Creates an operator, which is granted to no group.
    pub async fn create(
        &self,
        by: Option<UserId>,
        draft: OperatorDraft,
    ) -> Result<Operator, OperatorError> {
        let no_skill = OperatorError::Invalid(OperatorField::Skill, "a skill is required");
        let skill = draft.skill.ok_or(no_skill)?;
        check_draft(&draft.name, Some(&skill))?;
        let id = OperatorId::generate();
        let updated_at = self.clock.now();
        let operator = Operator {
            id,
            name: draft.name,
            skill,
            is_custom: true,
            is_active: draft.is_active.unwrap_or(true),
            groups: Vec::new(),
            webhook_url: None,
            updated_at,
        };

        let effects = self.effects(by, object(id), "Operator.Created");
        check_outcome(self.operators.create(operator.clone(), effects).await?)?;

        Ok(operator)
    }

    /// Changes an operator. `expected` is the time of the last change that the caller read, if it
    /// must still be that.
    pub async fn update(
        &self,
        by: Option<UserId>,
        id: OperatorId,
        draft: OperatorDraft,
        expected: Option<Timestamp>,
    ) -> Result<(), OperatorError> {
        check_draft(&draft.name, draft.skill.as_ref())?;
        let OperatorDraft { name, is_active, skill } = draft;
        let update = OperatorUpdate { name, is_active, skill, at: self.clock.now(), expected };
        let effects = self.effects(by, object(id), "Operator.Updated");
        check_outcome(self.operators.update(id, update, effects).await?)
    }

    /// Grants an operator to the selected groups.
    pub async fn grant(
        &self,
        by: Option<UserId>,
        id: OperatorId,
        groups: GroupSelection,
    ) -> Result<(), OperatorError> {
        let effects = self.effects(by, object(id), "Operator.GroupsUpdated");
        check_outcome(self.operators.grant(id, groups, effects).await?)
    }

    /// Deletes an operator. Its assignments go on.
    pub async fn delete(&self, by: Option<UserId>, id: OperatorId) -> Result<(), OperatorError> {
        let effects = self.effects(by, object(id), "Operator.Deleted");
        check_outcome(self.operators.delete(id, effects).await?)
    }

    fn effects(&self, by: Option<UserId>, object: String, action: &'static str) -> SideEffects {
        SideEffects::of_object(self.clock.now(), by, object, action)
    }
}

pub(crate) fn object(id: OperatorId) -> String {
    format!("operator:{id}")
}

fn check_outcome(outcome: OperatorChangeOutcome) -> Result<(), OperatorError> {
    match outcome {
        OperatorChangeOutcome::Done => Ok(()),
        OperatorChangeOutcome::NotFound => Err(OperatorError::NotFound),
        OperatorChangeOutcome::Stale => Err(OperatorError::Stale),
        OperatorChangeOutcome::NameTaken => Err(OperatorError::NameTaken),
        OperatorChangeOutcome::UnknownGroup => Err(OperatorError::UnknownGroup),
        OperatorChangeOutcome::BuiltIn => Err(OperatorError::BuiltIn),
    }
}

fn check_draft(name: &str, skill: Option<&Skill>) -> Result<(), OperatorError> {
    let invalid = |field, rule| Err(OperatorError::Invalid(field, rule));
    if !is_name(name) {
        let rule = "the name must have 1 to 100 characters and no control characters";
        return invalid(OperatorField::Name, rule);
    }
    let Some(skill) = skill else { return Ok(()) };
    if !Skill::is_name(&skill.name) {
        let rule =
            "the skill's name must have 1 to 100 letters, digits, hyphens, dots and underscores";
        return invalid(OperatorField::Skill, rule);
    }
    if !(1..=MAX_STEPS).contains(&skill.steps.len()) {
        return invalid(OperatorField::Steps, "the skill must have 1 to 50 steps");
    }

    for (index, step) in skill.steps.iter().enumerate() {
        let has_title = is_name(&step.title);
        let has_instructions = !step.instructions.trim().is_empty()
            && utf16_len(&step.instructions) <= MAX_INSTRUCTIONS_CHARS;
        if !has_title || !has_instructions {
            let rule = "a step must have a title, and instructions of at most 20000 characters";
            let field = if has_title {
                OperatorField::StepInstructions(index)
            } else {
                OperatorField::StepTitle(index)
            };
            return invalid(field, rule);
        }
        if step.max_output.is_some_and(|it| it <= 0) {
            return invalid(OperatorField::StepOutput(index), "maxOutput must be positive");
        }
    }

    Ok(())
}

fn is_name(text: &str) -> bool {
    !text.trim().is_empty()
        && utf16_len(text) <= MAX_NAME_CHARS
        && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests;
