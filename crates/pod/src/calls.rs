//! Calls that the pod is working on: one task each, of which `max_concurrent` run
//! and the others wait. `session.rs` starts and cancels them and takes their
//! events by `next`. The time limit of a call includes the wait.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::call_context::CallContext;
use crate::work::{Outcome, Work};

/// Time for a cancelled call to end by itself.
const CANCEL_GRACE: Duration = Duration::from_secs(2);
/// Minimum time between two reports of a call's progress.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Calls of one connection. They are cancelled when it ends.
#[derive(Debug)]
pub(crate) struct Calls {
    permits: Arc<Semaphore>,
    tasks: JoinSet<FinishedCall>,
    reporter: UnboundedSender<CallProgress>,
    reports: UnboundedReceiver<CallProgress>,
    running: HashMap<String, CancellationToken>,
    cancel_all: DropGuard,
}

/// Event of a call.
#[derive(Debug)]
pub(crate) enum CallEvent {
    Progress(CallProgress),
    Finished(FinishedCall),
}

/// Progress that a call reports.
#[derive(Debug)]
pub(crate) struct CallProgress {
    pub(crate) call_id: String,
    pub(crate) message: String,
}

/// Call that has ended.
#[derive(Debug)]
pub(crate) struct FinishedCall {
    pub(crate) invocation_id: String,
    call_id: String,
    pub(crate) outcome: Outcome,
}

impl Calls {
    /// Creates the calls of a pod that serves this many at once.
    pub(crate) fn new(max_concurrent: usize) -> Self {
        let (reporter, reports) = unbounded_channel();
        Self {
            permits: Arc::new(Semaphore::new(max_concurrent.min(Semaphore::MAX_PERMITS))),
            tasks: JoinSet::new(),
            reporter,
            reports,
            running: HashMap::new(),
            cancel_all: CancellationToken::new().drop_guard(),
        }
    }

    /// Starts a call, or lets it wait until others have ended.
    pub(crate) fn start(&mut self, invocation_id: String, work: Work) {
        let cancelled = self.cancel_all.token().child_token();
        let permits = Arc::clone(&self.permits);
        let call_id = work.call_id.clone();
        let limit = work.limit;
        self.running.insert(call_id.clone(), cancelled.clone());
        let (sender, progress) = watch::channel(String::new());
        let context = CallContext::new(cancelled.clone(), sender);
        let call = async move {
            let start = work.into_start()?;
            // A call that is cancelled while it waits does not start.
            let permit = context.cancelled.run_until_cancelled(permits.acquire()).await;
            let _permit = permit.ok_or("the call was cancelled")?;
            start(context).await
        };

        let reporter = self.reporter.clone();
        self.tasks.spawn(async move {
            let outcome = tokio::select! {
                outcome = run(call, limit, cancelled) => outcome,
                never = report(&call_id, progress, &reporter) => match never {},
            };
            FinishedCall { invocation_id, call_id, outcome }
        });
    }

    /// Cancels a call, if it has not ended yet.
    pub(crate) fn cancel(&mut self, call_id: &str) {
        if let Some(cancelled) = self.running.get(call_id) {
            cancelled.cancel();
        }
    }

    /// Returns the next event of a call; waits if there are none.
    pub(crate) async fn next(&mut self) -> CallEvent {
        loop {
            tokio::select! {
                Some(progress) = self.reports.recv() => return CallEvent::Progress(progress),
                Some(finished) = self.tasks.join_next() => {
                    if let Ok(finished) = finished {
                        self.running.remove(&finished.call_id);
                        return CallEvent::Finished(finished);
                    }
                }
            }
        }
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

/// Passes on the progress that a call reports.
async fn report(
    call_id: &str,
    mut progress: watch::Receiver<String>,
    reporter: &UnboundedSender<CallProgress>,
) -> Infallible {
    while progress.changed().await.is_ok() {
        let message = progress.borrow_and_update().clone();
        // The connection may have ended.
        reporter.send(CallProgress { call_id: call_id.to_owned(), message }).ok();
        sleep(REPORT_INTERVAL).await;
    }
    pending().await
}
