//! Polling for asynchronous results.

use std::time::Duration;

const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum wait, longer than any awaited operation takes.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Polls until there is a result; panics at the timeout.
pub async fn until<T>(mut poll: impl AsyncFnMut() -> Option<T>) -> T {
    let polling = async {
        let mut tick = tokio::time::interval(POLL_INTERVAL);
        loop {
            tick.tick().await;
            if let Some(result) = poll().await {
                return result;
            }
        }
    };
    tokio::time::timeout(TIMEOUT, polling).await.expect("a result in time")
}
