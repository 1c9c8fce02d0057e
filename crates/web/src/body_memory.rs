//! Limit of the memory that the bodies of all requests take together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ApiError;
use crate::budgets::Payer;

const UNIT: usize = 1024;
/// Memory that each request may hold without being counted: more than an
/// ordinary body, and little against what a connection costs anyway.
const UNCOUNTED_BYTES: usize = 16 * UNIT;

/// Share of the memory for callers who are not signed in: they must not be able
/// to take it from those who are.
const ANONYMOUS_SHARE_DIVISOR: usize = 8;
/// The part of a room that one caller may have.
const CALLER_SHARE_DIVISOR: usize = 4;
/// The longest body that a person sends, and the longest that an anonymous
/// caller does: each fits however little room there is.
const MIN_USER_SHARE_BYTES: usize = 32 * 1024 * 1024;
const MIN_ANONYMOUS_SHARE_BYTES: usize = 1024 * 1024;

/// Room for the bodies of all requests.
///
/// One caller has a quarter of it at most: slow or many uploads of one account
/// leave room for those of others.
#[derive(Clone)]
pub struct BodyMemory(Arc<MemoryPools>);

struct MemoryPools {
    signed_in: MemoryPool,
    anonymous: MemoryPool,
}

struct MemoryPool {
    bytes: usize,
    share: usize,
    held: Mutex<MemoryShares>,
}

/// The bytes held, together and by each caller.
#[derive(Default)]
struct MemoryShares {
    total: usize,
    by_caller: HashMap<Option<Payer>, usize>,
}

/// The room that one body takes; given back when dropped.
pub(crate) struct MemoryPermit {
    rooms: Arc<MemoryPools>,
    caller: Option<Payer>,
    bytes: usize,
}

impl BodyMemory {
    /// Room for so many bytes.
    pub fn new(bytes: usize) -> Self {
        let of_strangers = bytes / ANONYMOUS_SHARE_DIVISOR;
        Self(Arc::new(MemoryPools {
            signed_in: MemoryPool::new(
                bytes - of_strangers,
                (bytes / CALLER_SHARE_DIVISOR).max(MIN_USER_SHARE_BYTES),
            ),
            anonymous: MemoryPool::new(
                of_strangers,
                (of_strangers / CALLER_SHARE_DIVISOR).max(MIN_ANONYMOUS_SHARE_BYTES),
            ),
        }))
    }

    /// Room for a body of this caller, which holds nothing yet.
    pub(crate) fn new_permit(&self, caller: Option<Payer>) -> MemoryPermit {
        MemoryPermit { rooms: Arc::clone(&self.0), caller, bytes: 0 }
    }
}

impl MemoryPools {
    fn pool(&self, caller: Option<Payer>) -> &MemoryPool {
        match caller {
            Some(Payer::User(_)) => &self.signed_in,
            Some(Payer::Session(_) | Payer::Address(_)) | None => &self.anonymous,
        }
    }
}

impl MemoryPool {
    fn new(bytes: usize, share: usize) -> Self {
        Self { bytes, share: share.min(bytes), held: Mutex::default() }
    }

    fn take(&self, caller: Option<Payer>, bytes: usize) -> Result<(), ApiError> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let of_caller = held.by_caller.get(&caller).copied().unwrap_or(0) + bytes;
        if of_caller > self.share {
            return Err(ApiError::too_many_bodies());
        }
        if held.total + bytes > self.bytes {
            return Err(ApiError::overloaded("no memory is left for bodies"));
        }
        held.total += bytes;
        held.by_caller.insert(caller, of_caller);
        Ok(())
    }

    fn release(&self, caller: Option<Payer>, bytes: usize) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.total -= bytes;
        if let Some(of_caller) = held.by_caller.get_mut(&caller) {
            *of_caller -= bytes;
            if *of_caller == 0 {
                held.by_caller.remove(&caller);
            }
        }
    }
}

impl MemoryPermit {
    /// Returns whether any memory is reserved.
    pub(crate) fn is_counted(&self) -> bool {
        self.bytes > 0
    }

    /// Takes room until `bytes` fit.
    ///
    /// Room is taken as bytes arrive and not as they are announced: else a
    /// few who announce much and send nothing would keep all others out. Who
    /// finds none is refused at once, since waiting would hold what is there.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), ApiError> {
        let counted = bytes.saturating_sub(UNCOUNTED_BYTES).next_multiple_of(UNIT);
        if counted <= self.bytes {
            return Ok(());
        }
        self.rooms.pool(self.caller).take(self.caller, counted - self.bytes)?;
        self.bytes = counted;
        Ok(())
    }
}

impl Drop for MemoryPermit {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.rooms.pool(self.caller).release(self.caller, self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use pia_kernel::UserId;

    use super::*;

    const MIB: usize = 1024 * 1024;

    fn person() -> Payer {
        Payer::User(UserId::generate())
    }

    fn address(last: u8) -> Payer {
        Payer::address(Ipv4Addr::new(192, 0, 2, last).into())
    }

    fn code(refused: Result<(), ApiError>) -> &'static str {
        refused.unwrap_err().code_and_message().0
    }

    #[test]
    fn bodies_share_one_room_and_give_it_back() {
        let memory = BodyMemory::new(40 * MIB);
        let (mut first, mut second) =
            (memory.new_permit(Some(person())), memory.new_permit(Some(person())));
        first.grow_to(UNCOUNTED_BYTES + 30 * MIB).unwrap();

        assert_eq!(code(second.grow_to(UNCOUNTED_BYTES + 6 * MIB)), "overloaded");
        drop(first);
        assert!(second.grow_to(UNCOUNTED_BYTES + 6 * MIB).is_ok());
    }

    #[test]
    fn a_person_has_a_quarter() {
        let memory = BodyMemory::new(256 * MIB);
        let slow = person();
        let mut uploads: Vec<_> = (0..8).map(|_| memory.new_permit(Some(slow))).collect();
        let taken = uploads.iter_mut().map(|it| it.grow_to(UNCOUNTED_BYTES + 32 * MIB));
        let taken: Vec<_> = taken.map(|it| it.map_err(|err| err.code_and_message().0)).collect();

        assert_eq!(taken[..2], [Ok(()), Ok(())]);
        assert!(taken[2..].iter().all(|it| *it == Err("rate_limited")), "{taken:?}");
        assert!(memory.new_permit(Some(person())).grow_to(UNCOUNTED_BYTES + 32 * MIB).is_ok());
        drop(uploads);
        assert!(memory.new_permit(Some(slow)).grow_to(UNCOUNTED_BYTES + 64 * MIB).is_ok());
    }

    #[test]
    fn an_address_has_a_quarter_of_what_strangers_have() {
        let memory = BodyMemory::new(256 * MIB);
        let mut stranger = memory.new_permit(Some(address(1)));
        stranger.grow_to(UNCOUNTED_BYTES + 8 * MIB).unwrap();

        assert_eq!(
            code(memory.new_permit(Some(address(1))).grow_to(UNCOUNTED_BYTES + UNIT)),
            "rate_limited"
        );
        assert!(memory.new_permit(Some(address(2))).grow_to(UNCOUNTED_BYTES + 8 * MIB).is_ok());
    }

    #[test]
    fn strangers_cannot_take_the_room_of_those_who_are_signed_in() {
        let memory = BodyMemory::new(40 * MIB);
        let mut strangers: Vec<_> = (0..5).map(|it| memory.new_permit(Some(address(it)))).collect();
        for stranger in &mut strangers[..4] {
            stranger.grow_to(UNCOUNTED_BYTES + 5 * MIB / 4).unwrap();
        }

        assert_eq!(code(strangers[4].grow_to(UNCOUNTED_BYTES + UNIT)), "overloaded");
        assert!(memory.new_permit(Some(person())).grow_to(UNCOUNTED_BYTES + 32 * MIB).is_ok());
    }

    #[test]
    fn small_bodies_take_no_room() {
        let memory = BodyMemory::new(0);

        assert!(memory.new_permit(None).grow_to(UNCOUNTED_BYTES).is_ok());
    }
}
