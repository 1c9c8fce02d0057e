//! Checkpoints of SQLite's write-ahead log.

use std::time::Duration;

use pia_storage::{Database, DatabaseKind};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// Interval of checkpoints, so short that little is to be written at each.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Checkpoints periodically until stopped. Does nothing on PostgreSQL.
pub(crate) async fn run(db: Database, stop: CancellationToken) {
    if db.provider() == DatabaseKind::Postgres {
        return;
    }

    let mut tick = interval(POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);

    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        // Outside of `select!`, so that no checkpoint is cancelled half-way.
        if let Err(err) = db.checkpoint().await {
            tracing::warn!(error = &err as &dyn std::error::Error, "WAL checkpoint failed");
        }
    }
}
