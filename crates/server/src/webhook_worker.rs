//! Delivery of webhooks while the server runs.
//!
//! One loop begins and ends attempts; at most one attempt for each operator is in
//! progress, so `claim` leaves out the operators that are busy.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use pia_assignments::Webhooks;
use pia_kernel::{OperatorId, Unavailable};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::assignment_worker::{log, repeat};

/// Interval of looking for deliveries that are due, one read of an index.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of deleting old deliveries.
const CLEAN_UP_INTERVAL: Duration = Duration::from_hours(1);
/// Maximum number of deliveries that an instance attempts at once, each of another
/// operator.
const CONCURRENCY: usize = 16;

/// Deliveries in progress: a receiver that does not answer delays those of its own
/// operator only.
struct Attempts<'a> {
    webhooks: &'a Webhooks,
    /// Operators whose deliveries are in progress.
    busy: Vec<OperatorId>,
    running: FuturesUnordered<BoxFuture<'a, EndedAttempt>>,
}

/// Attempt that has ended.
struct EndedAttempt {
    operator: OperatorId,
    /// Error if the outcome could not be stored.
    outcome: Result<(), Unavailable>,
}

/// Starts the delivery of webhooks, which ends when stopped. Every instance runs
/// it; each delivery is attempted by one instance.
pub(crate) fn start_webhooks(webhooks: &Webhooks, tasks: &TaskTracker, stop: &CancellationToken) {
    let worker_webhooks = webhooks.clone();
    let stopped = stop.clone();
    tasks.spawn(async move { deliver(&worker_webhooks, &stopped).await });
    let webhooks = webhooks.clone();
    let stop = stop.clone();
    tasks.spawn(async move {
        repeat(CLEAN_UP_INTERVAL, stop, || async {
            log(webhooks.clean_up().await, "old deliveries could not be deleted");
        })
        .await;
    });
}

/// Attempts deliveries until stopped, and then ends those in progress.
async fn deliver(webhooks: &Webhooks, stop: &CancellationToken) {
    let mut attempts = Attempts { webhooks, busy: Vec::new(), running: FuturesUnordered::new() };
    let mut tick = interval(POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);

    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(attempt) = attempts.running.next() => attempts.end(attempt),
            _ = tick.tick() => {}
        }
        log(attempts.begin().await, "webhooks could not be delivered");
    }

    while let Some(attempt) = attempts.running.next().await {
        attempts.end(attempt);
    }
}

impl Attempts<'_> {
    /// Begins as many attempts as are due and permitted.
    async fn begin(&mut self) -> Result<(), Unavailable> {
        let webhooks = self.webhooks;
        while self.busy.len() < CONCURRENCY
            && let Some(claimed) = webhooks.claim(&self.busy).await?
        {
            let operator = claimed.operator;
            self.busy.push(operator);
            let attempt =
                async move { EndedAttempt { operator, outcome: webhooks.attempt(claimed).await } };
            self.running.push(attempt.boxed());
        }
        Ok(())
    }

    fn end(&mut self, attempt: EndedAttempt) {
        self.busy.retain(|it| *it != attempt.operator);
        log(attempt.outcome, "a delivery could not be stored");
    }
}
