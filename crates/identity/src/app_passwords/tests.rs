//! Tests of app passwords, over an in-memory store.

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::SessionId;
use pia_testkit::FixedClock;

use super::*;
use crate::factors;
use crate::factors::proofs::FactorAnswer;
use crate::fakes::{InMemoryFactors, PASSWORD};
use crate::people::account::CallerState;
use crate::ports::{
    AppPasswordHash, EndEffects, Factor, FactorState, MockAccountStore, RecoveryHash,
    RemovalEffects,
};

const CODE: &str = "K3V90-0QXZ7-1BCDE-FGHJK-MNPQR";

/// Store of a user's app passwords and factors, in memory.
struct Memory {
    factors: Arc<InMemoryFactors>,
    stored: Mutex<Vec<NewAppPassword>>,
}

#[async_trait]
impl AppPasswordStore for Memory {
    async fn add(
        &self,
        new: NewAppPassword,
        max: usize,
        verified_proof: VerifiedProof,
        effects: SideEffects,
    ) -> Result<CredentialStoreOutcome, Unavailable> {
        let mut rows = self.stored.lock().unwrap();
        if rows.len() >= max {
            return Ok(CredentialStoreOutcome::Full);
        }
        let mut state = self.factors.state();
        let spent = matches!(verified_proof, VerifiedProof::Password | VerifiedProof::SignIn);
        if !spent && !state.consume_proof(verified_proof) {
            return Ok(CredentialStoreOutcome::Stale);
        }
        rows.push(new);
        state.write(effects);
        Ok(CredentialStoreOutcome::Done)
    }

    async fn list(&self, _: UserId) -> Result<Vec<AppPasswordEntry>, Unavailable> {
        let rows = self.stored.lock().unwrap();
        let entry = |it: &NewAppPassword| AppPasswordEntry {
            id: it.id,
            name: it.name.clone(),
            created_at: it.at,
            used_at: None,
        };
        Ok(rows.iter().map(entry).collect())
    }

    async fn find(
        &self,
        _: UserId,
        hash: AppPasswordHash,
    ) -> Result<Option<AppPasswordId>, Unavailable> {
        Ok(self.stored.lock().unwrap().iter().find(|it| it.hash == hash).map(|it| it.id))
    }

    async fn remove(
        &self,
        removal: AppPasswordRemoval,
        effects: RemovalEffects,
        _: EndEffects,
    ) -> Result<bool, Unavailable> {
        let AppPasswordRemoval { user, id, at } = removal;
        let mut rows = self.stored.lock().unwrap();
        let Some(index) = rows.iter().position(|it| it.by.user == user && it.id == id) else {
            return Ok(false);
        };
        let removed_password = rows.remove(index);
        self.factors.state().write(effects(user, at, &removed_password.name));
        Ok(true)
    }
}

struct World {
    factors: Arc<InMemoryFactors>,
    memory: Arc<Memory>,
    passwords: AppPasswords,
    caller_cache: CallerCache,
    session_ref: SessionRef,
}

fn new_world() -> World {
    let factors = Arc::<InMemoryFactors>::default();
    let memory = Arc::new(Memory { factors: Arc::clone(&factors), stored: Mutex::default() });
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    let mut accounts = MockAccountStore::new();
    accounts
        .expect_caller_state()
        .returning(|user, session, _| Ok(Some(CallerState::new(user, session))));
    let caller_cache = CallerCache::new(Arc::new(accounts), Arc::<FixedClock>::clone(&clock));
    let passwords = AppPasswords::new(
        Arc::<Memory>::clone(&memory),
        factors.proofs(clock),
        caller_cache.clone(),
    );
    let session_ref = SessionRef { user: UserId::generate(), session: SessionId::generate() };
    World { factors, memory, passwords, caller_cache, session_ref }
}

fn by_password(text: &str) -> ReauthProof {
    ReauthProof::Password(Secret::new(text.to_owned()))
}

fn by_recovery_code(text: &str) -> ReauthProof {
    ReauthProof::Factor(FactorAnswer::RecoveryCode(Secret::new(text.to_owned())))
}

impl World {
    async fn create(
        &self,
        proof: impl Into<Option<ReauthProof>>,
    ) -> Result<CreatedAppPassword, CreateAppPasswordError> {
        self.passwords.create(self.session_ref, Some(" Desktop "), proof.into()).await
    }

    /// Adds an enabled factor and one recovery code.
    fn with_factor(self) -> Self {
        let code =
            factors::recovery_codes::hash(self.session_ref.user, &Secret::new(CODE.to_owned()));
        let mut state = self.factors.state();
        state.factor = Some(Factor { sealed: Vec::new(), state: FactorState::On });
        state.codes = code.into_iter().collect::<Vec<RecoveryHash>>();
        drop(state);
        self
    }
}

#[tokio::test]
async fn an_app_password_is_created_and_its_owner_is_emailed() {
    let world = new_world();

    let new_password = world.create(by_password(PASSWORD)).await.unwrap();

    let entries = world.passwords.list(world.session_ref.user).await.unwrap();
    assert_eq!(entries, std::slice::from_ref(&new_password.entry));
    assert_eq!(new_password.entry.name, "Desktop");
    let hash = codes::hash(&new_password.password);
    assert_eq!(world.memory.stored.lock().unwrap().first().map(|it| it.hash), hash);
    assert_eq!(world.factors.audited(), ["app_password.added"]);
    let email = QueuedEmail::new("app-password-added").with("name", "Desktop");
    assert_eq!(world.factors.state().emails, [email]);
    assert_eq!(world.factors.wrong_proofs(), 0);
}

#[tokio::test]
async fn without_a_valid_proof_none_is_created() {
    let world = new_world().with_factor();

    let silent = world.create(None).await;
    let wrong = world.create(by_password("a guess")).await;
    let invented = world.create(by_recovery_code("K3V90-0QXZ7-1BCDE-FGHJK-MNPQS")).await;

    assert!(matches!(silent, Err(CreateAppPasswordError::Owner(OwnerError::Missing))));
    for refusal in [wrong, invented] {
        assert!(matches!(refusal, Err(CreateAppPasswordError::Owner(OwnerError::Wrong))));
    }
    assert_eq!(world.factors.wrong_proofs(), 2);
    assert!(world.memory.stored.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_recovery_code_is_a_valid_proof_once() {
    let world = new_world().with_factor();

    let first_result = world.create(by_recovery_code(CODE)).await;
    let second_result = world.create(by_recovery_code(CODE)).await;

    assert!(first_result.is_ok());
    assert!(matches!(second_result, Err(CreateAppPasswordError::Owner(OwnerError::Wrong))));
    assert_eq!(world.factors.audited(), ["recovery_code.used", "app_password.added"]);
    assert_eq!(world.factors.wrong_proofs(), 1);
}

#[tokio::test]
async fn the_owner_is_emailed_about_a_recovery_code_as_proof() {
    let world = new_world().with_factor();

    world.create(by_recovery_code(CODE)).await.unwrap();

    let recovery_email = QueuedEmail::new("recovery-code-used");
    let app_password_email = QueuedEmail::new("app-password-added").with("name", "Desktop");
    assert_eq!(world.factors.state().emails, [recovery_email, app_password_email]);
}

#[tokio::test]
async fn a_factor_that_is_off_is_no_proof() {
    let refusal = new_world().create(by_recovery_code(CODE)).await;

    assert!(matches!(refusal, Err(CreateAppPasswordError::Owner(OwnerError::Wrong))));
}

#[tokio::test]
async fn guesses_at_the_proof_are_limited() {
    let world = new_world();
    for _ in 0..10 {
        world.create(by_password("a guess")).await.unwrap_err();
    }

    let refusal = world.create(by_password(PASSWORD)).await;

    let wait = Duration::from_secs(90);
    let too_many = CreateAppPasswordError::Owner(OwnerError::TooMany { wait });
    assert_eq!(refusal.unwrap_err().to_string(), too_many.to_string());
}

#[tokio::test]
async fn an_account_has_at_most_twenty() {
    let world = new_world();
    for _ in 0..20 {
        world.create(by_password(PASSWORD)).await.unwrap();
    }

    let refusal = world.create(by_password(PASSWORD)).await;

    assert!(matches!(refusal, Err(CreateAppPasswordError::Full { limit: 20 })));
}

#[tokio::test]
async fn a_name_is_one_short_line() {
    let long_name = "ß".repeat(65);
    for (name, code) in [
        (None, "required"),
        (Some("  "), "required"),
        (Some("a\nb"), "invalid"),
        (Some("a\0"), "invalid"),
        (Some(&*long_name), "too_long"),
    ] {
        let world = new_world();

        let refusal =
            world.passwords.create(world.session_ref, name, Some(by_password(PASSWORD))).await;

        let Err(CreateAppPasswordError::Invalid(violations)) = refusal else { panic!("{name:?}") };
        assert_eq!(
            violations.iter().map(|it| (it.field, it.code)).collect::<Vec<_>>(),
            [("name", code)]
        );
    }
    assert!(parse_name(Some(&"ß".repeat(64))).is_ok());
}

#[tokio::test]
async fn a_revoked_app_password_is_gone_and_the_cache_is_cleared() {
    let world = new_world();
    let id = world.create(by_password(PASSWORD)).await.unwrap().entry.id;
    world.caller_cache.fresh(world.session_ref).await.unwrap();

    world.passwords.revoke(world.session_ref, id).await.unwrap();
    let again = world.passwords.revoke(world.session_ref, id).await;

    assert!(matches!(again, Err(RemoveAppPasswordError::Unknown)));
    assert_eq!(world.caller_cache.cached(world.session_ref), None);
    assert_eq!(world.factors.audited(), ["app_password.added", "app_password.removed"]);
    assert_eq!(world.factors.emails(), ["app-password-added", "app-password-removed"]);
}
