//! Limits on the calls to each upstream.
//!
//! `acquire` returns a `Permit`, at once or after a wait in the upstream's `FairQueue`. Only
//! the call whose turn it is checks the limits (`bucket.rs`); all others wait for room. A
//! dropped permit corrects the tokens to those used and wakes the next call; a call that
//! leaves the queue does so, too. State is held for each process, in memory.

mod bucket;
mod turns;

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use pia_kernel::{GroupId, LiveSetting};

use self::bucket::Bucket;
use self::turns::{FairQueue, QueuePosition};
use crate::ports::Timer;
use crate::routing::catalogue::SearchProvider;
use crate::routing::target::{Protection, Target};

/// Maximum number of calls that wait for one upstream; more are rejected at once.
const MAX_WAITING: usize = 1000;
/// Time to wait if open calls must end first.
const QUEUE_RETRY_AFTER: Duration = Duration::from_secs(2);

/// Limiter of calls to upstreams by their `Protection`. Calls without a permit
/// queue, and groups take turns. Shared by all workers of a process.
///
/// Several instances divide the limits of an upstream among them.
#[derive(Debug)]
pub struct UpstreamLimiter {
    states: Mutex<HashMap<String, UpstreamState>>,
    /// Number of instances; 0 counts as 1.
    instances: LiveSetting<u32>,
}

/// Numbers of the calls at one or several upstreams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UpstreamLoad {
    /// Number of open calls.
    pub open_calls: u64,
    /// Number of calls that wait for a permit.
    pub waiting_calls: u64,
}

/// Creates a limiter of a single instance.
impl Default for UpstreamLimiter {
    fn default() -> Self {
        Self::shared_by(LiveSetting::new(1))
    }
}

/// Name and limits of one upstream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UpstreamQuota<'a> {
    name: &'a str,
    protection: Protection,
}

impl<'a> From<&'a Target> for UpstreamQuota<'a> {
    fn from(target: &'a Target) -> Self {
        let name = target.id.as_deref().unwrap_or(&target.model);
        Self { name, protection: target.protection }
    }
}

impl<'a> From<&'a SearchProvider> for UpstreamQuota<'a> {
    fn from(provider: &'a SearchProvider) -> Self {
        Self { name: &provider.id, protection: provider.protection }
    }
}

/// Group of a call, and the tokens that the call needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallDemand {
    pub(crate) group: GroupId,
    pub(crate) tokens: i64,
}

/// Error of a call beyond the limits of its upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LimitReached {
    pub(crate) retry_after: Duration,
}

/// State of one upstream.
#[derive(Debug, Default)]
struct UpstreamState {
    open: u32,
    requests: Bucket,
    tokens: Bucket,
    turns: FairQueue,
}

/// Permit of one call. Dropping it admits others.
#[derive(Debug)]
pub(crate) struct Permit {
    limiter: Option<(Arc<UpstreamLimiter>, String)>,
    /// Tokens that were taken for it from the bucket.
    reserved_tokens: i64,
    /// Tokens that the call used, as `MeteredCall` sets at its end; the estimate
    /// until then.
    pub(crate) used_tokens: i64,
}

/// Reason that a call is not admitted now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LimitShortfall {
    /// Time until the limit allows it.
    Time(Duration),
    /// End of another call.
    Room,
    /// Room in the queue: too many calls wait.
    QueueFull,
}

impl LimitShortfall {
    /// Returns the time after which the caller may try again, at least a second.
    fn retry_after(self) -> Duration {
        match self {
            Self::Time(time) => time.max(Duration::from_secs(1)),
            Self::Room | Self::QueueFull => QUEUE_RETRY_AFTER,
        }
    }
}

impl UpstreamLimiter {
    /// Creates a limiter of one of several instances, which divide the limits.
    pub fn shared_by(instances: LiveSetting<u32>) -> Self {
        Self { states: Mutex::default(), instances }
    }

    /// Returns the load of all upstreams together.
    pub fn load(&self) -> UpstreamLoad {
        let states = self.lock();
        states.values().map(UpstreamState::load).fold(UpstreamLoad::default(), UpstreamLoad::plus)
    }

    /// Returns the load of one upstream.
    pub(crate) fn load_of<'a>(&self, upstream: impl Into<UpstreamQuota<'a>>) -> UpstreamLoad {
        let states = self.lock();
        states.get(upstream.into().name).map(UpstreamState::load).unwrap_or_default()
    }

    /// Waits at most `max_wait` for a permit for a call.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        upstream: impl Into<UpstreamQuota<'_>>,
        demand: CallDemand,
        max_wait: Duration,
        timer: &Arc<dyn Timer>,
    ) -> Result<Permit, LimitReached> {
        let UpstreamQuota { name, protection } = upstream.into();
        let CallDemand { group, tokens } = demand;
        if protection == Protection::default() {
            return Ok(Permit { limiter: None, reserved_tokens: 0, used_tokens: 0 });
        }

        let limits = self.instance_share(protection);
        let request = QueuedRequest { group, tokens, limits };
        let mut queued_call = QueuedCall { limiter: self, name, position: None };
        let mut deadline = timer.pause(max_wait);
        let mut limit_timer = None;
        poll_fn(|cx| {
            let shortfall = match queued_call.poll(request, timer.elapsed(), cx) {
                Ok(()) => return Poll::Ready(Ok(Permit::new(self, name, tokens))),
                Err(shortfall) => shortfall,
            };
            if let LimitShortfall::Time(time) = shortfall {
                // Polled once to register the waker. A pause that is over already would
                // never wake it.
                let pause = limit_timer.insert(timer.pause(time));
                if pause.as_mut().poll(cx).is_ready() {
                    cx.waker().wake_by_ref();
                }
            }

            let limit_reached = LimitReached { retry_after: shortfall.retry_after() };
            match shortfall {
                LimitShortfall::QueueFull => Poll::Ready(Err(limit_reached)),
                LimitShortfall::Time(_) | LimitShortfall::Room => {
                    deadline.as_mut().poll(cx).map(|()| Err(limit_reached))
                }
            }
        })
        .await
    }

    /// Returns this instance's share of the limits: an even one, but at least
    /// one call.
    fn instance_share(&self, protection: Protection) -> Protection {
        let instances = (*self.instances.get()).max(1);
        let share = |limit: Option<u32>| limit.map(|it| (it / instances).max(1));
        Protection {
            requests_per_minute: share(protection.requests_per_minute),
            tokens_per_minute: share(protection.tokens_per_minute),
            concurrent: share(protection.concurrent),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, UpstreamState>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone, Copy)]
struct QueuedRequest {
    group: GroupId,
    tokens: i64,
    limits: Protection,
}

/// Waiting call; dropping it leaves the queue.
struct QueuedCall<'a> {
    limiter: &'a Arc<UpstreamLimiter>,
    name: &'a str,
    position: Option<QueuePosition>,
}

impl QueuedCall<'_> {
    /// Admits the call, or queues it and returns the reason that it has to wait.
    fn poll(
        &mut self,
        request: QueuedRequest,
        now: Duration,
        cx: &Context<'_>,
    ) -> Result<(), LimitShortfall> {
        let mut states = self.limiter.lock();
        if !states.contains_key(self.name) {
            states.insert(self.name.to_owned(), UpstreamState::default());
        }

        // Never missing here: inserted above.
        let Some(state) = states.get_mut(self.name) else {
            return Err(LimitShortfall::QueueFull);
        };
        if self.position.is_none() && state.turns.len() >= MAX_WAITING {
            return Err(LimitShortfall::QueueFull);
        }

        // A call that arrives takes no turn from those that wait.
        let is_next = match self.position {
            Some(position) => state.turns.is_next(position),
            None => state.turns.len() == 0,
        };

        let shortfall =
            if is_next { state.shortfall(request, now) } else { Some(LimitShortfall::Room) };
        match shortfall {
            None => {
                state.take(request);
                if let Some(position) = self.position.take() {
                    state.turns.leave(position);
                }
                Ok(())
            }
            Some(shortfall) => {
                let position =
                    *self.position.get_or_insert_with(|| state.turns.join(request.group));
                state.turns.watch(position, cx.waker());
                Err(shortfall)
            }
        }
    }
}

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        if let Some(position) = self.position.take()
            && let Some(state) = self.limiter.lock().get_mut(self.name)
        {
            state.turns.leave(position);
        }
    }
}

impl UpstreamLoad {
    fn plus(self, other: Self) -> Self {
        Self {
            open_calls: self.open_calls + other.open_calls,
            waiting_calls: self.waiting_calls + other.waiting_calls,
        }
    }
}

impl UpstreamState {
    fn load(&self) -> UpstreamLoad {
        UpstreamLoad { open_calls: self.open.into(), waiting_calls: self.turns.len() as u64 }
    }

    fn shortfall(&mut self, request: QueuedRequest, now: Duration) -> Option<LimitShortfall> {
        let Protection { requests_per_minute, tokens_per_minute, concurrent } = request.limits;
        if concurrent.is_some_and(|it| self.open >= it) {
            return Some(LimitShortfall::Room);
        }
        let wait_for_request =
            requests_per_minute.and_then(|it| self.requests.wait_time(1, it, now));
        let wait_for_tokens =
            tokens_per_minute.and_then(|it| self.tokens.wait_time(request.tokens, it, now));
        wait_for_request.max(wait_for_tokens).map(LimitShortfall::Time)
    }

    fn take(&mut self, request: QueuedRequest) {
        self.open += 1;
        if request.limits.requests_per_minute.is_some() {
            self.requests.take(1);
        }
        if request.limits.tokens_per_minute.is_some() {
            self.tokens.take(request.tokens);
        }
    }
}

impl Permit {
    fn new(limiter: &Arc<UpstreamLimiter>, upstream: &str, tokens: i64) -> Self {
        Self {
            limiter: Some((Arc::clone(limiter), upstream.to_owned())),
            reserved_tokens: tokens,
            used_tokens: tokens,
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some((limiter, name)) = self.limiter.take() else { return };
        if let Some(state) = limiter.lock().get_mut(&name) {
            state.open = state.open.saturating_sub(1);
            state.tokens.take(self.used_tokens.saturating_sub(self.reserved_tokens));
            state.turns.wake_next();
        }
    }
}

#[cfg(test)]
mod tests;
