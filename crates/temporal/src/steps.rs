//! Steps of runs, as activities.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use pia_assignments::{Advance, Runs, WorkerId};
use pia_kernel::{AssignmentId, Unavailable};
use serde::{Deserialize, Serialize};
use temporalio_macros::activities;
use temporalio_sdk::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::time::interval;
use uuid::Uuid;

/// Interval of saying that a step is in progress.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(1);

/// Steps of runs by one worker.
pub(crate) struct Steps {
    pub(crate) runs: Runs,
    pub(crate) worker: WorkerId,
}

/// Progress of a run, as histories contain it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Progress {
    /// Next step can begin.
    Continue,
    /// Step is to be repeated after this time.
    Repeat(Duration),
    /// Run has ended.
    Ended,
}

#[activities]
impl Steps {
    /// Claims a run and executes its next step. Any worker that had claimed it
    /// changes nothing more.
    ///
    /// A step goes on when its workflow is cancelled or terminated, as its tokens
    /// are spent: the run has ended then, and counts them as abandoned.
    #[activity(name = "advance")]
    pub(crate) async fn advance(
        self: Arc<Self>,
        ctx: ActivityContext,
        assignment: Uuid,
    ) -> Result<Progress, ActivityError> {
        let id = AssignmentId(assignment);
        let advanced = tokio::select! {
            advanced = self.step(id) => advanced,
            never = beat(&ctx) => match never? {},
        };
        advanced.map_err(|err| {
            tracing::warn!(error = %err, assignment = %id, "a step could not be stored");
            // Temporal stores the text: it must not say more.
            ApplicationFailure::new("the step could not be stored").into()
        })
    }
}

impl Steps {
    async fn step(&self, id: AssignmentId) -> Result<Progress, Unavailable> {
        let Some(run) = self.runs.claim_one(id, self.worker).await? else {
            return Ok(Progress::Ended);
        };
        Ok(match self.runs.advance(run).await? {
            Advance::Continue(_) => Progress::Continue,
            Advance::Repeat(delay) => Progress::Repeat(delay),
            Advance::Ended => Progress::Ended,
        })
    }
}

/// Says that a step is in progress, until dropped.
async fn beat(ctx: &ActivityContext) -> Result<Infallible, ActivityError> {
    let mut tick = interval(HEARTBEAT);
    loop {
        tick.tick().await;
        ctx.record_heartbeat(()).await?;
    }
}
