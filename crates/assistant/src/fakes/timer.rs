//! Time that tests advance.

use std::time::Duration;

use super::Surroundings;
use crate::ports::{Timer, TimerFuture};

impl Timer for Surroundings {
    fn elapsed(&self) -> Duration {
        self.0.time.lock().unwrap().now
    }

    fn pause(&self, delay: Duration) -> TimerFuture {
        let due = self.elapsed() + delay;
        self.until(move |time| time.now >= due)
    }

    fn stop(&self) -> TimerFuture {
        self.until(|time| time.stopping)
    }
}
