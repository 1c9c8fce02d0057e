//! Emptying SQLite's log beside those who write.

use std::time::Duration;

use pia_storage::{Database, DatabaseKind};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// Interval of checkpoints: what is written meanwhile, the disk takes in a
/// moment.
const EVERY: Duration = Duration::from_millis(250);

/// Does it now and then, until stopped. Of PostgreSQL there is nothing to do.
pub(crate) async fn run(db: Database, stop: CancellationToken) {
    if db.provider() == DatabaseKind::Postgres {
        return;
    }
    let mut tick = interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        // Run to the end, beside no `select!`: nothing is cut half-way.
        if let Err(err) = db.checkpoint().await {
            tracing::warn!(error = &err as &dyn std::error::Error, "WAL checkpoint failed");
        }
    }
}
