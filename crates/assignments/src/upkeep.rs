//! Upkeep of assignments: time limits, lost starts, retention.

use std::sync::Arc;

use pia_kernel::{AssignmentId, Clock, LiveSetting, Unavailable};

use crate::assignments::stop;
use crate::event::{EventKind, NewEvent};
use crate::ports::engine::{StopMode, WorkflowEngine};
use crate::ports::run_store::RunStore;
use crate::run::{FailureCode, RunFailure};
use crate::settings::AssignmentSettings;

/// Maximum number of assignments that one pass changes at once.
const BATCH_SIZE: u32 = 500;

/// Upkeep of assignments. Any number of instances may run it at once.
#[derive(Clone)]
pub struct Upkeep {
    /// Store of the runs.
    pub store: Arc<dyn RunStore>,
    /// Engine that drives the runs.
    pub engine: Arc<dyn WorkflowEngine>,
    /// Settings.
    pub settings: LiveSetting<AssignmentSettings>,
    /// Clock.
    pub clock: Arc<dyn Clock>,
}

impl Upkeep {
    /// Ends the runs that take too long. Call it every second.
    pub async fn expire(&self) -> Result<(), Unavailable> {
        let now = self.clock.now();
        let settings = *self.settings.get();
        let failure = RunFailure {
            code: FailureCode::WallClockExceeded,
            message: "The assignment took longer than is permitted.".to_owned(),
        };
        let expired = self.store.expire(now - settings.wall_clock, failure, now).await?;
        for id in expired {
            stop(&*self.engine, id, StopMode::Terminate).await;
        }
        Ok(())
    }

    /// Starts assignments again whose start was lost, and gives up those that
    /// were started too often. Call it every minute.
    pub async fn reconcile(&self) -> Result<(), Unavailable> {
        let now = self.clock.now();
        let settings = *self.settings.get();
        let queued = self.store.queued_before(now - settings.queued_grace, BATCH_SIZE).await?;
        for (id, restarts) in queued {
            if self.engine.is_live(id).await? {
                continue;
            }
            if restarts >= settings.max_restarts {
                self.give_up(id).await?;
                continue;
            }

            self.store.count_restart(id).await?;

            if let Err(err) = self.engine.start(id).await {
                tracing::warn!(error = %err, assignment = %id, "a workflow could not be started");
            }
        }

        Ok(())
    }

    async fn give_up(&self, id: AssignmentId) -> Result<(), Unavailable> {
        let failure = RunFailure {
            code: FailureCode::NotStarted,
            message: "The assignment could not be started.".to_owned(),
        };
        self.store.give_up(id, failure, self.clock.now()).await?;
        Ok(())
    }

    /// Deletes contents and assignments whose time is over. Call it every
    /// minute.
    pub async fn clean_up(&self) -> Result<(), Unavailable> {
        let now = self.clock.now();
        let settings = *self.settings.get();
        let before = now - settings.plaintext_retention;
        let event =
            NewEvent::once(EventKind::Redacted, "The contents were deleted after their time.");
        while self.store.redact(before, now, event.clone(), BATCH_SIZE).await?
            == BATCH_SIZE as usize
        {}
        while self.store.delete(now - settings.retention, BATCH_SIZE).await? == BATCH_SIZE as usize
        {
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
