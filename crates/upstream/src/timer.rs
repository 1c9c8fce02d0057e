//! The assistant's timer on tokio's clock.

use std::time::Duration;

use pia_assistant::{Timer, TimerFuture};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Timer on the runtime that calls it; stops with the process.
#[derive(Debug, Clone)]
pub struct TokioTimer {
    started: Instant,
    stop: CancellationToken,
}

impl TokioTimer {
    /// Creates a timer that ends all streams once `stop` is cancelled.
    pub fn new(stop: CancellationToken) -> Self {
        Self { started: Instant::now(), stop }
    }
}

impl Timer for TokioTimer {
    fn elapsed(&self) -> Duration {
        self.started.elapsed()
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
    async fn a_stop_completes_earlier_and_later_futures() {
        let token = CancellationToken::new();
        let timer = TokioTimer::new(token.clone());
        let earlier_stop = timer.stop();

        token.cancel();

        earlier_stop.await;
        timer.stop().await;
    }

    #[tokio::test]
    async fn time_passes_while_it_pauses() {
        let timer = TokioTimer::new(CancellationToken::new());
        let start = timer.elapsed();

        timer.pause(Duration::from_millis(5)).await;

        assert!(timer.elapsed() >= start + Duration::from_millis(5));
    }
}
