//! Waiting for what comes in its own time.

use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Longer than anything that is waited for takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Looks until there is something to see.
pub async fn until<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        let mut tick = tokio::time::interval(LOOK_EVERY);
        loop {
            tick.tick().await;
            if let Some(found) = look().await {
                return found;
            }
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.expect("what is waited for")
}
