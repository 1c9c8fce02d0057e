//! Asking the database all the time whether it answers.

use std::time::Duration;

use pia_storage::{Database, DatabaseKind};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Interval at which it is called.
const INTERVAL: Duration = Duration::from_secs(1);
/// Duration for which an answer may take. A database that only has much to do
/// is slower than that now and then; nobody is refused for it who has not
/// waited for long already.
const LIMIT: Duration = Duration::from_secs(1);

/// Reports through `answers` whether the database answers, until `stop`.
///
/// A server that hangs closes no connection: only its silence shows it.
/// A file cannot do so.
pub(crate) async fn watch(db: Database, answers: watch::Sender<bool>, stop: CancellationToken) {
    if db.provider() == DatabaseKind::Sqlite {
        return stop.cancelled().await;
    }
    let mut tick = tokio::time::interval(INTERVAL);
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        let now = db.ping(LIMIT).await.is_ok();
        let changed = answers.send_if_modified(|before| std::mem::replace(before, now) != now);
        match (changed, now) {
            (true, true) => tracing::info!("database is available again"),
            (true, false) => tracing::error!("database is unavailable"),
            (false, _) => {}
        }
    }
}
