//! Health check of the database while the server runs.

use std::time::Duration;

use pia_storage::{Database, DatabaseKind};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Interval of the checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout of a check. A busy database exceeds it at times; only requests that
/// have already waited for long are refused for it.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);

/// Reports through `health` whether the database answers, until `stop`.
///
/// A database server that hangs closes no connection, so that only a missing
/// response reveals it. A SQLite file cannot hang so.
pub(crate) async fn watch(db: Database, health: watch::Sender<bool>, stop: CancellationToken) {
    if db.provider() == DatabaseKind::Sqlite {
        return stop.cancelled().await;
    }

    let mut tick = tokio::time::interval(CHECK_INTERVAL);
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        let is_available = db.ping(CHECK_TIMEOUT).await.is_ok();
        let has_changed =
            health.send_if_modified(|state| std::mem::replace(state, is_available) != is_available);
        match (has_changed, is_available) {
            (true, true) => tracing::info!("database is available again"),
            (true, false) => tracing::error!("database is unavailable"),
            (false, _) => {}
        }
    }
}
