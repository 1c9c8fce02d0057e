//! Waiting before a transaction that was rolled back is tried again.

use std::time::Duration;

/// Maximum number of retries.
const MAX_RETRIES: u32 = 2;
const FIRST: Duration = Duration::from_millis(10);

/// The pauses of one transaction. Without them the one that was rolled back
/// could be back before the other has got what it waited for, and they would
/// meet in the same way.
#[derive(Debug, Default)]
pub struct RetryBackoff {
    taken: u32,
}

impl RetryBackoff {
    /// Waits, longer each time. Answers whether to try again.
    pub async fn next(&mut self) -> bool {
        if self.taken == MAX_RETRIES {
            return false;
        }
        self.taken += 1;
        tokio::time::sleep(FIRST * self.taken).await;
        true
    }
}
