//! Time at which an open stream has to send a sign of life.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::ports::{Timer, TimerFuture};

/// Beats after an interval without a word.
///
/// Its timer is set anew only when it has run out, and then for what is left
/// of the interval: a word costs a look at the clock, not a timer.
pub(crate) struct Heartbeat {
    waits: Arc<dyn Timer>,
    interval: Duration,
    last: Duration,
    timer: Option<TimerFuture>,
}

impl Heartbeat {
    pub(crate) fn new(waits: Arc<dyn Timer>, interval: Duration) -> Self {
        let last = waits.elapsed();
        Self { waits, interval, last, timer: None }
    }

    /// Something was said.
    pub(crate) fn spoke(&mut self) {
        self.last = self.waits.elapsed();
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let silent = self.waits.elapsed().saturating_sub(self.last);
            let left = self.interval.saturating_sub(silent);
            let timer = self.timer.get_or_insert_with(|| self.waits.pause(left));
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.timer = None;
            if self.waits.elapsed().saturating_sub(self.last) >= self.interval {
                return Poll::Ready(());
            }
        }
    }
}
