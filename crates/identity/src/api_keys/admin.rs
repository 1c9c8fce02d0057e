//! Administration of other users' API keys.

use std::sync::Arc;

use pia_kernel::{ApiKeyId, Clock, Unavailable, UserId};

use crate::api_keys::{RemoveApiKeyError, removal_effects};
use crate::people::account::ApiKeyRef;
use crate::ports::{ApiKeyEntry, ApiKeyRemoval, ApiKeyStore};
use crate::sessions::caller_cache::CallerCache;

/// Lists and removes users' API keys. The surface checks the caller's permission; the actor is only
/// for the audit log, and `None` is the command line.
#[derive(Clone)]
pub struct ApiKeyAdmin {
    store: Arc<dyn ApiKeyStore>,
    caller_cache: CallerCache,
    clock: Arc<dyn Clock>,
}

impl ApiKeyAdmin {
    /// Creates an administration over this store; `caller_cache` is notified of keys that end.
    pub fn new(
        store: Arc<dyn ApiKeyStore>,
        caller_cache: CallerCache,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, caller_cache, clock }
    }

    /// Returns a user's keys in order of creation.
    pub async fn list(&self, user: UserId) -> Result<Vec<ApiKeyEntry>, Unavailable> {
        self.store.list(user).await
    }

    /// Removes any user's key. Its owner is emailed.
    pub async fn revoke(&self, by: Option<UserId>, key: ApiKeyId) -> Result<(), RemoveApiKeyError> {
        let owner = self.store.owner(key).await?.ok_or(RemoveApiKeyError::Unknown)?;
        let key = ApiKeyRef { user: owner, key };
        let removal = ApiKeyRemoval { key, by, at: self.clock.now() };
        let existed = self.store.remove(removal, removal_effects).await?;
        self.caller_cache.forget_user(owner);
        if existed { Ok(()) } else { Err(RemoveApiKeyError::Unknown) }
    }
}

#[cfg(test)]
mod tests {
    use pia_kernel::{SessionId, Timestamp};
    use pia_testkit::FixedClock;

    use super::*;
    use crate::people::account::CallerState;
    use crate::ports::{MockAccountStore, MockApiKeyStore};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn admin_with(store: MockApiKeyStore) -> (ApiKeyAdmin, CallerCache) {
        let mut accounts = MockAccountStore::new();
        accounts
            .expect_key_state()
            .returning(|it, _| Ok(Some(CallerState::new(it.user, SessionId(it.key.0)))));
        let clock = Arc::new(FixedClock(NOW));
        let caller_cache = CallerCache::new(Arc::new(accounts), Arc::<FixedClock>::clone(&clock));
        (ApiKeyAdmin::new(Arc::new(store), caller_cache.clone(), clock), caller_cache)
    }

    #[tokio::test]
    async fn a_removed_key_is_audited_about_its_owner_and_invalid_at_once() {
        let key_ref = ApiKeyRef { user: UserId::generate(), key: ApiKeyId::generate() };
        let by = Some(UserId::generate());
        let mut store = MockApiKeyStore::new();
        store.expect_owner().returning(move |_| Ok(Some(key_ref.user)));
        store
            .expect_remove()
            .withf(move |removal, effects_of| {
                let effects = effects_of(*removal, "a script");
                let [entry] = effects.audit.as_slice() else { return false };
                removal.key == key_ref
                    && (entry.actor, entry.subject) == (by, Some(key_ref.user))
                    && entry.action == "ApiKey.Revoked"
                    && effects.mail.len() == 1
            })
            .returning(|_, _| Ok(true));
        let (admin, caller_cache) = admin_with(store);
        caller_cache.fresh(key_ref).await.unwrap();
        assert!(caller_cache.cached(key_ref).is_some());

        admin.revoke(by, key_ref.key).await.unwrap();

        assert!(caller_cache.cached(key_ref).is_none());
    }

    #[tokio::test]
    async fn an_unknown_key_is_an_error() {
        let mut store = MockApiKeyStore::new();
        store.expect_owner().returning(|_| Ok(None));

        let (admin, _) = admin_with(store);
        let outcome = admin.revoke(None, ApiKeyId::generate()).await;

        assert!(matches!(outcome, Err(RemoveApiKeyError::Unknown)));
    }
}
