//! Time that tests advance.

use std::time::Duration;

use super::TestEnv;
use crate::ports::{Timer, TimerFuture};

impl Timer for TestEnv {
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
