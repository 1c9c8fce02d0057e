//! Relay of calls to pods that are connected to another instance.
//!
//! A call is a row. Its pod's instance is notified, claims the row, calls the
//! pod, and stores the reply; then the caller's instance is notified, reads it,
//! and deletes the row. Each call is begun once: if its instance is lost, the
//! caller gets `Lost`, and nobody repeats it.
//!
//! Begin with `relay`, the pass at each wake-up: serve calls of others, deliver
//! answers to callers here, abort calls whose rows were deleted, check for lost
//! pods, and delete the rows of callers that went away. `call_elsewhere` is the
//! caller's side.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::{Clock, Timestamp, Unavailable};
use pia_pods::{PodCall, PodId, PodLink, PodReply, ProgressSink, ToolCallError};
use pia_storage::Database;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::relayed_calls::{ClaimedCall, RelayedAnswer, RelayedCalls};

/// Time that a call may take beside its own limit.
const CALL_GRACE: Duration = Duration::from_secs(5);
/// Time for the reply of a pod that is gone.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// Number of attempts to store a reply, as its call may have had an effect.
const REPLY_ATTEMPTS: u32 = 5;
/// Interval of looking for calls and replies, should a notification be lost, and for
/// pods that are gone, and of storing the progress of a call.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

type Outcome = Result<PodReply, ToolCallError>;

/// Links to the pods of all instances that share a database of PostgreSQL.
pub struct PodRelay {
    calls: RelayedCalls,
    /// Links to the pods of this instance.
    local: Arc<dyn PodLink>,
    clock: Arc<dyn Clock>,
    /// Calls of this instance that wait for another one.
    waiting: Mutex<HashMap<Uuid, Waiting>>,
    /// Calls of this instance that nobody waits for any more.
    abandoned: Mutex<Vec<Uuid>>,
    /// True if a pod is connected to any instance.
    has_pods: AtomicBool,
    /// Wakes the relay.
    wake: Notify,
}

/// Calls of other instances that pods of this instance answer.
#[derive(Default)]
struct Serving {
    tasks: JoinSet<Uuid>,
    handles: HashMap<Uuid, AbortHandle>,
    /// Calls that were begun, until they expire: a claim may be lost if PostgreSQL
    /// crashes, and no call is repeated. Nobody else claims the calls of these pods.
    begun: HashMap<Uuid, Timestamp>,
    /// Time of the last check for changes that are not notified.
    checked_at: Option<Timestamp>,
}

struct Waiting {
    pod: PodId,
    progress: ProgressSink,
    /// Progress that was reported last.
    reported: String,
    reply: oneshot::Sender<Outcome>,
    /// Time when its pod was found to be gone.
    missing_since: Option<Timestamp>,
}

/// Call that waits, which is forgotten if its caller goes away.
struct ForgetOnDrop<'a>(&'a PodRelay, Uuid);

impl Drop for ForgetOnDrop<'_> {
    fn drop(&mut self) {
        if self.0.lock_waiting().remove(&self.1).is_some() {
            self.0.lock_abandoned().push(self.1);
            self.0.wake.notify_one();
        }
    }
}

impl PodRelay {
    /// Creates a relay between the instances of `db`.
    pub fn new(db: Database, local: Arc<dyn PodLink>, clock: Arc<dyn Clock>) -> Self {
        let waiting = Mutex::default();
        let abandoned = Mutex::default();
        let has_pods = AtomicBool::new(false);
        let wake = Notify::new();
        Self { calls: RelayedCalls::new(db), local, clock, waiting, abandoned, has_pods, wake }
    }

    /// Relays calls and replies. Runs until dropped.
    pub async fn run(&self) {
        tokio::join!(self.calls.listen(&self.wake), self.relay_repeatedly());
    }

    /// Relays at every wake-up; the first of consecutive failures is logged.
    async fn relay_repeatedly(&self) {
        let mut serving = Serving::default();
        let mut is_logged = false;
        loop {
            let outcome = self.relay(&mut serving).await;
            if let Err(err) = &outcome
                && !is_logged
            {
                tracing::warn!(error = %err, "calls of pods could not be relayed");
            }
            is_logged = outcome.is_err();
            self.wait(&mut serving).await;
        }
    }

    /// Waits until there may be calls or replies.
    async fn wait(&self, serving: &mut Serving) {
        let due = sleep(POLL_INTERVAL);
        tokio::pin!(due);

        loop {
            tokio::select! {
                () = self.wake.notified() => return,
                () = &mut due => return,
                Some(ended) = serving.tasks.join_next() => {
                    if let Ok(id) = ended {
                        serving.handles.remove(&id);
                    }
                }
            }
        }
    }

    async fn relay(&self, serving: &mut Serving) -> Result<(), Unavailable> {
        let now = self.clock.now();
        for call in self.calls.claim(self.local.pods(), now).await? {
            self.serve(serving, call);
        }

        let ids: Vec<Uuid> = self.lock_waiting().keys().copied().collect();
        let mut answered = Vec::new();
        for (id, answer) in self.calls.answers(ids).await? {
            match answer {
                RelayedAnswer::Progress(text) => self.report(id, text),
                RelayedAnswer::Ended(outcome) => {
                    answered.push(id);
                    self.end(id, outcome);
                }
            }
        }

        if let Err(err) = self.calls.forget(answered.clone()).await {
            self.lock_abandoned().extend(answered);
            return Err(err);
        }

        for id in self.calls.missing(serving.handles.keys().copied().collect()).await? {
            if let Some(task) = serving.handles.remove(&id) {
                task.abort();
            }
        }

        if serving.checked_at.is_none_or(|it| it + POLL_INTERVAL <= now || now < it) {
            self.check(now).await?;
            serving.begun.retain(|_, expires_at| *expires_at >= now);
            serving.checked_at = Some(now);
        }

        let abandoned = std::mem::take(&mut *self.lock_abandoned());
        if let Err(err) = self.calls.delete(abandoned.clone()).await {
            self.lock_abandoned().extend(abandoned);
            return Err(err);
        }

        Ok(())
    }

    /// Looks for pods that are connected, and for calls that nobody answers or waits
    /// for any more.
    async fn check(&self, now: Timestamp) -> Result<(), Unavailable> {
        let pods = self.calls.alive_pods(now).await?;
        self.has_pods.store(!pods.is_empty(), Ordering::Relaxed);
        for id in self.lost(&pods, now) {
            self.lock_abandoned().push(id);
            self.end(id, Err(ToolCallError::Lost));
        }
        self.calls.sweep(now).await
    }

    /// Calls a pod of this instance for another one.
    fn serve(&self, serving: &mut Serving, claimed: ClaimedCall) {
        let ClaimedCall { id, pod, expires_at, call } = claimed;
        if serving.begun.insert(id, expires_at).is_some() {
            return;
        }

        let calls = self.calls.clone();
        let local = Arc::clone(&self.local);
        let task = serving.tasks.spawn(async move {
            let (sender, progress) = watch::channel(String::new());
            let sink = ProgressSink::new(move |it| drop(sender.send_replace(it)));
            let outcome = tokio::select! {
                outcome = local.call(pod, call, sink) => outcome,
                never = report(&calls, id, progress) => match never {},
            };

            let mut attempts = 1;
            while let Err(err) = calls.reply(id, &outcome).await {
                if attempts == REPLY_ATTEMPTS {
                    tracing::warn!(error = %err, "the reply of a pod could not be relayed");
                    break;
                }
                attempts += 1;
                sleep(POLL_INTERVAL).await;
            }

            id
        });
        serving.handles.insert(id, task);
    }

    /// Returns the calls whose pod has been gone for longer than a reply takes.
    fn lost(&self, pods: &[PodId], now: Timestamp) -> Vec<Uuid> {
        let mut waiting = self.lock_waiting();
        let lost = waiting.iter_mut().filter_map(|(id, it)| {
            if pods.contains(&it.pod) {
                it.missing_since = None;
                return None;
            }
            let since = *it.missing_since.get_or_insert(now);
            (since + REPLY_TIMEOUT < now).then_some(*id)
        });
        lost.collect()
    }

    fn report(&self, id: Uuid, text: String) {
        if let Some(waiting) = self.lock_waiting().get_mut(&id)
            && waiting.reported != text
        {
            waiting.reported.clone_from(&text);
            waiting.progress.report(text);
        }
    }

    fn end(&self, id: Uuid, outcome: Outcome) {
        if let Some(waiting) = self.lock_waiting().remove(&id) {
            // The caller may be gone.
            drop(waiting.reply.send(outcome));
        }
    }

    fn lock_abandoned(&self) -> MutexGuard<'_, Vec<Uuid>> {
        self.abandoned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_waiting(&self) -> MutexGuard<'_, HashMap<Uuid, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn call_elsewhere(&self, pod: PodId, call: PodCall, progress: ProgressSink) -> Outcome {
        let id = Uuid::now_v7();
        let limit = call.timeout + CALL_GRACE;
        let (reply, answer) = oneshot::channel();
        self.lock_waiting().insert(
            id,
            Waiting { pod, progress, reported: String::new(), reply, missing_since: None },
        );
        let _forget = ForgetOnDrop(self, id);
        let expires_at = self.clock.now() + limit;
        let is_stored = self
            .calls
            .store(id, pod, &call, expires_at)
            .await
            .map_err(|_err| ToolCallError::Unavailable)?;
        if !is_stored {
            return Err(ToolCallError::Busy);
        }

        match timeout(limit, answer).await {
            Ok(answer) => answer.map_err(|_gone| ToolCallError::Lost)?,
            Err(_elapsed) => Err(ToolCallError::TimedOut),
        }
    }
}

#[async_trait]
impl PodLink for PodRelay {
    fn is_idle(&self) -> bool {
        self.local.is_idle() && !self.has_pods.load(Ordering::Relaxed)
    }

    fn pods(&self) -> Vec<PodId> {
        self.local.pods()
    }

    fn holds(&self, pod: PodId) -> bool {
        self.local.holds(pod)
    }

    fn is_linked(&self, pod: PodId) -> bool {
        // A pod of another instance is one that the registry lists as alive.
        !self.local.holds(pod) || self.local.is_linked(pod)
    }

    async fn call(&self, pod: PodId, call: PodCall, progress: ProgressSink) -> Outcome {
        if self.local.holds(pod) {
            return self.local.call(pod, call, progress).await;
        }
        self.call_elsewhere(pod, call, progress).await
    }
}

/// Stores the progress of a call that a pod of this instance answers.
async fn report(
    calls: &RelayedCalls,
    id: Uuid,
    mut progress: watch::Receiver<String>,
) -> Infallible {
    while progress.changed().await.is_ok() {
        let text = progress.borrow_and_update().clone();
        if let Err(err) = calls.report(id, &text).await {
            tracing::warn!(error = %err, "the progress of a pod could not be relayed");
        }
        sleep(POLL_INTERVAL).await;
    }
    pending().await
}
