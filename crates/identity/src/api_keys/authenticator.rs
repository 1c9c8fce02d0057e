//! Authentication of callers with API keys.
//!
//! The gates call `parse`, then `cached_owner` or else `find`, and, if
//! `CallerCache` has no state that admits the caller, `load_state`
//! (`web/src/gates/credential.rs` and `caller.rs`). The methods without
//! `async` never wait for the database.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pia_kernel::{ApiKeyId, Clock, Timestamp, Unavailable};

use crate::api_keys;
use crate::people::account::{ApiKeyRef, CallerState};
use crate::ports::{ApiKeyHash, ApiKeyStore};
use crate::sessions::caller_cache::CallerCache;

/// Maximum number of cached keys.
const MAX_CACHED_KEYS: usize = 10_000;
/// Minimum interval between records of a key's use.
const USE_INTERVAL: Duration = Duration::from_mins(1);

/// Authenticates callers by API keys.
///
/// The owner of a key never changes and is cached. A caller's state is cached for five seconds. A
/// cached state may admit a caller, but never refuse one: call [`load_state`](Self::load_state)
/// first.
#[derive(Clone)]
pub struct ApiKeyAuthenticator {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn ApiKeyStore>,
    caller_cache: CallerCache,
    clock: Arc<dyn Clock>,
    cache: Mutex<CachedUse>,
}

#[derive(Default)]
struct CachedUse {
    owners: HashMap<ApiKeyHash, ApiKeyRef>,
    /// Time of the last recorded use.
    recorded_uses: HashMap<ApiKeyId, Timestamp>,
}

impl ApiKeyAuthenticator {
    /// Creates an authenticator for keys of this store.
    pub fn new(
        store: Arc<dyn ApiKeyStore>,
        caller_cache: CallerCache,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { inner: Arc::new(Inner { store, caller_cache, clock, cache: Mutex::default() }) }
    }

    /// Returns the hash of a presented key; `None` if it is malformed.
    pub fn parse(presented: &str) -> Option<ApiKeyHash> {
        api_keys::codes::hash(presented)
    }

    /// Returns the owner of the key, if that is cached.
    pub fn cached_owner(&self, hash: ApiKeyHash) -> Option<ApiKeyRef> {
        self.lock_cache().owners.get(&hash).copied()
    }

    /// Returns the owner of the key; `None` if the key is unknown.
    pub async fn find(&self, hash: ApiKeyHash) -> Result<Option<ApiKeyRef>, Unavailable> {
        let owner = self.inner.store.find(hash).await?;
        if let Some(key_ref) = owner {
            let mut cache = self.lock_cache();
            if cache.owners.len() >= MAX_CACHED_KEYS {
                cache.owners.clear();
            }
            cache.owners.insert(hash, key_ref);
        }
        Ok(owner)
    }

    /// Returns the cached state of a caller, if it is recent enough to admit them.
    pub fn cached_state(&self, key_ref: ApiKeyRef) -> Option<CallerState> {
        self.inner.caller_cache.cached(key_ref)
    }

    /// Loads the current state of a caller; `None` if the account or the key is gone. Records the
    /// use of the key from time to time.
    pub async fn load_state(&self, key_ref: ApiKeyRef) -> Result<Option<CallerState>, Unavailable> {
        let state = self.inner.caller_cache.fresh(key_ref).await?;
        if state.is_none() {
            self.lock_cache().owners.retain(|_, it| *it != key_ref);
        } else if let Some(at) = self.claim_use_record(key_ref.key) {
            // A failure to record the use does not refuse the caller.
            if let Err(err) = self.inner.store.record_use(key_ref.key, at, at - USE_INTERVAL).await
            {
                tracing::warn!(error = %err, "failed to record API key use");
            }
        }
        Ok(state)
    }

    /// Claims the recording of a use. Returns the time to record; `None` if another use was claimed
    /// less than [`USE_INTERVAL`] ago.
    fn claim_use_record(&self, key: ApiKeyId) -> Option<Timestamp> {
        let now = self.inner.clock.now();
        let mut cache = self.lock_cache();
        let is_recent = |it: &Timestamp| *it <= now && now < *it + USE_INTERVAL;
        if cache.recorded_uses.get(&key).is_some_and(is_recent) {
            return None;
        }
        if cache.recorded_uses.len() >= MAX_CACHED_KEYS {
            cache.recorded_uses.retain(|_, it| is_recent(it));
        }
        cache.recorded_uses.insert(key, now);
        Some(now)
    }

    /// Locks the cache. Nothing panics while it is held, so a poisoned one is still valid.
    fn lock_cache(&self) -> MutexGuard<'_, CachedUse> {
        self.inner.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use pia_kernel::{SessionId, UserId};
    use pia_testkit::ManualClock;

    use super::*;
    use crate::ports::{MockAccountStore, MockApiKeyStore};

    const HASH: ApiKeyHash = ApiKeyHash([7; 32]);

    fn new_key_ref() -> ApiKeyRef {
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

    fn valid_keys() -> MockAccountStore {
        let mut accounts = MockAccountStore::new();
        accounts
            .expect_key_state()
            .returning(|it, _| Ok(Some(CallerState::new(it.user, SessionId(it.key.0)))));
        accounts
    }

    #[tokio::test]
    async fn the_owner_of_a_key_is_looked_up_once() {
        let key_ref = new_key_ref();
        let mut store = MockApiKeyStore::new();
        store.expect_find().once().returning(move |_| Ok(Some(key_ref)));
        let (callers, _) = callers(store, valid_keys());

        assert_eq!(callers.cached_owner(HASH), None);
        assert_eq!(callers.find(HASH).await.unwrap(), Some(key_ref));
        assert_eq!(callers.cached_owner(HASH), Some(key_ref));
    }

    #[tokio::test]
    async fn an_unknown_key_is_looked_up_each_time() {
        let mut store = MockApiKeyStore::new();
        store.expect_find().times(2).returning(|_| Ok(None));
        let (callers, _) = callers(store, valid_keys());

        for _ in 0..2 {
            assert_eq!(callers.find(HASH).await.unwrap(), None);
            assert_eq!(callers.cached_owner(HASH), None);
        }
    }

    #[tokio::test]
    async fn a_use_is_recorded_once_a_minute() {
        let key_ref = new_key_ref();
        let mut store = MockApiKeyStore::new();
        store
            .expect_record_use()
            .withf(move |key, at, not_since| {
                *key == key_ref.key && *not_since == *at - USE_INTERVAL
            })
            .times(2)
            .returning(|_, _, _| Ok(()));
        let (callers, clock) = callers(store, valid_keys());

        for pause in [0, 30, 29, 1] {
            clock.advance(Duration::from_secs(pause));
            assert!(callers.load_state(key_ref).await.unwrap().is_some());
        }
    }

    #[tokio::test]
    async fn a_use_that_cannot_be_recorded_does_not_refuse_the_caller() {
        let mut store = MockApiKeyStore::new();
        store.expect_record_use().returning(|_, _, _| Err(Unavailable::new("storage", "down")));
        let (callers, _) = callers(store, valid_keys());

        assert!(callers.load_state(new_key_ref()).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn an_invalid_key_is_neither_recorded_nor_cached() {
        let key_ref = new_key_ref();
        let mut store = MockApiKeyStore::new();
        store.expect_find().returning(move |_| Ok(Some(key_ref)));
        let mut accounts = MockAccountStore::new();
        accounts.expect_key_state().returning(|_, _| Ok(None));
        let (callers, _) = callers(store, accounts);
        callers.find(HASH).await.unwrap();

        assert!(callers.load_state(key_ref).await.unwrap().is_none());
        assert_eq!(callers.cached_owner(HASH), None);
        assert_eq!(callers.cached_state(key_ref), None);
    }

    #[tokio::test]
    async fn a_cached_state_ends_with_its_key() {
        let key_ref = new_key_ref();
        let mut store = MockApiKeyStore::new();
        store.expect_record_use().returning(|_, _, _| Ok(()));
        let mut accounts = MockAccountStore::new();
        accounts.expect_key_state().returning(|it, now| {
            let state = CallerState::new(it.user, SessionId(it.key.0));
            let key_expires_at = Some(now + Duration::from_secs(2));
            Ok(Some(CallerState { key_expires_at, ..state }))
        });
        let (callers, clock) = callers(store, accounts);
        callers.load_state(key_ref).await.unwrap();

        clock.advance(Duration::from_secs(1));
        let before_expiry = callers.cached_state(key_ref);
        clock.advance(Duration::from_secs(1));

        assert!(before_expiry.is_some());
        assert!(callers.cached_state(key_ref).is_none());
    }

    #[tokio::test]
    async fn the_state_of_a_caller_is_cached_for_five_seconds() {
        let key_ref = new_key_ref();
        let mut store = MockApiKeyStore::new();
        store.expect_record_use().returning(|_, _, _| Ok(()));
        let (callers, clock) = callers(store, valid_keys());
        callers.load_state(key_ref).await.unwrap();

        clock.advance(Duration::from_secs(5));
        let after_five_seconds = callers.cached_state(key_ref);
        clock.advance(Duration::from_secs(1));

        assert!(after_five_seconds.is_some());
        assert!(callers.cached_state(key_ref).is_none());
    }
}
