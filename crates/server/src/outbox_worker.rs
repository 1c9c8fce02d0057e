//! The postman's rounds.

use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{LiveSetting, Unavailable};
use pia_outbox::{Delivery, OutboxSender};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Duration for which a mail waits at most before somebody looks for it.
/// Looking is one read of an index; being reported instead would mean being reported
/// from within the transaction that queues it, before there is anything to see.
const EVERY: Duration = Duration::from_secs(1);
/// Number of mails that are handed over at once.
const HANDS: usize = 4;
const SWEEP_EVERY: Duration = Duration::from_mins(10);

/// Lets the postman look for mail now and then, until stopped.
///
/// Every instance does it; each mail goes to one of them.
#[derive(Clone)]
pub(crate) struct OutboxWorker {
    pub(crate) postman: OutboxSender,
    /// True if there is a relay to hand mail to. What waits while there is none
    /// waits on.
    pub(crate) set_up: LiveSetting<bool>,
    /// Tasks that shutdown waits for.
    pub(crate) tasks: TaskTracker,
}

impl OutboxWorker {
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut tick = interval(EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut swept: Option<Instant> = None;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = tick.tick() => {}
            }
            // Run to the end, beside no `select!`: nothing is cut half-way.
            if *self.set_up.get() {
                self.guarded(&stop).await;
            }
            if swept.is_none_or(|it| it.elapsed() >= SWEEP_EVERY) {
                self.sweep().await;
                swept = Some(Instant::now());
            }
        }
    }

    /// A round in a task of its own, so that a mail on which it panics does not
    /// end the rounds.
    async fn guarded(&self, stop: &CancellationToken) {
        let (round, stop) = (self.clone(), stop.clone());
        match self.tasks.spawn(async move { round.once(&stop).await }).await {
            Ok(Ok(())) => {}
            Ok(Err(err)) => {
                tracing::warn!(error = %err, "failed to read the outbox");
            }
            Err(err) => tracing::error!(error = %err, "outbox run aborted"),
        }
    }

    /// Hands over all that is due, or as much as the relay takes. Reported to stop,
    /// it ends with the mails that are on their way.
    async fn once(&self, stop: &CancellationToken) -> Result<(), Unavailable> {
        if self.goes_on(stop).await? {
            let hands = (0..HANDS).map(|_| async {
                while self.goes_on(stop).await? {}
                Ok(())
            });
            join_all(hands).await.into_iter().collect::<Result<(), Unavailable>>()?;
        }
        self.postman.rest().await
    }

    /// Hands one mail over. Answers whether to go on with another.
    async fn goes_on(&self, stop: &CancellationToken) -> Result<bool, Unavailable> {
        if stop.is_cancelled() {
            return Ok(false);
        }
        Ok(match self.postman.deliver_next().await? {
            Delivery::Nothing | Delivery::RelayAway => false,
            Delivery::Sent | Delivery::Postponed | Delivery::Abandoned => true,
        })
    }

    async fn sweep(&self) {
        match self.postman.sweep().await {
            Ok(0) => {}
            Ok(gone) => tracing::info!(mails = gone, "expired emails deleted"),
            Err(err) => {
                tracing::warn!(error = %err, "failed to delete expired emails");
            }
        }
    }
}
