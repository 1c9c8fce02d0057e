//! Keep-alive timing of open streams.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::ports::{Timer, TimerFuture};

/// Timer that fires after an interval without output.
///
/// The future is renewed only when it has expired, for the rest of the
/// interval: output costs a look at the clock, not a new timer.
pub(crate) struct Heartbeat {
    timer: Arc<dyn Timer>,
    interval: Duration,
    /// Time of the last output, by the timer.
    last_output: Duration,
    pause: Option<TimerFuture>,
}

impl Heartbeat {
    pub(crate) fn new(timer: Arc<dyn Timer>, interval: Duration) -> Self {
        let last_output = timer.elapsed();
        Self { timer, interval, last_output, pause: None }
    }

    /// Restarts the interval after output.
    pub(crate) fn reset(&mut self) {
        self.last_output = self.timer.elapsed();
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let silence = self.timer.elapsed().saturating_sub(self.last_output);
            let delay = self.interval.saturating_sub(silence);
            let pause = self.pause.get_or_insert_with(|| self.timer.pause(delay));
            if pause.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }

            self.pause = None;
            if self.timer.elapsed().saturating_sub(self.last_output) >= self.interval {
                return Poll::Ready(());
            }
        }
    }
}
