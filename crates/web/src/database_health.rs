//! Health of the database, as far as is known.

use std::time::Duration;

use tokio::sync::watch;

/// Health of the database, as a task finds that polls it all the time.
#[derive(Clone)]
pub struct DatabaseHealth {
    answers: watch::Receiver<bool>,
    limit: Duration,
}

impl DatabaseHealth {
    /// A pulse that is set through `answers`. Nobody waits for a database
    /// without one for longer than `limit`.
    pub fn new(answers: watch::Receiver<bool>, limit: Duration) -> Self {
        Self { answers, limit }
    }

    /// Waits for the limit, and then for as long as the database answers.
    pub(crate) async fn wait_until_lost(mut self) {
        tokio::time::sleep(self.limit).await;
        if self.answers.wait_for(|answers| !answers).await.is_err() {
            // Nobody looks any more.
            std::future::pending::<()>().await;
        }
    }
}
