//! Registration of the worker of assignments, by which others see that it is
//! alive.
//!
//! The worker calls `renew` once a second and `retire` at its end. A worker that
//! crashed is noticed when its lease has expired; `claiming.rs` of
//! `storage-assignments` then lets others claim its runs.

use std::sync::Arc;
use std::time::Duration;

use pia_assignments::{RunStore, WorkerId};
use pia_kernel::Clock;
use uuid::Uuid;

use crate::assignment_worker::log;

/// Interval at which a worker reports that it is alive.
pub(crate) const RENEW_INTERVAL: Duration = Duration::from_secs(1);
/// Time after which a worker that has not reported is considered gone.
const LEASE: Duration = Duration::from_secs(3);

/// Registration of the worker of this instance.
pub(crate) struct WorkerLease {
    pub(crate) id: WorkerId,
    host: String,
    store: Arc<dyn RunStore>,
    clock: Arc<dyn Clock>,
}

impl WorkerLease {
    /// Creates the registration of a new worker on this machine.
    pub(crate) fn new(store: Arc<dyn RunStore>, clock: Arc<dyn Clock>) -> Self {
        Self { id: WorkerId(Uuid::now_v7()), host: host_name(), store, clock }
    }

    /// Reports that the worker is alive.
    pub(crate) async fn renew(&self) {
        let outcome = self.store.keep_alive(self.id, &self.host, self.clock.now(), LEASE).await;
        log(outcome, "a worker could not say that it is alive");
    }

    /// Removes the worker, whose runs others can claim then.
    pub(crate) async fn retire(&self) {
        log(self.store.retire(self.id).await, "a worker could not be removed");
    }
}

/// Returns the name of this machine.
pub(crate) fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.map_or_else(|_unknown| "unknown".to_owned(), |it| it.trim().to_owned())
}
