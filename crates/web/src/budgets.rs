//! Rate limits of routes, and the callers they apply to.
//!
//! Token buckets, one for each pair of `Budget` and `Payer`. Those of
//! `Budget::IN_MEMORY` are counted by this process alone; `Auth` and `LocalAuth` in
//! the database, for all instances together. The gates choose the payer
//! (`payer_of` in `gates.rs`) and call `take_local`, and if that returns `None`
//! `take_shared`.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, RateLimiter};
use pia_identity::{RateLimitOutcome, RateLimitStore, RateQuota};
use pia_kernel::{Clock, LiveSetting, SessionId, Unavailable, UserId};

/// Number of calls after which full buckets are removed.
const SWEEP_EVERY: u32 = 4096;

/// Rate limit bucket of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Budget {
    /// Routes without a bucket of their own.
    Global,
    /// Liveness probes: the size of the global budget, counted separately.
    Health,
    /// Accounts and sessions. Counted in the database: separate counters of
    /// each instance would multiply the attempts of a guesser.
    Auth,
    /// Authentication with credentials. Counted in the database too.
    LocalAuth,
    /// Synchronisation of devices.
    Sync,
    /// Calls of upstream models.
    Ai,
    /// Reports on answers.
    Feedback,
    /// Connections of pods.
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

    /// Returns the name in the settings and in OpenAPI.
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
    /// Holder of the service key; its files take memory as those of a user do.
    Service,
    Address(IpAddr),
}

impl Payer {
    /// Returns the payer for an address. Of IPv6, the /64 prefix counts, which
    /// a provider assigns to one customer; otherwise a caller could pay from a
    /// fresh address each time.
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
        let name = budget.name();
        match self {
            Self::User(user) => format!("{name}:user:{user}"),
            Self::Session(session) => format!("{name}:session:{session}"),
            Self::Service => format!("{name}:service"),
            Self::Address(address) => format!("{name}:address:{address}"),
        }
    }
}

type Limiter = DefaultKeyedRateLimiter<Payer>;

/// Buckets that this process counts, for one set of quotas.
struct InMemoryBuckets {
    quotas: Quotas,
    limiters: [Limiter; Budget::IN_MEMORY.len()],
}

/// Buckets of every budget.
pub struct Budgets {
    buckets: LiveSetting<InMemoryBuckets>,
    shared: Arc<dyn RateLimitStore>,
    clock: Arc<dyn Clock>,
    monotonic: DefaultClock,
    calls: AtomicU32,
}

impl Budgets {
    /// Creates full buckets; those that instances share are in `shared`.
    pub fn new(quotas: Quotas, shared: Arc<dyn RateLimitStore>, clock: Arc<dyn Clock>) -> Self {
        Self {
            buckets: LiveSetting::new(InMemoryBuckets::full(quotas)),
            shared,
            clock,
            // The limiters have their own monotonic clock: none of it is
            // stored.
            monotonic: DefaultClock::default(),
            calls: AtomicU32::new(0),
        }
    }

    /// Changes the quotas. Buckets in memory start full if any quota changed.
    pub fn resize(&self, quotas: Quotas) {
        if self.buckets.get().quotas != quotas {
            self.buckets.set(InMemoryBuckets::full(quotas));
        }
    }

    /// Counts a call in memory, or returns the time to wait; `None` for a
    /// budget that instances share.
    pub(crate) fn take_local(&self, budget: Budget, payer: Payer) -> Option<RateLimitOutcome> {
        let buckets = self.buckets.get();
        let index = Budget::IN_MEMORY.iter().position(|it| *it == budget)?;
        let limiter = buckets.limiters.get(index)?;

        // Full buckets are removed, or memory would grow with every address.
        if self.calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(SWEEP_EVERY) {
            for limiter in &buckets.limiters {
                limiter.retain_recent();
            }
        }

        Some(match limiter.check_key(&payer) {
            Ok(()) => RateLimitOutcome::Allowed,
            Err(until) => RateLimitOutcome::Wait(until.wait_time_from(self.monotonic.now())),
        })
    }

    /// Counts a call in the bucket that all instances share.
    pub(crate) async fn take_shared(
        &self,
        budget: Budget,
        payer: Payer,
    ) -> Result<RateLimitOutcome, Unavailable> {
        let quota = self.buckets.get().quotas.quota(budget);
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
    fn addresses_of_one_ipv6_network_share_a_bucket() {
        let payer = |text: &str| Payer::address(text.parse().unwrap());

        assert_eq!(payer("2001:db8:1:2::1"), payer("2001:db8:1:2:ffff::9"));
        assert_ne!(payer("2001:db8:1:2::1"), payer("2001:db8:1:3::1"));
        assert_eq!(payer("::ffff:192.0.2.1"), payer("192.0.2.1"));
    }
}
