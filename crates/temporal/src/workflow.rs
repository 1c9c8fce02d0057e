//! Workflow of an assignment.
//!
//! Histories that a server stores are replayed by this code: its commands and
//! their order must not change, except behind `patched`.

use std::time::Duration;

use temporalio_client::RetryPolicy;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityExecutionError, ActivityOptions, ContinueAsNewOptions, TimerResult, WorkflowContext,
    WorkflowResult, WorkflowTermination,
};
use uuid::Uuid;

use crate::steps::{Progress, Steps};

/// Maximum number of rounds before the workflow continues with an empty history.
const MAX_ROUNDS: u32 = 30;
/// Time after which a step has failed. Runs have a time limit of their own.
const STEP_TIMEOUT: Duration = Duration::from_hours(1);
/// Time without a heartbeat after which a worker counts as lost.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(4);
/// Delay before the first repetition of a step whose worker or database failed;
/// each further one is twice as long.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Maximum delay before such a repetition.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

/// Workflow of an assignment: advances its run until it has ended.
#[workflow]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AssignmentWorkflow;

#[workflow_methods]
impl AssignmentWorkflow {
    /// Advances the run of an assignment.
    #[run(name = "assignment")]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        assignment: Uuid,
    ) -> WorkflowResult<()> {
        for _ in 0..MAX_ROUNDS {
            let outcome = ctx.execute_activity(Steps::advance, assignment, step_options()).await;
            match outcome {
                Ok(Progress::Continue) => {}
                Ok(Progress::Repeat(delay)) => {
                    if ctx.timer(delay).await == TimerResult::Cancelled {
                        return Err(WorkflowTermination::cancelled());
                    }
                }
                Ok(Progress::Ended) => return Ok(()),
                Err(ActivityExecutionError::Cancelled(_)) => {
                    return Err(WorkflowTermination::cancelled());
                }
                Err(err) => return Err(err.into()),
            }
        }

        match ctx.continue_as_new(assignment, ContinueAsNewOptions::default())? {}
    }
}

/// Returns the options of a step. Attempts that failed at the model are counted
/// by the run itself.
fn step_options() -> ActivityOptions {
    let retry = RetryPolicy::builder()
        .initial_interval(FIRST_RETRY_DELAY)
        .maximum_interval(MAX_RETRY_DELAY);
    ActivityOptions::with_start_to_close_timeout(STEP_TIMEOUT)
        .heartbeat_timeout(HEARTBEAT_TIMEOUT)
        .retry_policy(retry.build())
        .build()
}

#[cfg(test)]
mod tests;
