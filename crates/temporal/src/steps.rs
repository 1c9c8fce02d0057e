//! Steps of runs, as activities: the part of a workflow that has effects. An
//! activity claims the run anew for each step, since Temporal may give each step
//! to another worker; the fence of the claim decides which attempt is stored.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pia_assignments::{Advance, Runs, WorkerId};
use pia_kernel::{AssignmentId, Unavailable};
use serde::{Deserialize, Serialize};
use temporalio_macros::activities;
use temporalio_sdk::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::time::interval;
use uuid::Uuid;

/// Interval of heartbeats of a step.
pub(crate) const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);

/// Steps of runs by one worker.
pub(crate) struct Steps {
    runs: Runs,
    worker: WorkerId,
    /// Runs whose step is in progress.
    in_progress: Mutex<HashSet<AssignmentId>>,
}

/// Step in progress, until dropped.
struct StepInProgress<'a> {
    steps: &'a Steps,
    id: AssignmentId,
}

/// Reasons why a step is scheduled again.
enum StepFailure {
    /// Previous attempt is still in progress: the server did not get the
    /// heartbeats of it.
    InProgress,
    /// Step could not be stored.
    Unavailable(Unavailable),
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
    /// A step of a model goes on when its workflow is cancelled or terminated, as its own
    /// tokens are spent: the run has ended then, and counts the tokens as abandoned.
    #[activity(name = "advance")]
    pub(crate) async fn advance(
        self: Arc<Self>,
        ctx: ActivityContext,
        assignment: Uuid,
    ) -> Result<Progress, ActivityError> {
        let id = AssignmentId(assignment);
        let outcome = tokio::select! {
            outcome = self.step(id) => outcome,
            never = send_heartbeats(&ctx) => match never? {},
        };

        // Temporal stores the text, which must not say more.
        outcome.map_err(|err| match err {
            StepFailure::InProgress => {
                ApplicationFailure::new("the step is still in progress").into()
            }
            StepFailure::Unavailable(err) => {
                tracing::warn!(error = %err, assignment = %id, "a step could not be stored");
                ApplicationFailure::new("the step could not be stored").into()
            }
        })
    }
}

impl Steps {
    /// Creates the steps of a worker.
    pub(crate) fn new(runs: Runs, worker: WorkerId) -> Self {
        Self { runs, worker, in_progress: Mutex::default() }
    }

    async fn step(&self, id: AssignmentId) -> Result<Progress, StepFailure> {
        let _in_progress = self.begin(id).ok_or(StepFailure::InProgress)?;
        let Some(run) = self.runs.claim_one(id, self.worker).await? else {
            return Ok(Progress::Ended);
        };
        Ok(match self.runs.advance(run).await? {
            Advance::Continue(_) => Progress::Continue,
            Advance::Repeat(delay) => Progress::Repeat(delay),
            Advance::Ended => Progress::Ended,
        })
    }

    /// Begins a step; `None` if one of the same run is in progress.
    fn begin(&self, id: AssignmentId) -> Option<StepInProgress<'_>> {
        let mut in_progress = self.in_progress.lock().unwrap_or_else(PoisonError::into_inner);
        in_progress.insert(id).then(|| StepInProgress { steps: self, id })
    }
}

impl Drop for StepInProgress<'_> {
    fn drop(&mut self) {
        let in_progress = self.steps.in_progress.lock();
        in_progress.unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

impl From<Unavailable> for StepFailure {
    fn from(err: Unavailable) -> Self {
        Self::Unavailable(err)
    }
}

/// Sends heartbeats of a step until dropped.
async fn send_heartbeats(ctx: &ActivityContext) -> Result<Infallible, ActivityError> {
    let mut tick = interval(HEARTBEAT_INTERVAL);
    loop {
        tick.tick().await;
        ctx.record_heartbeat(()).await?;
    }
}
