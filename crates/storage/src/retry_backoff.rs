//! Pauses before a transaction that was rolled back is retried.

use std::time::Duration;

/// Maximum number of retries after the first attempt.
const MAX_RETRIES: u32 = 2;
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Pauses between the attempts of one transaction. Without them the retry could
/// start before the other transaction has its locks, and they would conflict in
/// the same way.
#[derive(Debug, Default)]
pub struct RetryBackoff {
    retries: u32,
}

impl RetryBackoff {
    /// Waits, longer each time. Returns whether to retry.
    pub async fn next(&mut self) -> bool {
        if self.retries == MAX_RETRIES {
            return false;
        }
        self.retries += 1;
        tokio::time::sleep(FIRST_PAUSE * self.retries).await;
        true
    }
}
