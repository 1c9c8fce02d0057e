//! Clocks that tests control.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use pia_kernel::{Clock, Timestamp};

/// Clock that stands still.
#[derive(Debug, Clone, Copy)]
pub struct FixedClock(pub Timestamp);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// Clock that moves only when a test sets it. Share it in an `Arc`.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Creates a clock that stands at `now`.
    pub fn new(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.micros()))
    }

    /// Advances the clock for all who share it.
    pub fn advance(&self, by: Duration) {
        self.set(self.now() + by);
    }

    /// Sets the clock, forwards or backwards.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.micros(), Ordering::Release);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_advanced() {
        let clock = ManualClock::new(Timestamp::UNIX_EPOCH);

        clock.advance(Duration::from_secs(3));

        assert_eq!(clock.now(), Timestamp::UNIX_EPOCH + Duration::from_secs(3));
        assert_eq!(clock.now(), Timestamp::UNIX_EPOCH + Duration::from_secs(3));
    }
}
