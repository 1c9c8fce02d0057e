//! Ending without cutting anyone off.

use std::future::Future;
use std::time::Duration;

use actix_web::web::Data;
use pia_web::Metrics;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Streams that still run are ended so long before the end, in a way that
/// their clients understand.
const LAST_WORDS: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Time for answers that may still be on their way to the socket.
const LINGER: Duration = Duration::from_millis(100);

/// Resolves when the process is asked to end.
///
/// Called before the server announces that it listens: until then a signal
/// ends the process as it stands.
pub(crate) fn requested() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Resolves when every running request has been answered, or `limit` has
/// passed; `stop` is cancelled shortly before that.
///
/// Connections that idle are not waited for, as actix-web would.
pub(crate) async fn drained(metrics: Data<Metrics>, stop: CancellationToken, limit: Duration) {
    let idle = async {
        while metrics.in_flight() > 0 {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    let last_words = LAST_WORDS.min(limit / 2);
    if within(limit.saturating_sub(last_words), idle).await {
        tokio::time::sleep(LINGER).await;
        return;
    }
    tracing::warn!(
        requests = metrics.in_flight(),
        "shutdown timed out; running requests are cancelled"
    );
    stop.cancel();
    let idle = async {
        while metrics.in_flight() > 0 {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    within(last_words, idle).await;
}

async fn within(limit: Duration, what: impl Future<Output = ()>) -> bool {
    tokio::time::timeout(limit, what).await.is_ok()
}
