//! The assistant's waiting, by tokio's clock.

use std::time::Duration;

use pia_assistant::{Timer, TimerFuture};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Waits on the runtime it is called on; stops with the process.
#[derive(Debug, Clone)]
pub struct TokioTimer {
    began: Instant,
    stop: CancellationToken,
}

impl TokioTimer {
    /// Waits that end all streams once `stop` is cancelled.
    pub fn new(stop: CancellationToken) -> Self {
        Self { began: Instant::now(), stop }
    }
}

impl Timer for TokioTimer {
    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn pause(&self, delay: Duration) -> TimerFuture {
        Box::pin(tokio::time::sleep(delay))
    }

    fn stop(&self) -> TimerFuture {
        Box::pin(self.stop.clone().cancelled_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stop_is_seen_by_those_who_waited_and_by_those_who_come_later() {
        let token = CancellationToken::new();
        let waits = TokioTimer::new(token.clone());
        let before = waits.stop();

        token.cancel();

        before.await;
        waits.stop().await;
    }

    #[tokio::test]
    async fn time_passes_while_it_pauses() {
        let waits = TokioTimer::new(CancellationToken::new());
        let before = waits.elapsed();

        waits.pause(Duration::from_millis(5)).await;

        assert!(waits.elapsed() >= before + Duration::from_millis(5));
    }
}
