//! Health of the database.

use std::time::Duration;

use tokio::sync::watch;

/// Health of the database, as reported by a task that polls it continuously.
#[derive(Clone)]
pub struct DatabaseHealth {
    answers: watch::Receiver<bool>,
    limit: Duration,
}

impl DatabaseHealth {
    /// Creates a handle on the reports in `answers`. No caller waits longer
    /// than `limit` for a database that does not answer.
    pub fn new(answers: watch::Receiver<bool>, limit: Duration) -> Self {
        Self { answers, limit }
    }

    /// Waits for the limit, and then for as long as the database answers.
    pub(crate) async fn wait_until_lost(mut self) {
        tokio::time::sleep(self.limit).await;
        if self.answers.wait_for(|answers| !answers).await.is_err() {
            // The polling task has ended.
            std::future::pending::<()>().await;
        }
    }
}
