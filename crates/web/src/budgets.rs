//! Rate limits of routes, and the callers that they are counted by.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, RateLimiter};
use pia_identity::{RateLimitOutcome, RateLimitStore, RateQuota};
use pia_kernel::{Clock, LiveSetting, SessionId, Unavailable, UserId};

const SWEEP_EVERY: u32 = 4096;

/// Bucket that a route takes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Budget {
    /// Bucket of every route without another.
    Global,
    /// Probes of liveness: of the global budget's size, apart from it.
    Health,
    /// Accounts and sessions. Counted in the database, since instances that
    /// counted apart would allow a guesser so many times as much.
    Auth,
    /// Proving who one is. Counted in the database too.
    LocalAuth,
    /// Keeping devices in step.
    Sync,
    /// Calling upstream models.
    Ai,
    /// Complaining about an answer.
    Feedback,
    /// Pods that connect.
    PodUplink,
    /// Identity providers that manage users and groups.
    Scim,
}

impl Budget {
    const IN_MEMORY: [Self; 7] = [
        Self::Global,
        Self::Health,
        Self::Sync,
        Self::Ai,
        Self::Feedback,
        Self::PodUplink,
        Self::Scim,
    ];

    /// Name in the settings and in OpenAPI.
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Health => "health",
            Self::Auth => "auth",
            Self::LocalAuth => "local-auth",
            Self::Sync => "sync",
            Self::Ai => "ai",
            Self::Feedback => "feedback",
            Self::PodUplink => "pod-uplink",
            Self::Scim => "scim",
        }
    }
}

/// Size of each budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// Quota of [`Budget::Global`] and [`Budget::Health`].
    pub global: RateQuota,
    /// Quota of [`Budget::Auth`].
    pub auth: RateQuota,
    /// Quota of [`Budget::LocalAuth`].
    pub local_auth: RateQuota,
    /// Quota of [`Budget::Sync`].
    pub sync: RateQuota,
    /// Quota of [`Budget::Ai`].
    pub ai: RateQuota,
    /// Quota of [`Budget::Feedback`].
    pub feedback: RateQuota,
    /// Quota of [`Budget::PodUplink`].
    pub pod_uplink: RateQuota,
    /// Quota of [`Budget::Scim`].
    pub scim: RateQuota,
}

impl Quotas {
    fn quota(&self, budget: Budget) -> RateQuota {
        match budget {
            Budget::Global | Budget::Health => self.global,
            Budget::Auth => self.auth,
            Budget::LocalAuth => self.local_auth,
            Budget::Sync => self.sync,
            Budget::Ai => self.ai,
            Budget::Feedback => self.feedback,
            Budget::PodUplink => self.pod_uplink,
            Budget::Scim => self.scim,
        }
    }
}

/// Owner of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Payer {
    User(UserId),
    Session(SessionId),
    Address(IpAddr),
}

impl Payer {
    /// An address as it is counted: of IPv6 the 64 bits that a provider hands
    /// to one customer, who could otherwise pay from a fresh one each time.
    pub(crate) fn address(address: IpAddr) -> Self {
        Self::Address(match address {
            IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or_else(
                || IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64))),
                IpAddr::V4,
            ),
            v4 @ IpAddr::V4(_) => v4,
        })
    }

    fn key(self, budget: Budget) -> String {
        let budget = budget.name();
        match self {
            Self::User(user) => format!("{budget}:user:{user}"),
            Self::Session(session) => format!("{budget}:session:{session}"),
            Self::Address(address) => format!("{budget}:address:{address}"),
        }
    }
}

type Limiter = DefaultKeyedRateLimiter<Payer>;

/// The buckets that this process counts alone, for one set of quotas.
struct InMemoryBuckets {
    quotas: Quotas,
    limiters: [Limiter; Budget::IN_MEMORY.len()],
}

/// The buckets of every budget.
pub struct Budgets {
    counted: LiveSetting<InMemoryBuckets>,
    shared: Arc<dyn RateLimitStore>,
    clock: Arc<dyn Clock>,
    monotonic: DefaultClock,
    calls: AtomicU32,
}

impl Budgets {
    /// Full buckets; those that instances share are stored in `shared`.
    pub fn new(quotas: Quotas, shared: Arc<dyn RateLimitStore>, clock: Arc<dyn Clock>) -> Self {
        Self {
            counted: LiveSetting::new(InMemoryBuckets::full(quotas)),
            shared,
            clock,
            // The limiters have their own, monotonic time: nothing of it is stored.
            monotonic: DefaultClock::default(),
            calls: AtomicU32::new(0),
        }
    }

    /// Goes on with other quotas; buckets in memory start full where any changed.
    pub fn resize(&self, quotas: Quotas) {
        if self.counted.get().quotas != quotas {
            self.counted.set(InMemoryBuckets::full(quotas));
        }
    }

    /// Counts one call here, or reports how long until there is room for it;
    /// nothing if it is a budget that instances share.
    pub(crate) fn take_here(&self, budget: Budget, payer: Payer) -> Option<RateLimitOutcome> {
        let counted = self.counted.get();
        let index = Budget::IN_MEMORY.iter().position(|it| *it == budget)?;
        let limiter = counted.limiters.get(index)?;
        // Buckets that are full again go, or memory grows with every address.
        if self.calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(SWEEP_EVERY) {
            for limiter in &counted.limiters {
                limiter.retain_recent();
            }
        }
        Some(match limiter.check_key(&payer) {
            Ok(()) => RateLimitOutcome::Allowed,
            Err(until) => RateLimitOutcome::Wait(until.wait_time_from(self.monotonic.now())),
        })
    }

    /// Takes from the bucket that all instances share.
    pub(crate) async fn take_shared(
        &self,
        budget: Budget,
        payer: Payer,
    ) -> Result<RateLimitOutcome, Unavailable> {
        let quota = self.counted.get().quotas.quota(budget);
        self.shared.attempt(&payer.key(budget), quota, self.clock.now()).await
    }
}

impl InMemoryBuckets {
    fn full(quotas: Quotas) -> Self {
        Self { quotas, limiters: Budget::IN_MEMORY.map(|budget| limiter(quotas.quota(budget))) }
    }
}

fn limiter(quota: RateQuota) -> Limiter {
    let burst = NonZeroU32::new(quota.burst).unwrap_or(NonZeroU32::MIN);
    let steady = governor::Quota::with_period(quota.interval());
    RateLimiter::keyed(
        steady.map_or(governor::Quota::per_second(burst), |it| it.allow_burst(burst)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_in_one_ipv6_network_pay_together() {
        let payer = |text: &str| Payer::address(text.parse().unwrap());

        assert_eq!(payer("2001:db8:1:2::1"), payer("2001:db8:1:2:ffff::9"));
        assert_ne!(payer("2001:db8:1:2::1"), payer("2001:db8:1:3::1"));
        assert_eq!(payer("::ffff:192.0.2.1"), payer("192.0.2.1"));
    }
}
