//! Short-lived cache of callers' states.
//!
//! A gate calls `cached` and admits by its result; before it refuses, it
//! calls `fresh`, which reads the store (`web/src/gates/caller.rs`). A read
//! that began before an invalidation is not cached.

use std::sync::Arc;

use pia_kernel::{Clock, RecentCache, Unavailable, UserId};

use crate::people::account::CallerState;
use crate::ports::AccountStore;
use crate::sessions::access_tokens::SessionRef;
use crate::sessions::credential::Credential;

/// Maximum number of cached callers.
const MAX_CACHED_CALLERS: usize = 100_000;

/// Cache of the accounts and sessions that the gates check, for five seconds.
///
/// A cached state may only admit a caller: before a gate refuses, it reads the store. A use case
/// that changes an account or ends a session invalidates its entries in this process.
#[derive(Clone)]
pub struct CallerCache {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn AccountStore>,
    clock: Arc<dyn Clock>,
    states: RecentCache<Credential, CallerState>,
}

impl CallerCache {
    /// Creates a cache over `store`.
    pub fn new(store: Arc<dyn AccountStore>, clock: Arc<dyn Clock>) -> Self {
        let states = RecentCache::new(Arc::clone(&clock), MAX_CACHED_CALLERS);
        Self { inner: Arc::new(Inner { store, clock, states }) }
    }

    /// Returns the cached state of a caller, if it is recent enough to admit them.
    pub fn cached(&self, credential: impl Into<Credential>) -> Option<CallerState> {
        let credential = credential.into();
        let now = self.inner.clock.now();
        self.inner
            .states
            .get(credential.user(), &credential)
            .filter(|it| it.key_expires_at.is_none_or(|end| now < end))
    }

    /// Loads the current state of a caller; `None` if the account, the session or the key is gone.
    pub async fn fresh(
        &self,
        credential: impl Into<Credential>,
    ) -> Result<Option<CallerState>, Unavailable> {
        let Inner { store, clock, states } = &*self.inner;
        let credential = credential.into();
        let pending_read = states.begin_read(credential.user());

        let state = match credential {
            Credential::Session(it) => store.caller_state(it.user, it.session, clock.now()).await?,
            Credential::ApiKey(key) => store.key_state(key, clock.now()).await?,
        };

        match state {
            Some(state) => states.insert(credential.user(), credential, state, pending_read),
            None => states.remove(credential.user(), &credential),
        }

        Ok(state)
    }

    /// Returns the state of a caller, from the cache or else from the store.
    pub async fn caller_state(
        &self,
        session_ref: SessionRef,
    ) -> Result<Option<CallerState>, Unavailable> {
        match self.cached(session_ref) {
            Some(state) => Ok(Some(state)),
            None => self.fresh(session_ref).await,
        }
    }

    /// Returns whether the account no longer exists, always reading the store.
    pub async fn is_gone(&self, user: UserId) -> Result<bool, Unavailable> {
        Ok(self.inner.store.find(user).await?.is_none())
    }

    /// Invalidates the entry of a session that has ended.
    pub fn forget(&self, session_ref: SessionRef) {
        self.inner.states.invalidate(session_ref.user, |it| *it == Credential::from(session_ref));
    }

    /// Invalidates the entries of a user whose account has changed or whose sessions have ended.
    pub fn forget_user(&self, user: UserId) {
        self.inner.states.invalidate(user, |it| it.user() == user);
    }

    /// Invalidates every entry, after a change whose user is unknown.
    pub fn forget_everyone(&self) {
        self.inner.states.invalidate_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

    use pia_kernel::{SessionId, Timestamp};

    use super::*;
    use crate::ports::MockAccountStore;

    /// Clock set by tests.
    #[derive(Default)]
    struct SecondsClock(AtomicI64);

    impl Clock for SecondsClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_micros(self.0.load(Ordering::SeqCst))
        }
    }

    impl SecondsClock {
        fn set(&self, seconds: i64) {
            self.0.store(seconds * 1_000_000, Ordering::SeqCst);
        }
    }

    fn new_session_ref() -> SessionRef {
        SessionRef { user: UserId::generate(), session: SessionId::generate() }
    }

    fn valid_callers() -> MockAccountStore {
        let mut store = MockAccountStore::new();
        store
            .expect_caller_state()
            .returning(|user, session, _| Ok(Some(CallerState::new(user, session))));
        store
    }

    fn caller_cache(store: MockAccountStore) -> (CallerCache, Arc<SecondsClock>) {
        let seconds_clock = Arc::new(SecondsClock::default());
        let clock: Arc<dyn Clock> = Arc::<SecondsClock>::clone(&seconds_clock);
        (CallerCache::new(Arc::new(store), clock), seconds_clock)
    }

    #[tokio::test]
    async fn a_caller_is_loaded_once_in_five_seconds() {
        let mut store = MockAccountStore::new();
        store
            .expect_caller_state()
            .times(2)
            .returning(|user, session, _| Ok(Some(CallerState::new(user, session))));
        let (caller_cache, seconds_clock) = caller_cache(store);
        let session_ref = new_session_ref();

        for second in [0, 1, 5, 6] {
            seconds_clock.set(second);
            assert!(caller_cache.caller_state(session_ref).await.unwrap().is_some());
        }
    }

    #[tokio::test]
    async fn an_entry_expires_after_five_seconds_and_if_the_clock_is_set_back() {
        let (caller_cache, seconds_clock) = caller_cache(valid_callers());
        let session_ref = new_session_ref();
        seconds_clock.set(100);
        caller_cache.fresh(session_ref).await.unwrap();

        let cached_at = |second| {
            seconds_clock.set(second);
            caller_cache.cached(session_ref).is_some()
        };

        assert_eq!([99, 100, 105, 106].map(cached_at), [false, true, true, false]);
    }

    #[tokio::test]
    async fn a_refusal_is_not_cached_and_removes_the_entry() {
        let mut store = MockAccountStore::new();
        let calls = AtomicUsize::new(0);
        store.expect_caller_state().returning(move |user, session, _| {
            let is_first_call = calls.fetch_add(1, Ordering::SeqCst) == 0;
            Ok(is_first_call.then(|| CallerState::new(user, session)))
        });
        let (caller_cache, _) = caller_cache(store);
        let session_ref = new_session_ref();

        assert!(caller_cache.fresh(session_ref).await.unwrap().is_some());
        assert!(caller_cache.fresh(session_ref).await.unwrap().is_none());
        assert_eq!(caller_cache.cached(session_ref), None);
    }

    #[tokio::test]
    async fn only_the_ended_session_is_invalidated() {
        let (caller_cache, _) = caller_cache(valid_callers());
        let ended_session = new_session_ref();
        let open_session = new_session_ref();
        for session_ref in [ended_session, open_session] {
            caller_cache.fresh(session_ref).await.unwrap();
        }

        caller_cache.forget(ended_session);

        assert!(caller_cache.cached(ended_session).is_none());
        assert!(caller_cache.cached(open_session).is_some());
    }

    #[tokio::test]
    async fn all_sessions_of_a_changed_account_are_invalidated() {
        let (caller_cache, _) = caller_cache(valid_callers());
        let ada_at_home = new_session_ref();
        let ada_at_work = SessionRef { session: SessionId::generate(), ..ada_at_home };
        let grace = new_session_ref();
        for session_ref in [ada_at_home, ada_at_work, grace] {
            caller_cache.fresh(session_ref).await.unwrap();
        }

        caller_cache.forget_user(ada_at_home.user);

        assert!(caller_cache.cached(ada_at_home).is_none());
        assert!(caller_cache.cached(ada_at_work).is_none());
        assert!(caller_cache.cached(grace).is_some());
    }

    /// Returns the cached state after an invalidation during the read.
    async fn cached_after(invalidate: fn(&CallerCache, SessionRef)) -> Option<CallerState> {
        let gates: Arc<OnceLock<CallerCache>> = Arc::default();
        let mut store = MockAccountStore::new();
        let cache_in_store = Arc::clone(&gates);
        store.expect_caller_state().returning(move |user, session, _| {
            invalidate(cache_in_store.get().unwrap(), SessionRef { user, session });
            Ok(Some(CallerState::new(user, session)))
        });
        let (caller_cache, _) = caller_cache(store);
        let session_ref = new_session_ref();
        gates.set(caller_cache.clone()).ok().unwrap();

        assert!(caller_cache.fresh(session_ref).await.unwrap().is_some());
        caller_cache.cached(session_ref)
    }

    #[tokio::test]
    async fn a_read_that_began_before_a_change_is_not_cached() {
        assert!(cached_after(|_, _| {}).await.is_some());
        assert!(cached_after(CallerCache::forget).await.is_none());
        assert!(
            cached_after(|caller_cache, session_ref| caller_cache.forget_user(session_ref.user))
                .await
                .is_none()
        );
        assert!(cached_after(|caller_cache, _| caller_cache.forget_everyone()).await.is_none());
    }

    #[tokio::test]
    async fn an_outage_is_an_error_and_is_not_cached() {
        let mut store = MockAccountStore::new();
        store.expect_caller_state().returning(|_, _, _| Err(Unavailable::new("storage", "down")));
        let (caller_cache, _) = caller_cache(store);
        let session_ref = new_session_ref();

        assert!(caller_cache.caller_state(session_ref).await.is_err());
        assert_eq!(caller_cache.cached(session_ref), None);
    }
}
