//! Authentication of callers with API keys.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pia_kernel::{ApiKeyId, Clock, Timestamp, Unavailable};

use crate::api_keys;
use crate::people::account::{ApiKeyRef, CallerState};
use crate::ports::{ApiKeyHash, ApiKeyStore};
use crate::sessions::caller_cache::CallerCache;

/// Number of keys that are remembered.
const MAX_CACHED_KEYS: usize = 10_000;
/// Interval at which it is written down that a key is used.
const NOTED: Duration = Duration::from_mins(1);

/// Reports whose an API key is, and how they stand.
///
/// Whose it is never changes, so that may be remembered; whether it still
/// opens anything is remembered for five seconds with all other callers, and
/// may only let pass.
#[derive(Clone)]
pub struct ApiKeyAuthenticator {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn ApiKeyStore>,
    caller_cache: CallerCache,
    clock: Arc<dyn Clock>,
    seen: Mutex<CachedUse>,
}

#[derive(Default)]
struct CachedUse {
    claims: HashMap<ApiKeyHash, ApiKeyRef>,
    /// Time at which it was last written down that a key is used.
    noted: HashMap<ApiKeyId, Timestamp>,
}

impl ApiKeyAuthenticator {
    /// Authenticator of callers with keys of this store.
    pub fn new(
        store: Arc<dyn ApiKeyStore>,
        caller_cache: CallerCache,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { inner: Arc::new(Inner { store, caller_cache, clock, seen: Mutex::default() }) }
    }

    /// Returns the hash of a presented key; nothing if it is none.
    pub fn parse(presented: &str) -> Option<ApiKeyHash> {
        api_keys::codes::hash(presented)
    }

    /// Returns the owner of the key, if that is cached.
    pub fn cached_owner(&self, hash: ApiKeyHash) -> Option<ApiKeyRef> {
        self.lock_cache().claims.get(&hash).copied()
    }

    /// Returns the owner of the key; nothing if there is no such key.
    pub async fn find(&self, hash: ApiKeyHash) -> Result<Option<ApiKeyRef>, Unavailable> {
        let found = self.inner.store.find(hash).await?;
        if let Some(session_ref) = found {
            let mut seen = self.lock_cache();
            if seen.claims.len() >= MAX_CACHED_KEYS {
                seen.claims.clear();
            }
            seen.claims.insert(hash, session_ref);
        }
        Ok(found)
    }

    /// Returns the cached state of a caller, if it is recent enough to let them
    /// pass.
    pub fn cached(&self, session_ref: ApiKeyRef) -> Option<CallerState> {
        self.inner.caller_cache.cached(session_ref)
    }

    /// Loads the current state of a caller; nothing if their account or the key
    /// is gone. Records now and then that the key is used.
    pub async fn fresh(&self, session_ref: ApiKeyRef) -> Result<Option<CallerState>, Unavailable> {
        let standing = self.inner.caller_cache.fresh(session_ref).await?;
        if standing.is_none() {
            self.lock_cache().claims.retain(|_, it| *it != session_ref);
        } else if let Some(at) = self.to_be_noted(session_ref.key) {
            // Nobody is refused for what only the key's owner learns.
            if let Err(err) = self.inner.store.used(session_ref.key, at, at - NOTED).await {
                tracing::warn!(error = %err, "failed to record API key use");
            }
        }
        Ok(standing)
    }

    /// The time, if it is to be written down that the key is used.
    fn to_be_noted(&self, key: ApiKeyId) -> Option<Timestamp> {
        let now = self.inner.clock.now();
        let mut seen = self.lock_cache();
        let fresh = |it: &Timestamp| *it <= now && now < *it + NOTED;
        if seen.noted.get(&key).is_some_and(fresh) {
            return None;
        }
        if seen.noted.len() >= MAX_CACHED_KEYS {
            seen.noted.retain(|_, it| fresh(it));
        }
        seen.noted.insert(key, now);
        Some(now)
    }

    /// Locks the cache. Nothing panics while it is held, so a poisoned one is still valid.
    fn lock_cache(&self) -> MutexGuard<'_, CachedUse> {
        self.inner.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use pia_kernel::{SessionId, UserId};
    use pia_testkit::ManualClock;

    use super::*;
    use crate::ports::{MockAccountStore, MockApiKeyStore};

    const HASH: ApiKeyHash = ApiKeyHash([7; 32]);

    fn session_ref() -> ApiKeyRef {
        ApiKeyRef { user: UserId::generate(), key: ApiKeyId::generate() }
    }

    fn callers(
        store: MockApiKeyStore,
        accounts: MockAccountStore,
    ) -> (ApiKeyAuthenticator, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::new(Timestamp::UNIX_EPOCH));
        let caller_cache = CallerCache::new(Arc::new(accounts), Arc::<ManualClock>::clone(&clock));
        let callers = ApiKeyAuthenticator::new(
            Arc::new(store),
            caller_cache,
            Arc::<ManualClock>::clone(&clock),
        );
        (callers, clock)
    }

    fn all_good() -> MockAccountStore {
        let mut accounts = MockAccountStore::new();
        accounts
            .expect_key_standing()
            .returning(|it, _| Ok(Some(CallerState::new(it.user, SessionId(it.key.0)))));
        accounts
    }

    #[tokio::test]
    async fn whose_a_key_is_is_looked_up_once() {
        let session_ref = session_ref();
        let mut store = MockApiKeyStore::new();
        store.expect_find().once().returning(move |_| Ok(Some(session_ref)));
        let (callers, _) = callers(store, all_good());

        assert_eq!(callers.cached_owner(HASH), None);
        assert_eq!(callers.find(HASH).await.unwrap(), Some(session_ref));
        assert_eq!(callers.cached_owner(HASH), Some(session_ref));
    }

    #[tokio::test]
    async fn a_key_that_is_nobodys_is_looked_up_each_time() {
        let mut store = MockApiKeyStore::new();
        store.expect_find().times(2).returning(|_| Ok(None));
        let (callers, _) = callers(store, all_good());

        for _ in 0..2 {
            assert_eq!(callers.find(HASH).await.unwrap(), None);
            assert_eq!(callers.cached_owner(HASH), None);
        }
    }

    #[tokio::test]
    async fn that_it_is_used_is_written_down_once_a_minute() {
        let session_ref = session_ref();
        let mut store = MockApiKeyStore::new();
        store
            .expect_used()
            .withf(move |key, at, not_since| *key == session_ref.key && *not_since == *at - NOTED)
            .times(2)
            .returning(|_, _, _| Ok(()));
        let (callers, clock) = callers(store, all_good());

        for pause in [0, 30, 29, 1] {
            clock.advance(Duration::from_secs(pause));
            assert!(callers.fresh(session_ref).await.unwrap().is_some());
        }
    }

    #[tokio::test]
    async fn nobody_is_refused_because_that_cannot_be_written_down() {
        let mut store = MockApiKeyStore::new();
        store.expect_used().returning(|_, _, _| Err(Unavailable::new("storage", "down")));
        let (callers, _) = callers(store, all_good());

        assert!(callers.fresh(session_ref()).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn a_key_that_opens_nothing_is_neither_noted_nor_remembered() {
        let session_ref = session_ref();
        let mut store = MockApiKeyStore::new();
        store.expect_find().returning(move |_| Ok(Some(session_ref)));
        let mut accounts = MockAccountStore::new();
        accounts.expect_key_standing().returning(|_, _| Ok(None));
        let (callers, _) = callers(store, accounts);
        callers.find(HASH).await.unwrap();

        assert!(callers.fresh(session_ref).await.unwrap().is_none());
        assert_eq!((callers.cached_owner(HASH), callers.cached(session_ref)), (None, None));
    }

    #[tokio::test]
    async fn how_a_caller_stands_is_remembered_for_five_seconds() {
        let session_ref = session_ref();
        let mut store = MockApiKeyStore::new();
        store.expect_used().returning(|_, _, _| Ok(()));
        let (callers, clock) = callers(store, all_good());
        callers.fresh(session_ref).await.unwrap();

        clock.advance(Duration::from_secs(5));
        let young = callers.cached(session_ref).is_some();
        clock.advance(Duration::from_secs(1));

        assert!(young && callers.cached(session_ref).is_none());
    }
}
