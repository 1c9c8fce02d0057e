//! Delivery of webhooks while the server runs.

use std::time::Duration;

use pia_assignments::Webhooks;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::assignment_worker::{log, repeat};

/// Interval of looking for deliveries that are due, one read of an index.
const EVERY: Duration = Duration::from_secs(1);
/// Interval of deleting old deliveries.
const CLEAN_UP_EVERY: Duration = Duration::from_hours(1);
/// Number of deliveries that an instance attempts at once.
const CONCURRENCY: usize = 4;

/// Starts the delivery of webhooks, which ends when stopped. Every instance has
/// one; each delivery is attempted by one of them.
pub(crate) fn start_webhooks(webhooks: &Webhooks, tasks: &TaskTracker, stop: &CancellationToken) {
    for _ in 0..CONCURRENCY {
        let (webhooks, stop) = (webhooks.clone(), stop.clone());
        tasks.spawn(async move {
            repeat(EVERY, stop.clone(), || deliver(&webhooks, &stop)).await;
        });
    }
    let (webhooks, stop) = (webhooks.clone(), stop.clone());
    tasks.spawn(async move {
        repeat(CLEAN_UP_EVERY, stop, || async {
            log(webhooks.clean_up().await, "old deliveries could not be deleted");
        })
        .await;
    });
}

async fn deliver(webhooks: &Webhooks, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        match webhooks.deliver_next().await {
            Ok(true) => {}
            Ok(false) => return,
            Err(err) => return log(Err(err), "webhooks could not be delivered"),
        }
    }
}
