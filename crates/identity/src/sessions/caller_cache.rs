//! Cache of callers' states, for a few seconds.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pia_kernel::{Clock, Timestamp, Unavailable, UserId};

use crate::people::account::CallerState;
use crate::ports::AccountStore;
use crate::sessions::access_tokens::SessionRef;
use crate::sessions::credential::Credential;

/// Maximum age of a cached entry.
const FRESH: Duration = Duration::from_secs(5);
/// Maximum number of cached callers in all shards together.
const MAX_CACHED_CALLERS: usize = 100_000;
/// Requests ask at the same time, and seldom for the same shard.
const SHARDS: usize = 64;
/// Below this a shard is not worth sweeping.
const SMALL: usize = 64;

/// Accounts and sessions as the gates see them, remembered for five seconds.
///
/// What is remembered may only let pass: before a gate refuses, it asks anew.
/// A use case that changes an account or ends a session says so, and from
/// then on nothing that was read before is remembered in this process.
#[derive(Clone)]
pub struct CallerCache {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn AccountStore>,
    clock: Arc<dyn Clock>,
    hasher: RandomState,
    shards: Vec<Mutex<Shard>>,
    most_in_shard: usize,
}

/// The copies of some users, all of a user's in one shard.
#[derive(Default)]
struct Shard {
    /// Number of invalidations in this shard: a read that began before one is
    /// not cached after it.
    forgotten: u64,
    copies: HashMap<Credential, CachedState>,
    /// Number of copies at which old ones are swept.
    sweep_at: usize,
}

struct CachedState {
    standing: CallerState,
    /// Time at which the read began.
    at: Timestamp,
}

impl CallerCache {
    /// Standings over the given store.
    pub fn new(store: Arc<dyn AccountStore>, clock: Arc<dyn Clock>) -> Self {
        Self::of_size(store, clock, SHARDS, MAX_CACHED_CALLERS)
    }

    fn of_size(
        store: Arc<dyn AccountStore>,
        clock: Arc<dyn Clock>,
        shards: usize,
        most: usize,
    ) -> Self {
        let most_in_shard = most / shards.max(1);
        let shards = std::iter::repeat_with(Mutex::default).take(shards).collect();
        let inner = Inner { store, clock, hasher: RandomState::new(), shards, most_in_shard };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the cached state of a caller, if it is recent enough to let them
    /// pass.
    pub fn cached(&self, credential: impl Into<Credential>) -> Option<CallerState> {
        let (now, credential) = (self.inner.clock.now(), credential.into());
        let shard = self.shard(credential.user())?;
        shard.copies.get(&credential).filter(|it| it.is_fresh(now)).map(|it| it.standing)
    }

    /// Loads the current state of a caller; nothing if their account is gone, or
    /// the session or the key.
    pub async fn fresh(
        &self,
        credential: impl Into<Credential>,
    ) -> Result<Option<CallerState>, Unavailable> {
        let (at, store, credential) =
            (self.inner.clock.now(), &self.inner.store, credential.into());
        let forgotten = self.shard(credential.user()).map(|it| it.forgotten);
        let standing = match credential {
            Credential::Session(it) => store.standing(it.user, it.session, at).await?,
            Credential::ApiKey(key) => store.key_standing(key, at).await?,
        };
        if let Some(mut shard) = self.shard(credential.user()) {
            match standing {
                Some(standing) if forgotten == Some(shard.forgotten) => {
                    shard.keep(credential, CachedState { standing, at }, self.inner.most_in_shard);
                }
                // It may have been read before what has changed since.
                Some(_) => {}
                None => drop(shard.copies.remove(&credential)),
            }
        }
        Ok(standing)
    }

    /// Returns the state of a caller, from the cache or else from the store.
    pub async fn standing(&self, claim: SessionRef) -> Result<Option<CallerState>, Unavailable> {
        match self.cached(claim) {
            Some(standing) => Ok(Some(standing)),
            None => self.fresh(claim).await,
        }
    }

    /// Returns whether the account no longer exists, always reading the store.
    pub async fn is_gone(&self, user: UserId) -> Result<bool, Unavailable> {
        Ok(self.inner.store.find(user).await?.is_none())
    }

    /// A session has ended.
    pub fn forget(&self, claim: SessionRef) {
        if let Some(mut shard) = self.shard(claim.user) {
            shard.forgotten += 1;
            shard.copies.remove(&claim.into());
        }
    }

    /// A user's account has changed, or sessions of theirs have ended.
    pub fn forget_user(&self, user: UserId) {
        if let Some(mut shard) = self.shard(user) {
            shard.forgotten += 1;
            shard.copies.retain(|it, _| it.user() != user);
        }
    }

    /// Something has changed, and whom it concerns is not known.
    pub fn forget_everyone(&self) {
        for shard in &self.inner.shards {
            let mut shard = lock(shard);
            shard.forgotten += 1;
            shard.copies.clear();
        }
    }

    fn shard(&self, user: UserId) -> Option<MutexGuard<'_, Shard>> {
        let hash = usize::try_from(self.inner.hasher.hash_one(user) >> 32).unwrap_or_default();
        let index = hash.checked_rem(self.inner.shards.len())?;
        self.inner.shards.get(index).map(lock)
    }
}

impl Shard {
    /// Remembers a copy. Old ones leave when there are twice as many as after
    /// the last sweep; of more than the most, the newest are not remembered.
    fn keep(&mut self, credential: Credential, copy: CachedState, most: usize) {
        if self.copies.len() >= self.sweep_at.max(SMALL).min(most) {
            self.copies.retain(|_, it| it.is_fresh(copy.at));
            self.sweep_at = self.copies.len() * 2;
        }
        if self.copies.len() < most || self.copies.contains_key(&credential) {
            self.copies.insert(credential, copy);
        }
    }
}

impl CachedState {
    /// Returns whether an entry is recent. One from the future was read on a
    /// clock that was set back since.
    fn is_fresh(&self, now: Timestamp) -> bool {
        self.at <= now && now <= self.at + FRESH
    }
}

/// Nothing panics while it holds the lock, so what a poisoned one guards is whole.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

    use pia_kernel::SessionId;

    use super::*;
    use crate::ports::MockAccountStore;

    /// A clock that tests set.
    #[derive(Default)]
    struct FakeHasher(AtomicI64);

    impl Clock for FakeHasher {
        fn now(&self) -> Timestamp {
            Timestamp::from_micros(self.0.load(Ordering::SeqCst))
        }
    }

    impl FakeHasher {
        fn set(&self, seconds: i64) {
            self.0.store(seconds * 1_000_000, Ordering::SeqCst);
        }
    }

    fn claim() -> SessionRef {
        SessionRef { user: UserId::generate(), session: SessionId::generate() }
    }

    fn good(user: UserId, session: SessionId) -> CallerState {
        CallerState::new(user, session)
    }

    fn all_good() -> MockAccountStore {
        let mut store = MockAccountStore::new();
        store.expect_standing().returning(|user, session, _| Ok(Some(good(user, session))));
        store
    }

    fn standings(store: MockAccountStore) -> (CallerCache, Arc<FakeHasher>) {
        let hands = Arc::new(FakeHasher::default());
        let clock: Arc<dyn Clock> = Arc::<FakeHasher>::clone(&hands);
        (CallerCache::new(Arc::new(store), clock), hands)
    }

    #[tokio::test]
    async fn a_caller_is_looked_at_once_in_five_seconds() {
        let mut store = MockAccountStore::new();
        store
            .expect_standing()
            .times(2)
            .returning(|user, session, _| Ok(Some(good(user, session))));
        let ((standings, hands), claim) = (standings(store), claim());

        for second in [0, 1, 5, 6] {
            hands.set(second);
            assert!(standings.standing(claim).await.unwrap().is_some());
        }
    }

    #[tokio::test]
    async fn what_is_remembered_is_gone_after_five_seconds_and_under_a_clock_set_back() {
        let ((standings, hands), claim) = (standings(all_good()), claim());
        hands.set(100);
        standings.fresh(claim).await.unwrap();

        let cached_at = |second| {
            hands.set(second);
            standings.cached(claim).is_some()
        };

        assert_eq!([99, 100, 105, 106].map(cached_at), [false, true, true, false]);
    }

    #[tokio::test]
    async fn a_refusal_is_not_remembered_and_ends_what_was() {
        let mut store = MockAccountStore::new();
        let asked = AtomicUsize::new(0);
        store.expect_standing().returning(move |user, session, _| {
            let first = asked.fetch_add(1, Ordering::SeqCst) == 0;
            Ok(first.then(|| good(user, session)))
        });
        let ((standings, _), claim) = (standings(store), claim());

        let first = standings.fresh(claim).await.unwrap();
        let second = standings.fresh(claim).await.unwrap();

        assert_eq!((first.is_some(), second.is_some()), (true, false));
        assert_eq!(standings.cached(claim), None);
    }

    #[tokio::test]
    async fn an_ended_session_is_forgotten_and_no_other() {
        let (standings, _) = standings(all_good());
        let (ended, other) = (claim(), claim());
        for claim in [ended, other] {
            standings.fresh(claim).await.unwrap();
        }

        standings.forget(ended);

        assert!(standings.cached(ended).is_none() && standings.cached(other).is_some());
    }

    #[tokio::test]
    async fn a_changed_account_is_forgotten_with_all_its_sessions() {
        let (standings, _) = standings(all_good());
        let (first, other) = (claim(), claim());
        let second = SessionRef { session: SessionId::generate(), ..first };
        for claim in [first, second, other] {
            standings.fresh(claim).await.unwrap();
        }

        standings.forget_user(first.user);

        assert!(standings.cached(first).is_none() && standings.cached(second).is_none());
        assert!(standings.cached(other).is_some());
    }

    /// A store in whose reading something is forgotten.
    async fn cached_after(forget_meanwhile: fn(&CallerCache, SessionRef)) -> Option<CallerState> {
        let gates: Arc<OnceLock<CallerCache>> = Arc::default();
        let mut store = MockAccountStore::new();
        let seen = Arc::clone(&gates);
        store.expect_standing().returning(move |user, session, _| {
            forget_meanwhile(seen.get().unwrap(), SessionRef { user, session });
            Ok(Some(good(user, session)))
        });
        let ((standings, _), claim) = (standings(store), claim());
        gates.set(standings.clone()).ok().unwrap();

        assert!(standings.fresh(claim).await.unwrap().is_some());
        standings.cached(claim)
    }

    #[tokio::test]
    async fn a_look_that_began_before_a_change_is_not_remembered_after_it() {
        assert!(cached_after(|_, _| {}).await.is_some());
        assert!(cached_after(CallerCache::forget).await.is_none());
        assert!(cached_after(|standings, claim| standings.forget_user(claim.user)).await.is_none());
        assert!(cached_after(|standings, _| standings.forget_everyone()).await.is_none());
    }

    #[tokio::test]
    async fn no_more_are_remembered_than_fit_and_old_ones_make_room() {
        let hands = Arc::new(FakeHasher::default());
        let clock: Arc<dyn Clock> = Arc::<FakeHasher>::clone(&hands);
        let standings = CallerCache::of_size(Arc::new(all_good()), clock, 1, 100);
        let kept = || standings.inner.shards.iter().map(|it| lock(it).copies.len()).sum::<usize>();
        for _ in 0..250 {
            standings.fresh(claim()).await.unwrap();
        }

        let full = kept();
        hands.set(6);
        let late = claim();
        standings.fresh(late).await.unwrap();

        assert_eq!((full, kept()), (100, 1));
        assert!(standings.cached(late).is_some());
    }

    #[tokio::test]
    async fn an_outage_is_told_and_nothing_is_remembered_of_it() {
        let mut store = MockAccountStore::new();
        store.expect_standing().returning(|_, _, _| Err(Unavailable::new("storage", "down")));
        let ((standings, _), claim) = (standings(store), claim());

        assert!(standings.standing(claim).await.is_err());
        assert_eq!(standings.cached(claim), None);
    }
}
