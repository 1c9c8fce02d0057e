//! Graceful shutdown: running requests end before the server does.
//!
//! `process.rs` waits for `requested`, stops accepting connections, and then waits
//! for `drained`.

use std::future::Future;
use std::time::Duration;

use actix_web::web::Data;
use pia_web::Metrics;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Duration before the timeout at which running streams are cancelled, with a
/// final event for their clients.
const CANCEL_GRACE: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Time for responses that are not yet written to the socket.
const LINGER: Duration = Duration::from_millis(100);

/// Resolves when the process receives SIGTERM or SIGINT.
///
/// To be called before the server is announced as listening: until then a
/// signal terminates the process at once.
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

/// Resolves when every running request has completed, or `limit` has passed;
/// `stop` is cancelled shortly before that.
///
/// Unlike actix-web, this does not wait for idle connections.
pub(crate) async fn drained(metrics: Data<Metrics>, stop: CancellationToken, limit: Duration) {
    let grace = CANCEL_GRACE.min(limit / 2);
    if within(limit.saturating_sub(grace), idle(&metrics)).await {
        tokio::time::sleep(LINGER).await;
        return;
    }

    tracing::warn!(
        requests = metrics.in_flight(),
        "shutdown timed out; running requests are cancelled"
    );
    stop.cancel();
    within(grace, idle(&metrics)).await;
}

/// Resolves when no request is running.
async fn idle(metrics: &Metrics) {
    while metrics.in_flight() > 0 {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Returns whether a future has completed within the limit.
async fn within(limit: Duration, future: impl Future<Output = ()>) -> bool {
    tokio::time::timeout(limit, future).await.is_ok()
}
