//! Upkeep of assignments: time limits, lost starts, retention. Every instance
//! calls the three methods; each change is guarded by the status, so that only
//! one of them applies it.

use std::sync::Arc;

use pia_kernel::{AssignmentId, Clock, LiveSetting, Timestamp, Unavailable};

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
    /// Time limits and retention.
    pub settings: LiveSetting<AssignmentSettings>,
    /// Clock by which they are measured.
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

        let expired_ids = self.store.expire(now - settings.wall_clock, failure, now).await?;
        for id in expired_ids {
            stop(&*self.engine, id, StopMode::Terminate).await;
        }
        Ok(())
    }

    /// Starts assignments again whose start was lost, and gives up those that
    /// were started too often. Call it every minute.
    pub async fn reconcile(&self) -> Result<(), Unavailable> {
        let now = self.clock.now();
        let settings = *self.settings.get();
        let overdue = self.store.queued_before(now - settings.queued_grace, BATCH_SIZE).await?;
        for assignment in overdue {
            if self.engine.is_live(assignment.id).await? {
                continue;
            }

            if assignment.restarts < settings.max_restarts {
                self.restart(assignment.id).await?;
            } else {
                self.give_up(assignment.id).await?;
            }
        }

        Ok(())
    }

    async fn restart(&self, id: AssignmentId) -> Result<(), Unavailable> {
        self.store.count_restart(id).await?;
        if let Err(err) = self.engine.start(id).await {
            tracing::warn!(error = %err, assignment = %id, "a workflow could not be started");
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
        self.redact(now - settings.plaintext_retention, now).await?;
        self.delete(now - settings.retention).await
    }

    /// Deletes the contents of all assignments that ended before this time.
    async fn redact(&self, ended_before: Timestamp, now: Timestamp) -> Result<(), Unavailable> {
        let event =
            NewEvent::once(EventKind::Redacted, "The contents were deleted after their time.");
        loop {
            let count = self.store.redact(ended_before, now, event.clone(), BATCH_SIZE).await?;
            if !is_full_batch(count) {
                return Ok(());
            }
        }
    }

    /// Deletes all assignments that ended before this time.
    async fn delete(&self, ended_before: Timestamp) -> Result<(), Unavailable> {
        loop {
            let count = self.store.delete(ended_before, BATCH_SIZE).await?;
            if !is_full_batch(count) {
                return Ok(());
            }
        }
    }
}

/// Returns whether more rows may follow a batch of this size.
fn is_full_batch(count: usize) -> bool {
    count == BATCH_SIZE as usize
}

#[cfg(test)]
mod tests;
