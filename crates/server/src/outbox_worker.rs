//! Delivery of the outbox while the server runs.
//!
//! Claims, retries and their delays are decided by `OutboxSender` of `outbox`; here
//! are only the polling, the concurrency and the shutdown.

use std::ops::ControlFlow;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{LiveSetting, Unavailable};
use pia_outbox::{DeliveryOutcome, OutboxSender};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Interval of polling the outbox, one read of an index. A notification would
/// come from within the transaction that queues a mail, before it is visible.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Number of mails that are delivered at once.
const CONCURRENCY: usize = 4;

/// Worker that polls the outbox and delivers its mails until stopped.
///
/// Every instance runs one worker; each mail goes to one of them.
#[derive(Clone)]
pub(crate) struct OutboxWorker {
    pub(crate) sender: OutboxSender,
    /// True if a relay is configured. Without one, mails stay in the outbox.
    pub(crate) configured: LiveSetting<bool>,
    /// Tasks that shutdown waits for.
    pub(crate) tasks: TaskTracker,
}

impl OutboxWorker {
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut tick = interval(POLL_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);

        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = tick.tick() => {}
            }
            // Outside of `select!`, so that no delivery is cancelled half-way.
            if *self.configured.get() {
                self.run_guarded(&stop).await;
            }
        }
    }

    /// Runs once in a separate task, so that a panic does not end the worker.
    async fn run_guarded(&self, stop: &CancellationToken) {
        let worker = self.clone();
        let stop = stop.clone();
        match self.tasks.spawn(async move { worker.run_once(&stop).await }).await {
            Ok(Ok(())) => {}
            Ok(Err(err)) => {
                tracing::warn!(error = %err, "failed to read the outbox");
            }
            Err(err) => tracing::error!(error = %err, "outbox run aborted"),
        }
    }

    /// Delivers all mails that are due, or as many as the relay takes. When
    /// stopped, the worker finishes the deliveries in flight.
    async fn run_once(&self, stop: &CancellationToken) -> Result<(), Unavailable> {
        // Further deliveries begin only if there are mails, and a relay that takes them.
        if self.deliver_one(stop).await?.is_continue() {
            let deliveries = (0..CONCURRENCY).map(|_| self.deliver_due(stop));
            join_all(deliveries).await.into_iter().collect::<Result<(), Unavailable>>()?;
        }
        self.sender.rest().await
    }

    /// Delivers one mail after the other, until none is due or the relay is away.
    async fn deliver_due(&self, stop: &CancellationToken) -> Result<(), Unavailable> {
        loop {
            if self.deliver_one(stop).await?.is_break() {
                return Ok(());
            }
        }
    }

    /// Delivers the next mail, unless stopped. Breaks if no other can be delivered now.
    async fn deliver_one(&self, stop: &CancellationToken) -> Result<ControlFlow<()>, Unavailable> {
        if stop.is_cancelled() {
            return Ok(ControlFlow::Break(()));
        }
        Ok(match self.sender.deliver_next().await? {
            DeliveryOutcome::Nothing | DeliveryOutcome::RelayAway => ControlFlow::Break(()),
            DeliveryOutcome::Sent | DeliveryOutcome::Postponed | DeliveryOutcome::Abandoned => {
                ControlFlow::Continue(())
            }
        })
    }
}
