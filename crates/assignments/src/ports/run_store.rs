//! Store of assignments, as workers and timers use it. A worker calls
//! `keep_alive` while it works and `retire` at its end; once its lease has ended,
//! others claim its runs.

use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::{AssignmentId, Timestamp, Unavailable};

use crate::event::NewEvent;
use crate::run::{Run, RunChange, RunClaim, RunFailure, WorkerId};

/// Time that an assignment may wait before it needs attention.
const MAX_DELAY: Duration = Duration::from_mins(10);

/// Store of assignments for workers and timers.
///
/// Every change with a claim verifies in its transaction that the claim is valid and
/// the assignment is `Running`, and returns false otherwise.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait RunStore: Send + Sync {
    /// Records that a worker is alive until `now` plus `lease`, and removes workers
    /// whose lease is over. Their runs can be claimed by others. `host` is stored
    /// with the first call of a worker.
    async fn keep_alive(
        &self,
        worker: WorkerId,
        host: &str,
        now: Timestamp,
        lease: Duration,
    ) -> Result<(), Unavailable>;

    /// Removes a worker, whose runs can be claimed at once.
    async fn retire(&self, worker: WorkerId) -> Result<(), Unavailable>;

    /// Claims the assignment that has been due longest and that no live worker
    /// holds. A `Queued` assignment becomes `Running` with the event `started`.
    /// Concurrent callers never claim the same assignment.
    async fn claim(
        &self,
        worker: WorkerId,
        now: Timestamp,
        started: NewEvent,
    ) -> Result<Option<Run>, Unavailable>;

    /// Claims an assignment, due or not, if it has not ended. Its previous worker
    /// loses it.
    async fn claim_one(
        &self,
        id: AssignmentId,
        worker: WorkerId,
        now: Timestamp,
        started: NewEvent,
    ) -> Result<Option<Run>, Unavailable>;

    /// Returns whether a claim is valid and its assignment is `Running`. A claim that
    /// was lost is never valid again.
    async fn holds(&self, claim: RunClaim) -> Result<bool, Unavailable>;

    /// Stores the events, tokens and outcome of a run. Returns false, and stores
    /// nothing, if the claim is lost.
    async fn change(&self, claim: RunClaim, change: RunChange) -> Result<bool, Unavailable>;

    /// Adds tokens of work that was not accepted to an assignment of any status.
    async fn abandon(&self, id: AssignmentId, tokens: i64) -> Result<(), Unavailable>;

    /// Makes unfinished runs `Failed` that started before `started_before`. Returns
    /// their ids.
    async fn expire(
        &self,
        started_before: Timestamp,
        failure: RunFailure,
        now: Timestamp,
    ) -> Result<Vec<AssignmentId>, Unavailable>;

    /// Lists up to `limit` assignments that have been `Queued` since before this
    /// time, the longest waiting first.
    async fn queued_before(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<QueuedAssignment>, Unavailable>;

    /// Counts a restart of an assignment that is `Queued`.
    async fn count_restart(&self, id: AssignmentId) -> Result<(), Unavailable>;

    /// Makes a `Queued` assignment `Failed`. Returns false if the assignment has
    /// another status or does not exist.
    async fn give_up(
        &self,
        id: AssignmentId,
        failure: RunFailure,
        now: Timestamp,
    ) -> Result<bool, Unavailable>;

    /// Deletes the contents of up to `limit` assignments that ended before this
    /// time, as collecting does. Returns their number.
    async fn redact(
        &self,
        ended_before: Timestamp,
        now: Timestamp,
        event: NewEvent,
        limit: u32,
    ) -> Result<usize, Unavailable>;

    /// Deletes up to `limit` assignments that ended before this time, with their
    /// events. Returns their number.
    async fn delete(&self, ended_before: Timestamp, limit: u32) -> Result<usize, Unavailable>;

    /// Counts the assignments that wait and that run.
    async fn count_queue(&self) -> Result<QueueState, Unavailable>;

    /// Lists the workers that are alive.
    async fn list_workers(&self, now: Timestamp) -> Result<Vec<Worker>, Unavailable>;
}

/// Worker, as administrators see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// Id of the worker's process.
    pub id: WorkerId,
    /// Name of its machine, as at its first `keep_alive`.
    pub host: String,
    /// Time of its start.
    pub started_at: Timestamp,
    /// End of its lease, after which others claim its runs.
    pub alive_until: Timestamp,
    /// Number of runs that it holds.
    pub runs: i64,
}

/// Queue, as administrators see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueState {
    /// Number of assignments that wait.
    pub queued: i64,
    /// Number of assignments that run, those that wait for a repetition included.
    pub running: i64,
    /// Time when the oldest waiting assignment was handed over.
    pub oldest_queued_at: Option<Timestamp>,
}

impl QueueState {
    /// Returns whether an assignment has waited for more than ten minutes.
    pub fn is_delayed(&self, now: Timestamp) -> bool {
        self.oldest_queued_at.is_some_and(|it| it + MAX_DELAY < now)
    }
}

/// Assignment that waits for its first worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuedAssignment {
    /// Id of the assignment.
    pub id: AssignmentId,
    /// Number of times that its workflow was started again.
    pub restarts: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_delayed_when_its_oldest_has_waited_for_ten_minutes() {
        let now = Timestamp::from_micros(2_000_000_000_000_000);
        let waiting_since =
            |oldest| QueueState { oldest_queued_at: oldest, ..QueueState::default() };

        assert!(!waiting_since(None).is_delayed(now));
        assert!(!waiting_since(Some(now - MAX_DELAY)).is_delayed(now));
        assert!(waiting_since(Some(now - MAX_DELAY - Duration::from_secs(1))).is_delayed(now));
    }
}
