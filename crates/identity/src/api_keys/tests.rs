//! Tests of creating and removing API keys.

use std::sync::Mutex;
use std::time::Duration;

use pia_kernel::SessionId;
use pia_testkit::FixedClock;

use super::*;
use crate::fakes::{InMemoryFactors, PASSWORD};
use crate::people::account::CallerState;
use crate::ports::{ApiKeyHash, MockAccountStore, MockApiKeyStore};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

struct World {
    factors: Arc<InMemoryFactors>,
    stored: Arc<Mutex<Vec<NewApiKey>>>,
    keys: ApiKeys,
    caller_cache: CallerCache,
    session_ref: SessionRef,
}

/// Returns a world whose store is full with this number of keys.
fn world_of(capacity: usize) -> World {
    let factors = Arc::<InMemoryFactors>::default();
    let stored: Arc<Mutex<Vec<NewApiKey>>> = Arc::default();
    let mut store = MockApiKeyStore::new();
    let rows = Arc::clone(&stored);
    let store_factors = Arc::clone(&factors);
    store.expect_add().returning(move |new, max, _, effects| {
        assert_eq!(max, 20);
        let mut rows = rows.lock().unwrap();
        if rows.len() >= capacity {
            return Ok(CredentialStoreOutcome::Full);
        }
        rows.push(new);
        store_factors.state().write(effects);
        Ok(CredentialStoreOutcome::Done)
    });
    let rows = Arc::clone(&stored);
    let store_factors = Arc::clone(&factors);
    store.expect_remove().returning(move |removal, effects| {
        let mut rows = rows.lock().unwrap();
        let is_removed =
            |it: &NewApiKey| it.by.user == removal.key.user && it.entry.id == removal.key.key;
        let Some(index) = rows.iter().position(is_removed) else { return Ok(false) };
        let removed_entry = rows.remove(index).entry;
        store_factors.state().write(effects(removal, &removed_entry.name));
        Ok(true)
    });
    let clock = Arc::new(FixedClock(NOW));
    let mut accounts = MockAccountStore::new();
    accounts
        .expect_key_state()
        .returning(|it, _| Ok(Some(CallerState::new(it.user, SessionId(it.key.0)))));
    let caller_cache = CallerCache::new(Arc::new(accounts), Arc::<FixedClock>::clone(&clock));
    let keys = ApiKeys::new(Arc::new(store), factors.proofs(clock), caller_cache.clone());
    let session_ref = SessionRef { user: UserId::generate(), session: SessionId::generate() };
    World { factors, stored, keys, caller_cache, session_ref }
}

fn new_world() -> World {
    world_of(20)
}

fn proof(password: &str) -> ReauthProof {
    ReauthProof::Password(Secret::new(password.to_owned()))
}

fn named(name: &str) -> ApiKeyOptions {
    ApiKeyOptions { name: Some(name.to_owned()), ..ApiKeyOptions::default() }
}

impl World {
    async fn create(&self, options: ApiKeyOptions) -> Result<CreatedApiKey, CreateApiKeyError> {
        self.keys.create(self.session_ref, options, Some(proof(PASSWORD))).await
    }
}

#[tokio::test]
async fn a_key_is_created_and_its_owner_is_emailed() {
    let world = new_world();
    let options = ApiKeyOptions {
        expires_at: Some(NOW + Duration::from_secs(1)),
        weekly_credits: Some(7),
        ..named(" Nightly ")
    };

    let new_key = world.create(options).await.unwrap();

    let entry = &new_key.entry;
    assert_eq!(entry.name, "Nightly");
    assert_eq!(entry.weekly_credits, 7);
    assert_eq!(entry.created_at, NOW);
    assert_eq!(entry.expires_at, Some(NOW + Duration::from_secs(1)));
    assert_eq!(entry.scopes, [KeyScope::Ai]);
    let stored_hashes: Vec<ApiKeyHash> =
        world.stored.lock().unwrap().iter().map(|it| it.hash).collect();
    assert_eq!(stored_hashes, [codes::hash(new_key.key.expose()).unwrap()]);
    assert_eq!(world.factors.audited(), ["ApiKey.Created"]);
    let email = QueuedEmail::new("api-key-added").with("name", "Nightly");
    assert_eq!(world.factors.state().emails, [email]);
}

#[tokio::test]
async fn without_a_valid_proof_no_key_is_created() {
    let world = new_world();

    let silent = world.keys.create(world.session_ref, named("a"), None).await;
    let refusal = world.keys.create(world.session_ref, named("a"), Some(proof("a guess"))).await;

    assert!(matches!(silent, Err(CreateApiKeyError::Owner(OwnerError::Missing))));
    assert!(matches!(refusal, Err(CreateApiKeyError::Owner(OwnerError::Wrong))));
    assert_eq!(world.factors.wrong_proofs(), 1);
    assert!(world.stored.lock().unwrap().is_empty());
}

#[tokio::test]
async fn all_violations_are_reported_at_once() {
    let refusal = new_world()
        .create(ApiKeyOptions {
            name: None,
            scopes: Some(vec!["everything".to_owned()]),
            expires_at: Some(NOW),
            weekly_credits: Some(-1),
        })
        .await;

    let Err(CreateApiKeyError::Invalid(violations)) = refusal else { panic!("{refusal:?}") };
    assert_eq!(
        violations.iter().map(|it| (it.field, it.code)).collect::<Vec<_>>(),
        [
            ("name", "required"),
            ("scopes", "invalid"),
            ("expiresAt", "invalid"),
            ("weeklyCredits", "invalid"),
        ]
    );
}

#[tokio::test]
async fn a_name_is_one_short_line_and_scopes_match_exactly() {
    for (name, code) in [("  ", "required"), ("a\nb", "invalid"), (&*"ß".repeat(65), "too_long")] {
        let Err(CreateApiKeyError::Invalid(violations)) = new_world().create(named(name)).await
        else {
            panic!("{name:?}")
        };
        assert_eq!(violations[0].field, "name");
        assert_eq!(violations[0].code, code);
    }
    assert!(parse_name(Some(&"ß".repeat(MAX_NAME_CHARS))).is_ok());

    for names in [vec![], vec!["AI"], vec!["ai", "sync"]] {
        let scopes = Some(names.into_iter().map(str::to_owned).collect());
        assert!(parse_scopes(scopes).is_err());
    }
    let repeated_scope = Some(vec!["ai".to_owned(), "ai".to_owned()]);
    assert_eq!(parse_scopes(repeated_scope).unwrap(), [KeyScope::Ai]);
}

#[tokio::test]
async fn a_budget_is_limited_like_a_groups() {
    let with = |credits| ApiKeyOptions { weekly_credits: Some(credits), ..named("a") };

    assert!(new_world().create(with(MAX_CREDITS)).await.is_ok());
    let more = new_world().create(with(MAX_CREDITS + 1)).await;
    assert!(matches!(more, Err(CreateApiKeyError::Invalid(_))));
}

#[tokio::test]
async fn the_error_at_the_maximum_has_the_limit() {
    let world = world_of(1);
    world.create(named("a")).await.unwrap();

    let refusal = world.create(named("b")).await;

    assert!(matches!(refusal, Err(CreateApiKeyError::Full { limit: 20 })));
}

#[tokio::test]
async fn a_removed_key_is_invalid_at_once() {
    let world = new_world();
    let key = world.create(named("a")).await.unwrap().entry.id;
    let key_ref = ApiKeyRef { user: world.session_ref.user, key };
    world.caller_cache.fresh(key_ref).await.unwrap();
    assert!(world.caller_cache.cached(key_ref).is_some());

    world.keys.revoke(world.session_ref, key).await.unwrap();
    let again = world.keys.revoke(world.session_ref, key).await;

    assert!(matches!(again, Err(RemoveApiKeyError::Unknown)));
    assert_eq!(world.caller_cache.cached(key_ref), None);
    assert_eq!(world.factors.audited(), ["ApiKey.Created", "ApiKey.Revoked"]);
    assert_eq!(world.factors.emails(), ["api-key-added", "api-key-removed"]);
}
