//! Keeping what is asked of each upstream within what it may be asked.

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
/// Time to wait where open calls have to end first.
const QUEUE_RETRY_AFTER: Duration = Duration::from_secs(2);

/// Lets calls to an upstream as its `Protection` says: at once while there is
/// room, and else in turns, one of each group. One for all workers of a process.
///
/// Several instances share what an upstream may be asked: each keeps to its
/// part of it.
#[derive(Debug)]
pub struct UpstreamLimiter {
    gates: Mutex<HashMap<String, UpstreamState>>,
    /// Number of instances there are; 0 counts as 1.
    instances: LiveSetting<u32>,
}

/// One that has upstreams for itself.
impl Default for UpstreamLimiter {
    fn default() -> Self {
        Self::shared_by(LiveSetting::new(1))
    }
}

/// Limiter of one upstream.
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

/// Too much is asked of the upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LimitReached {
    pub(crate) retry_after: Duration,
}

/// Upstream, and what is asked of it.
#[derive(Debug, Default)]
struct UpstreamState {
    open: u32,
    requests: Bucket,
    tokens: Bucket,
    turns: FairQueue,
}

/// Room for one call. Gone, it makes room for others.
#[derive(Debug)]
pub(crate) struct Permit {
    of: Option<(Arc<UpstreamLimiter>, String)>,
    /// The tokens that were counted for it.
    counted: i64,
    /// Tokens that the call used.
    pub(crate) took: i64,
}

/// Reason that a call has to wait.
enum LimitShortfall {
    /// This much time.
    Time(Duration),
    /// The end of another call.
    Room,
}

impl UpstreamLimiter {
    /// One of so many instances that share what upstreams may be asked.
    pub fn shared_by(instances: LiveSetting<u32>) -> Self {
        Self { gates: Mutex::default(), instances }
    }

    /// Returns the number of open calls, and how many wait to be.
    pub fn load(&self) -> (u64, u64) {
        let gates = self.lock();
        gates.values().fold((0, 0), |(open, waiting), it| {
            (open + u64::from(it.open), waiting + it.turns.len() as u64)
        })
    }

    /// Waits for room for a call of so many tokens, but not for longer than
    /// `patience`.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        to: impl Into<UpstreamQuota<'_>>,
        (group, tokens): (GroupId, i64),
        patience: Duration,
        waits: &Arc<dyn Timer>,
    ) -> Result<Permit, LimitReached> {
        let UpstreamQuota { name, protection } = to.into();
        if protection == Protection::default() {
            return Ok(Permit { of: None, counted: 0, took: 0 });
        }
        let limits = self.instance_share(protection);
        let requested = QueuedRequest { group, tokens, limits };
        let mut waiting = QueuedCall { limiter: self, name, place: None };
        let (mut end, mut time) = (waits.pause(patience), None);
        poll_fn(|cx| {
            let lack = match waiting.poll(requested, waits.elapsed(), cx) {
                Ok(()) => {
                    let of = Some((Arc::clone(self), name.to_owned()));
                    return Poll::Ready(Ok(Permit { of, counted: tokens, took: tokens }));
                }
                Err(lack) => lack,
            };
            let retry_after = match lack {
                Some(LimitShortfall::Time(left)) => {
                    // Polled once, so that it wakes this call.
                    let pause = time.insert(waits.pause(left));
                    if pause.as_mut().poll(cx).is_ready() {
                        cx.waker().wake_by_ref();
                    }
                    left
                }
                Some(LimitShortfall::Room) => QUEUE_RETRY_AFTER,
                None => return Poll::Ready(Err(LimitReached { retry_after: QUEUE_RETRY_AFTER })),
            };
            let retry_after = retry_after.max(Duration::from_secs(1));
            end.as_mut().poll(cx).map(|()| Err(LimitReached { retry_after }))
        })
        .await
    }

    /// Returns this instance's share of what all together may call: an even
    /// share, so that they never call more unless that were less than one each.
    fn instance_share(&self, whole: Protection) -> Protection {
        let instances = (*self.instances.get()).max(1);
        let part = |it: Option<u32>| it.map(|it| (it / instances).max(1));
        Protection {
            requests_per_minute: part(whole.requests_per_minute),
            tokens_per_minute: part(whole.tokens_per_minute),
            concurrent: part(whole.concurrent),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, UpstreamState>> {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone, Copy)]
struct QueuedRequest {
    group: GroupId,
    tokens: i64,
    limits: Protection,
}

/// A call that waits; dropped, it makes room for the next in turn.
struct QueuedCall<'a> {
    limiter: &'a Arc<UpstreamLimiter>,
    name: &'a str,
    place: Option<QueuePosition>,
}

impl QueuedCall<'_> {
    /// Lets the call in, or says what lacks; nothing where too many wait.
    fn poll(
        &mut self,
        requested: QueuedRequest,
        now: Duration,
        cx: &Context<'_>,
    ) -> Result<(), Option<LimitShortfall>> {
        let mut gates = self.limiter.lock();
        if !gates.contains_key(self.name) {
            gates.insert(self.name.to_owned(), UpstreamState::default());
        }
        let Some(gate) = gates.get_mut(self.name) else { return Err(None) };
        if self.place.is_none() && gate.turns.len() >= MAX_WAITING {
            return Err(None);
        }
        let is_next = match self.place {
            Some(place) => gate.turns.is_next(place),
            None => gate.turns.len() == 0,
        };
        let lack =
            if is_next { gate.shortfall(requested, now) } else { Some(LimitShortfall::Room) };
        match lack {
            None => {
                gate.take(requested);
                if let Some(place) = self.place.take() {
                    gate.turns.leave(place);
                }
                Ok(())
            }
            Some(lack) => {
                let place = *self.place.get_or_insert_with(|| gate.turns.join(requested.group));
                gate.turns.watch(place, cx.waker());
                Err(Some(lack))
            }
        }
    }
}

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place.take()
            && let Some(gate) = self.limiter.lock().get_mut(self.name)
        {
            gate.turns.leave(place);
        }
    }
}

impl UpstreamState {
    fn shortfall(&mut self, requested: QueuedRequest, now: Duration) -> Option<LimitShortfall> {
        let Protection { requests_per_minute, tokens_per_minute, concurrent } = requested.limits;
        if concurrent.is_some_and(|it| self.open >= it) {
            return Some(LimitShortfall::Room);
        }
        let requests = requests_per_minute.and_then(|it| self.requests.wait_time(1, it, now));
        let tokens =
            tokens_per_minute.and_then(|it| self.tokens.wait_time(requested.tokens, it, now));
        requests.max(tokens).map(LimitShortfall::Time)
    }

    fn take(&mut self, requested: QueuedRequest) {
        self.open += 1;
        if requested.limits.requests_per_minute.is_some() {
            self.requests.take(1);
        }
        if requested.limits.tokens_per_minute.is_some() {
            self.tokens.take(requested.tokens);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some((turnstile, name)) = self.of.take() else { return };
        if let Some(gate) = turnstile.lock().get_mut(&name) {
            gate.open = gate.open.saturating_sub(1);
            gate.tokens.take(self.took.saturating_sub(self.counted));
            gate.turns.wake_next();
        }
    }
}

#[cfg(test)]
mod tests;
