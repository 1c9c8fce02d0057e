//! Administration of other people's API keys.

use std::sync::Arc;

use pia_kernel::{ApiKeyId, Clock, SideEffects, Timestamp, Unavailable, UserId};

use crate::api_keys::{RemoveApiKeyError, ended};
use crate::people::account::ApiKeyRef;
use crate::ports::{ApiKeyEntry, ApiKeyStore};
use crate::sessions::caller_cache::CallerCache;

/// Lists people's API keys and ends them. Whether somebody may do so is for the
/// surface to ask.
#[derive(Clone)]
pub struct ApiKeyAdmin {
    store: Arc<dyn ApiKeyStore>,
    caller_cache: CallerCache,
    clock: Arc<dyn Clock>,
}

impl ApiKeyAdmin {
    /// Keys in the given store; `caller_cache` is notified of those that end.
    pub fn new(
        store: Arc<dyn ApiKeyStore>,
        caller_cache: CallerCache,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, caller_cache, clock }
    }

    /// A user's keys, in the order they were made.
    pub async fn list(&self, user: UserId) -> Result<Vec<ApiKeyEntry>, Unavailable> {
        self.store.list(user).await
    }

    /// Takes a key away, whoever it is of. Its owner gets a letter.
    pub async fn revoke(&self, key: ApiKeyId) -> Result<(), RemoveApiKeyError> {
        let owner = self.store.owner(key).await?.ok_or(RemoveApiKeyError::Unknown)?;
        let session_ref = ApiKeyRef { user: owner, key };
        let found = self.store.remove(session_ref, self.clock.now(), taken_away).await?;
        self.caller_cache.forget_user(owner);
        if found { Ok(()) } else { Err(RemoveApiKeyError::Unknown) }
    }
}

fn taken_away(session_ref: ApiKeyRef, at: Timestamp, name: &str) -> SideEffects {
    ended(session_ref, at, name, |user| (None, Some(user)))
}

#[cfg(test)]
mod tests {
    use pia_kernel::SessionId;
    use pia_testkit::FixedClock;

    use super::*;
    use crate::people::account::CallerState;
    use crate::ports::{MockAccountStore, MockApiKeyStore};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn over(store: MockApiKeyStore) -> (ApiKeyAdmin, CallerCache) {
        let mut accounts = MockAccountStore::new();
        accounts
            .expect_key_standing()
            .returning(|it, _| Ok(Some(CallerState::new(it.user, SessionId(it.key.0)))));
        let clock = Arc::new(FixedClock(NOW));
        let caller_cache = CallerCache::new(Arc::new(accounts), Arc::<FixedClock>::clone(&clock));
        (ApiKeyAdmin::new(Arc::new(store), caller_cache.clone(), clock), caller_cache)
    }

    #[tokio::test]
    async fn a_key_that_is_taken_away_names_its_owner_and_opens_nothing_at_once() {
        let session_ref = ApiKeyRef { user: UserId::generate(), key: ApiKeyId::generate() };
        let mut store = MockApiKeyStore::new();
        store.expect_owner().returning(move |_| Ok(Some(session_ref.user)));
        store
            .expect_remove()
            .withf(move |it, at, effects| {
                let effects = effects(*it, *at, "a script");
                let [entry] = effects.audit.as_slice() else { return false };
                *it == session_ref
                    && (entry.actor, entry.subject) == (None, Some(session_ref.user))
                    && entry.action == "ApiKey.Revoked"
                    && effects.mail.len() == 1
            })
            .returning(|_, _, _| Ok(true));
        let (keys, caller_cache) = over(store);
        caller_cache.fresh(session_ref).await.unwrap();
        assert!(caller_cache.cached(session_ref).is_some());

        keys.revoke(session_ref.key).await.unwrap();

        assert!(caller_cache.cached(session_ref).is_none());
    }

    #[tokio::test]
    async fn a_key_that_is_nobodys_is_reported() {
        let mut store = MockApiKeyStore::new();
        store.expect_owner().returning(|_| Ok(None));

        let revoked = over(store).0.revoke(ApiKeyId::generate()).await;

        assert!(matches!(revoked, Err(RemoveApiKeyError::Unknown)));
    }
}
