//! Tests of account deletion.

use std::sync::Mutex;

use async_trait::async_trait;
use pia_kernel::{Clock, LiveSetting, Recipient, SessionId, Timestamp, UnverifiedAccounts, UserId};
use pia_testkit::FixedClock;

use super::*;
use crate::factors::proofs::{FactorProofs, FactorSettings};
use crate::fakes::{InMemoryFactors, PASSWORD};
use crate::ports::{AccountStore, MockAccountStore};
use crate::sessions::access_tokens::SessionRef;

/// Eraser with a fixed outcome that records its calls.
struct FakeEraser(ErasureOutcome, Mutex<Vec<AccountErasure>>);

#[async_trait]
impl Eraser for FakeEraser {
    async fn erase(&self, erasure: AccountErasure) -> Result<ErasureOutcome, Unavailable> {
        self.1.lock().unwrap().push(erasure);
        Ok(self.0)
    }

    async fn erase_unverified(&self, _: UnverifiedAccounts) -> Result<u64, Unavailable> {
        Ok(0)
    }

    async fn settle(&self) -> Result<bool, Unavailable> {
        Ok(true)
    }
}

struct World {
    deletion: AccountDeletion,
    eraser: Arc<FakeEraser>,
    caller_cache: CallerCache,
    caller: SessionRef,
    factors: Arc<InMemoryFactors>,
}

fn new_world(outcome: ErasureOutcome, provider: Option<&'static str>) -> World {
    let clock: Arc<dyn Clock> = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    let caller = SessionRef { user: UserId::generate(), session: SessionId::generate() };
    let factors = Arc::<InMemoryFactors>::default();
    let mut ports = factors.ports();
    if let Some(provider) = provider {
        let mut accounts = MockAccountStore::new();
        accounts.expect_find().returning(move |user| {
            let account = Account::local(user, "ada@example.org".to_owned(), Timestamp::UNIX_EPOCH);
            Ok((provider != "nobody").then(|| Account { provider: provider.to_owned(), ..account }))
        });
        ports.accounts = Arc::new(accounts) as Arc<dyn AccountStore>;
    }
    let mut gates = MockAccountStore::new();
    gates
        .expect_caller_state()
        .returning(|user, session, _| Ok(Some(CallerState::new(user, session))));
    let caller_cache = CallerCache::new(Arc::new(gates), Arc::clone(&clock));
    let eraser = Arc::new(FakeEraser(outcome, Mutex::default()));
    let settings = LiveSetting::new(FactorSettings::default());
    let reauthenticator = Reauthenticator::new(FactorProofs { ports, settings, clock });
    let deletion =
        AccountDeletion::new(reauthenticator, Arc::clone(&eraser) as _, caller_cache.clone());
    World { deletion, eraser, caller_cache, caller, factors }
}

impl World {
    async fn delete(&self, confirm: &str, password: Option<&str>) -> Result<(), DeleteError> {
        let password = password.map(|it| Secret::new(it.to_owned()));
        let request = DeletionRequest { confirm: Some(confirm.to_owned()), password, factor: None };
        self.deletion.delete(self.caller_state(), request).await
    }

    fn caller_state(&self) -> CallerState {
        CallerState::new(self.caller.user, self.caller.session)
    }

    fn signed_in(self, ago: Duration) -> Self {
        let now = Timestamp::UNIX_EPOCH;
        self.factors.state().proved_at = Some(now - ago);
        self
    }

    fn requests(&self) -> Vec<AccountErasure> {
        self.eraser.1.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn a_deleted_user_is_removed_from_the_cache_and_emailed_by_address() {
    let ada = new_world(ErasureOutcome::Erased, None);
    ada.caller_cache.fresh(ada.caller).await.unwrap();

    ada.delete("DELETE", Some(PASSWORD)).await.unwrap();

    let [erasure] = &ada.requests()[..] else { panic!("one erasure") };
    assert_eq!(erasure.user, ada.caller.user);
    assert_eq!(erasure.session, ada.caller.session);
    let entry = &erasure.effects.audit[0];
    assert_eq!(entry.action, "account.deleted");
    assert_eq!(entry.actor, None);
    assert_eq!(entry.subject, None);
    let mail = &erasure.effects.mail[0];
    assert_eq!(mail.email.name, "account-deleted");
    assert!(matches!(&mail.to, Recipient::Address(it) if it.contains('@')));
    assert_eq!(ada.caller_cache.cached(ada.caller), None);
}

#[tokio::test]
async fn a_deletion_requires_a_confirmation_and_the_password() {
    let ada = new_world(ErasureOutcome::Erased, None);

    for confirm in ["", "delete", "DELETE ", "yes"] {
        let outcome = ada.delete(confirm, Some(PASSWORD)).await;
        assert!(matches!(outcome, Err(DeleteError::Invalid(it)) if it[0].field == "confirm"));
    }
    let silent = ada.deletion.delete(ada.caller_state(), DeletionRequest::default()).await;
    let without = ada.delete("DELETE", None).await;
    let refusal = ada.delete("DELETE", Some("a guess")).await;

    assert!(matches!(silent, Err(DeleteError::Invalid(it)) if it[0].code == "required"));
    assert!(matches!(without, Err(DeleteError::WrongPassword)));
    assert!(matches!(refusal, Err(DeleteError::WrongPassword)));
    assert!(ada.requests().is_empty());
}

#[tokio::test]
async fn wrong_passwords_are_counted_and_right_ones_are_not() {
    let ada = new_world(ErasureOutcome::LastAdmin, None);

    for _ in 0..20 {
        let outcome = ada.delete("DELETE", Some(PASSWORD)).await;
        assert!(matches!(outcome, Err(DeleteError::LastAdmin)));
    }
    let mut refusals = 0;
    for _ in 0..12 {
        match ada.delete("DELETE", Some("a guess")).await {
            Err(DeleteError::TooMany { .. }) => refusals += 1,
            outcome => assert!(matches!(outcome, Err(DeleteError::WrongPassword))),
        }
    }

    assert_eq!(refusals, 2);
}

#[tokio::test]
async fn a_providers_user_must_sign_in_again() {
    let fresh =
        new_world(ErasureOutcome::Erased, Some("google")).signed_in(Duration::from_mins(10));
    let stale =
        new_world(ErasureOutcome::Erased, Some("google")).signed_in(Duration::from_secs(601));

    assert!(fresh.delete("DELETE", None).await.is_ok());
    for password in [None, Some(PASSWORD)] {
        let outcome = stale.delete("DELETE", password).await;
        assert!(matches!(outcome, Err(DeleteError::Owner(OwnerError::SignInAgain))), "{outcome:?}");
    }
    assert!(stale.requests().is_empty());
}

#[tokio::test]
async fn each_refusal_has_its_error() {
    let unknown = new_world(ErasureOutcome::Erased, Some("nobody"));
    let over = new_world(ErasureOutcome::SessionOver, Some("google")).signed_in(Duration::ZERO);
    let gone = new_world(ErasureOutcome::Gone, Some("google")).signed_in(Duration::ZERO);

    assert!(matches!(unknown.delete("DELETE", None).await, Err(DeleteError::Gone)));
    assert!(matches!(over.delete("DELETE", None).await, Err(DeleteError::SessionOver)));
    assert!(matches!(gone.delete("DELETE", None).await, Err(DeleteError::Gone)));
}
