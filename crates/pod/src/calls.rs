//! Calls in progress.

use std::collections::HashMap;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::work::{Outcome, Work};

/// Time for a cancelled call to end by itself.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// Calls of one connection. They are cancelled when it ends.
#[derive(Debug)]
pub(crate) struct Calls {
    permits: Arc<Semaphore>,
    tasks: JoinSet<FinishedCall>,
    running: HashMap<String, CancellationToken>,
    all: DropGuard,
}

/// Call that has ended.
#[derive(Debug)]
pub(crate) struct FinishedCall {
    pub(crate) invocation_id: String,
    call_id: String,
    pub(crate) outcome: Outcome,
}

impl Calls {
    /// Creates the calls of a pod that serves so many at once.
    pub(crate) fn new(max_concurrent: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(max_concurrent.min(Semaphore::MAX_PERMITS))),
            tasks: JoinSet::new(),
            running: HashMap::new(),
            all: CancellationToken::new().drop_guard(),
        }
    }

    /// Starts a call, or lets it wait until others have ended.
    pub(crate) fn start(&mut self, invocation_id: String, work: Work) {
        let (cancelled, permits) = (self.all.token().child_token(), Arc::clone(&self.permits));
        let (call_id, limit) = (work.call_id.clone(), work.limit);
        self.running.insert(call_id.clone(), cancelled.clone());
        let call = {
            let cancelled = cancelled.clone();
            async move {
                let start = work.into_start()?;
                // One that is cancelled while it waits does not start.
                let permit = cancelled.run_until_cancelled(permits.acquire()).await;
                let _permit = permit.ok_or("the call was cancelled")?;
                start(cancelled).await
            }
        };
        self.tasks.spawn(async move {
            FinishedCall { invocation_id, call_id, outcome: run(call, limit, cancelled).await }
        });
    }

    /// Cancels a call, if it has not ended yet.
    pub(crate) fn cancel(&mut self, call_id: &str) {
        if let Some(cancelled) = self.running.get(call_id) {
            cancelled.cancel();
        }
    }

    /// Returns the next call that ends; waits if there are none.
    pub(crate) async fn next_finished(&mut self) -> FinishedCall {
        while let Some(finished) = self.tasks.join_next().await {
            if let Ok(finished) = finished {
                self.running.remove(&finished.call_id);
                return finished;
            }
        }
        pending().await
    }

    /// Returns whether no call is in progress.
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}

/// Runs a call until it ends. When it was cancelled or its time is over, it has
/// a little longer to end by itself.
async fn run(
    call: impl Future<Output = Outcome>,
    limit: Duration,
    cancelled: CancellationToken,
) -> Outcome {
    tokio::pin!(call);
    let reason = tokio::select! {
        outcome = &mut call => return outcome,
        () = cancelled.cancelled() => "the call was cancelled".to_owned(),
        () = sleep(limit) => format!("the call took longer than {} s", limit.as_secs()),
    };
    cancelled.cancel();
    timeout(CANCEL_GRACE, call).await.unwrap_or(Err(reason))
}
