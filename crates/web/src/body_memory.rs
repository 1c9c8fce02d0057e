//! Limit of the memory that all request bodies take together.
//!
//! Two pools, of signed-in and of anonymous callers, each with a maximum share for
//! one caller. `reading.rs` takes a `MemoryPermit` for each body and grows it as
//! chunks arrive; the permit lives in the bytes and is released with the last slice
//! of them, which may be long after the handler has returned.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ApiError;
use crate::budgets::Payer;

/// Granularity of reservations, in bytes: small chunks do not take the lock each
/// time.
const UNIT: usize = 1024;
/// Memory that each request may use without being counted: more than an
/// ordinary body, and little compared to the cost of a connection.
const UNCOUNTED_BYTES: usize = 16 * UNIT;

/// Anonymous callers get an eighth of the memory: they must not be able to exhaust
/// that of signed-in ones.
const ANONYMOUS_SHARE_DIVISOR: usize = 8;
/// One caller gets a quarter, of all memory or of the anonymous pool.
const CALLER_SHARE_DIVISOR: usize = 4;
/// Minimum share of a user, and of an anonymous caller: the largest body that
/// either sends fits, however small the pool is.
const MIN_USER_SHARE_BYTES: usize = 32 * 1024 * 1024;
const MIN_ANONYMOUS_SHARE_BYTES: usize = 1024 * 1024;

/// Memory for the bodies of all requests.
///
/// One caller gets a quarter of it at most: slow or many uploads of one account
/// leave memory for those of others.
#[derive(Clone)]
pub struct BodyMemory(Arc<MemoryPools>);

struct MemoryPools {
    signed_in: MemoryPool,
    anonymous: MemoryPool,
}

struct MemoryPool {
    bytes: usize,
    share: usize,
    shares: Mutex<MemoryShares>,
}

/// Reserved bytes, in total and by caller.
#[derive(Default)]
struct MemoryShares {
    total: usize,
    by_caller: HashMap<Option<Payer>, usize>,
}

/// Memory reserved for one body; released when dropped.
pub(crate) struct MemoryPermit {
    pools: Arc<MemoryPools>,
    caller: Option<Payer>,
    bytes: usize,
}

impl BodyMemory {
    /// Creates a limit of `bytes`.
    pub fn new(bytes: usize) -> Self {
        let anonymous_bytes = bytes / ANONYMOUS_SHARE_DIVISOR;
        Self(Arc::new(MemoryPools {
            signed_in: MemoryPool::new(
                bytes - anonymous_bytes,
                (bytes / CALLER_SHARE_DIVISOR).max(MIN_USER_SHARE_BYTES),
            ),
            anonymous: MemoryPool::new(
                anonymous_bytes,
                (anonymous_bytes / CALLER_SHARE_DIVISOR).max(MIN_ANONYMOUS_SHARE_BYTES),
            ),
        }))
    }

    /// Creates an empty permit for a body of this caller.
    pub(crate) fn new_permit(&self, caller: Option<Payer>) -> MemoryPermit {
        MemoryPermit { pools: Arc::clone(&self.0), caller, bytes: 0 }
    }
}

impl MemoryPools {
    fn pool(&self, caller: Option<Payer>) -> &MemoryPool {
        match caller {
            Some(Payer::User(_) | Payer::Service) => &self.signed_in,
            Some(Payer::Session(_) | Payer::Address(_)) | None => &self.anonymous,
        }
    }
}

impl MemoryPool {
    fn new(bytes: usize, share: usize) -> Self {
        Self { bytes, share: share.min(bytes), shares: Mutex::default() }
    }

    fn take(&self, caller: Option<Payer>, bytes: usize) -> Result<(), ApiError> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let caller_bytes = shares.by_caller.get(&caller).copied().unwrap_or(0) + bytes;
        if caller_bytes > self.share {
            return Err(ApiError::too_many_bodies());
        }
        if shares.total + bytes > self.bytes {
            return Err(ApiError::overloaded("no memory is left for bodies"));
        }

        shares.total += bytes;
        shares.by_caller.insert(caller, caller_bytes);
        Ok(())
    }

    fn release(&self, caller: Option<Payer>, bytes: usize) {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares.total -= bytes;
        if let Some(caller_bytes) = shares.by_caller.get_mut(&caller) {
            *caller_bytes -= bytes;
            if *caller_bytes == 0 {
                shares.by_caller.remove(&caller);
            }
        }
    }
}

impl MemoryPermit {
    /// Returns whether any memory is reserved.
    pub(crate) fn is_counted(&self) -> bool {
        self.bytes > 0
    }

    /// Reserves memory for `bytes` in total.
    ///
    /// Memory is reserved as bytes arrive and not as they are announced:
    /// otherwise a few clients that announce much and send nothing would lock
    /// out all others. If none is left, the request fails at once, since
    /// waiting would block what is already reserved.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), ApiError> {
        let counted = bytes.saturating_sub(UNCOUNTED_BYTES).next_multiple_of(UNIT);
        if counted <= self.bytes {
            return Ok(());
        }
        self.pools.pool(self.caller).take(self.caller, counted - self.bytes)?;
        self.bytes = counted;
        Ok(())
    }
}

impl Drop for MemoryPermit {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.pools.pool(self.caller).release(self.caller, self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use pia_kernel::UserId;

    use super::*;

    const MIB: usize = 1024 * 1024;

    fn user() -> Payer {
        Payer::User(UserId::generate())
    }

    fn address(last: u8) -> Payer {
        Payer::address(Ipv4Addr::new(192, 0, 2, last).into())
    }

    fn code(result: Result<(), ApiError>) -> &'static str {
        result.unwrap_err().code_and_message().0
    }

    #[test]
    fn bodies_share_one_pool_and_release_it() {
        let memory = BodyMemory::new(40 * MIB);
        let mut large_permit = memory.new_permit(Some(user()));
        let mut small_permit = memory.new_permit(Some(user()));
        large_permit.grow_to(UNCOUNTED_BYTES + 30 * MIB).unwrap();

        // Signed-in callers share 35 of the 40 MiB.
        assert_eq!(code(small_permit.grow_to(UNCOUNTED_BYTES + 6 * MIB)), "overloaded");
        drop(large_permit);
        assert!(small_permit.grow_to(UNCOUNTED_BYTES + 6 * MIB).is_ok());
    }

    #[test]
    fn a_user_has_a_quarter() {
        let memory = BodyMemory::new(256 * MIB);
        let slow_user = user();
        let mut uploads: Vec<_> = (0..8).map(|_| memory.new_permit(Some(slow_user))).collect();
        let results: Vec<_> = uploads
            .iter_mut()
            .map(|it| it.grow_to(UNCOUNTED_BYTES + 32 * MIB))
            .map(|it| it.map_err(|err| err.code_and_message().0))
            .collect();

        assert_eq!(results[..2], [Ok(()), Ok(())]);
        assert!(results[2..].iter().all(|it| *it == Err("rate_limited")), "{results:?}");
        assert!(memory.new_permit(Some(user())).grow_to(UNCOUNTED_BYTES + 32 * MIB).is_ok());
        drop(uploads);
        assert!(memory.new_permit(Some(slow_user)).grow_to(UNCOUNTED_BYTES + 64 * MIB).is_ok());
    }

    #[test]
    fn the_holder_of_the_service_key_has_the_share_of_a_user() {
        let memory = BodyMemory::new(40 * MIB);

        assert!(memory.new_permit(Some(Payer::Service)).grow_to(24 * MIB).is_ok());
    }

    #[test]
    fn an_address_has_a_quarter_of_the_anonymous_share() {
        let memory = BodyMemory::new(256 * MIB);
        let mut permit = memory.new_permit(Some(address(1)));
        permit.grow_to(UNCOUNTED_BYTES + 8 * MIB).unwrap();

        assert_eq!(
            code(memory.new_permit(Some(address(1))).grow_to(UNCOUNTED_BYTES + UNIT)),
            "rate_limited"
        );
        assert!(memory.new_permit(Some(address(2))).grow_to(UNCOUNTED_BYTES + 8 * MIB).is_ok());
    }

    #[test]
    fn anonymous_callers_cannot_exhaust_the_memory_of_users() {
        let memory = BodyMemory::new(40 * MIB);
        let mut permits: Vec<_> = (0..5).map(|it| memory.new_permit(Some(address(it)))).collect();
        for permit in &mut permits[..4] {
            permit.grow_to(UNCOUNTED_BYTES + 5 * MIB / 4).unwrap();
        }

        assert_eq!(code(permits[4].grow_to(UNCOUNTED_BYTES + UNIT)), "overloaded");
        assert!(memory.new_permit(Some(user())).grow_to(UNCOUNTED_BYTES + 32 * MIB).is_ok());
    }

    #[test]
    fn small_bodies_are_not_counted() {
        let memory = BodyMemory::new(0);

        assert!(memory.new_permit(None).grow_to(UNCOUNTED_BYTES).is_ok());
    }
}
