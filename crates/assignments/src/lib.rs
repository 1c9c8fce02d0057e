//! Assignments: long tasks that users hand over and collect later.
//!
//! A run works on an assignment, step by step. The database holds its progress;
//! a workflow engine only decides when a worker advances it.
//!
//! An assignment enters by `assignments.rs` (a user) or `schedules.rs` (a time),
//! which both check the skill and the input by `granted_skill`. A worker claims
//! it and advances it by `runs.rs`, one step a call, through a `StepExecutor`.
//! `upkeep.rs` ends, starts again and deletes what workers leave. Begin with
//! `status.rs` and `runs.rs`.

mod administration;
mod assignment;
mod assignments;
mod built_in;
mod envelope;
mod error;
mod event;
#[cfg(test)]
mod fakes;
mod operator;
mod ports;
mod recurrence;
mod run;
mod runs;
mod schedule;
mod schedules;
mod settings;
mod skill;
mod status;
mod truncation;
mod upkeep;
mod webhook;
mod webhooks;

pub use administration::{AssignmentAdministration, OperatorDraft};
pub use assignment::{Assignment, AssignmentDetails};
pub use assignments::Assignments;
pub use built_in::built_in_skills;
pub use envelope::{EnvelopeError, InputEnvelope, InputItem};
pub use error::{EnqueueError, OperatorError, OperatorField, ScheduleError};
pub use event::{AssignmentEvent, EventKind, MessageAuthor, NewEvent, StepDetail};
pub use operator::Operator;
pub use ports::assignment_store::{
    AssignmentCreationOutcome, AssignmentStore, CollectionOutcome, ForcedEnd, NewAssignment,
};
pub use ports::engine::{StopMode, WorkflowEngine};
pub use ports::operator_store::{OperatorChangeOutcome, OperatorStore, OperatorUpdate};
pub use ports::run_store::{QueueState, QueuedAssignment, RunStore, Worker};
pub use ports::schedule_store::{
    DueSchedule, ScheduleCreationOutcome, ScheduleStart, ScheduleStartOutcome, ScheduleStore,
};
pub use ports::step_executor::{
    StepError, StepExecutor, StepHost, StepRequest, StepResponse, ToolCallRecord,
};
pub use ports::webhook_sender::{WebhookError, WebhookSender};
pub use ports::webhook_store::WebhookStore;
pub use recurrence::{CatchUp, Recurrence};
pub use run::{Attempt, FailureCode, Run, RunChange, RunClaim, RunFailure, RunOutcome, WorkerId};
pub use runs::{Advance, Runs, StepProgress, UserSteps};
pub use schedule::{LastStart, Schedule, ScheduleEntry, SkipReason};
pub use schedules::{ScheduleDraft, Schedules};
pub use settings::AssignmentSettings;
pub use skill::{EntityType, Skill, SkillMode, SkillStep};
pub use status::AssignmentStatus;
pub use truncation::{MAX_ERROR_CHARS, MAX_MESSAGE_CHARS, TRUNCATION_MARKER, truncated};
pub use upkeep::Upkeep;
pub use webhook::{ClaimedDelivery, Webhook, WebhookDelivery};
pub use webhooks::Webhooks;

#[cfg(any(test, feature = "mock"))]
pub use ports::{
    assignment_store::MockAssignmentStore, engine::MockWorkflowEngine,
    operator_store::MockOperatorStore, run_store::MockRunStore, schedule_store::MockScheduleStore,
    step_executor::MockStepExecutor, webhook_sender::MockWebhookSender,
    webhook_store::MockWebhookStore,
};
