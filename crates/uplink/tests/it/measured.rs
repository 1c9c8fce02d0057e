//! Measurements on a machine that has other work too.

use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};

/// Number of attempts of a measurement, one of which has to succeed.
const ATTEMPTS: u32 = 5;

static ALONE: Mutex<()> = Mutex::const_new(());

/// Waits until no other test measures.
pub(crate) async fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().await
}

/// Prints a measurement for whoever runs the test.
pub(crate) fn measured(text: &str) {
    eprintln!("{text}");
}

/// Checks that a latency stays below a limit, in one of several attempts: other
/// work on the machine makes some of them longer, and none of them shorter.
pub(crate) async fn assert_latency(limit: Duration, attempt: impl AsyncFn() -> Duration) {
    let _alone = alone().await;
    let mut latencies = Vec::new();
    for _ in 0..ATTEMPTS {
        let latency = attempt().await;
        if latency < limit {
            return;
        }
        latencies.push(latency);
    }

    assert!(latencies.is_empty(), "{latencies:?}: not below {limit:?}");
}
