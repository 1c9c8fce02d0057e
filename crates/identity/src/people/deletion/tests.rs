//! Tests of account deletion.

use std::sync::Mutex;

use async_trait::async_trait;
use pia_kernel::{Clock, LiveSetting, Recipient, SessionId, Timestamp, UnverifiedAccounts, UserId};
use pia_testkit::FixedClock;

use super::*;
use crate::factors::proofs::{FactorProofs, FactorSettings};
use crate::fakes::{Factors, PASSWORD};
use crate::ports::{AccountStore, MockAccountStore};
use crate::sessions::access_tokens::SessionRef;

/// Answers as prepared, and records its calls.
struct Answering(ErasureOutcome, Mutex<Vec<AccountErasure>>);

#[async_trait]
impl Eraser for Answering {
    async fn erase(&self, departure: AccountErasure) -> Result<ErasureOutcome, Unavailable> {
        self.1.lock().unwrap().push(departure);
        Ok(self.0)
    }

    async fn erase_unverified(&self, _: UnverifiedAccounts) -> Result<u64, Unavailable> {
        Ok(0)
    }

    async fn settle(&self) -> Result<bool, Unavailable> {
        Ok(true)
    }
}

struct DeletionProof {
    deletion: AccountDeletion,
    eraser: Arc<Answering>,
    caller_cache: CallerCache,
    caller: SessionRef,
    stored: Arc<Factors>,
}

fn leaving(erasure: ErasureOutcome, provider: Option<&'static str>) -> DeletionProof {
    let clock: Arc<dyn Clock> = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    let caller = SessionRef { user: UserId::generate(), session: SessionId::generate() };
    let stored = Arc::<Factors>::default();
    let mut ports = stored.ports();
    if let Some(provider) = provider {
        let mut accounts = MockAccountStore::new();
        accounts.expect_find().returning(move |user| {
            let account = Account::local(user, "ada@example.org".to_owned(), Timestamp::UNIX_EPOCH);
            Ok((provider != "nobody").then(|| Account { provider: provider.to_owned(), ..account }))
        });
        ports.accounts = Arc::new(accounts) as Arc<dyn AccountStore>;
    }
    let mut gates = MockAccountStore::new();
    gates.expect_standing().returning(|user, session, _| Ok(Some(CallerState::new(user, session))));
    let caller_cache = CallerCache::new(Arc::new(gates), Arc::clone(&clock));
    let eraser = Arc::new(Answering(erasure, Mutex::default()));
    let settings = LiveSetting::new(FactorSettings::default());
    let owners = Reauthenticator::new(FactorProofs { ports, settings, clock });
    let deletion = AccountDeletion::new(owners, Arc::clone(&eraser) as _, caller_cache.clone());
    DeletionProof { deletion, eraser, caller_cache, caller, stored }
}

impl DeletionProof {
    async fn say(&self, confirm: &str, password: Option<&str>) -> Result<(), DeleteError> {
        let password = password.map(|it| Secret::new(it.to_owned()));
        let farewell =
            DeletionRequest { confirm: Some(confirm.to_owned()), password, factor: None };
        self.deletion.delete(self.standing(), farewell).await
    }

    fn standing(&self) -> CallerState {
        CallerState::new(self.caller.user, self.caller.session)
    }

    fn signed_in(self, ago: Duration) -> Self {
        let now = Timestamp::UNIX_EPOCH;
        self.stored.state.lock().unwrap().began_at = Some(now - ago);
        self
    }

    fn requests(&self) -> Vec<AccountErasure> {
        self.eraser.1.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn who_leaves_is_forgotten_by_the_gates_and_written_to_by_address() {
    let ada = leaving(ErasureOutcome::Erased, None);
    ada.caller_cache.fresh(ada.caller).await.unwrap();

    ada.say("DELETE", Some(PASSWORD)).await.unwrap();

    let [departure] = &ada.requests()[..] else { panic!("one departure") };
    assert_eq!((departure.user, departure.session), (ada.caller.user, ada.caller.session));
    let entry = &departure.effects.audit[0];
    assert_eq!((entry.action, entry.actor, entry.subject), ("account.deleted", None, None));
    let letter = &departure.effects.mail[0];
    assert_eq!(letter.letter.name, "account-deleted");
    assert!(matches!(&letter.to, Recipient::Address(it) if it.contains('@')));
    assert_eq!(ada.caller_cache.cached(ada.caller), None);
}

#[tokio::test]
async fn nobody_leaves_by_accident_or_on_a_guess() {
    let ada = leaving(ErasureOutcome::Erased, None);

    for confirm in ["", "delete", "DELETE ", "yes"] {
        let reported = ada.say(confirm, Some(PASSWORD)).await;
        assert!(matches!(reported, Err(DeleteError::Invalid(it)) if it[0].field == "confirm"));
    }
    let silent = ada.deletion.delete(ada.standing(), DeletionRequest::default()).await;
    let without = ada.say("DELETE", None).await;
    let wrong = ada.say("DELETE", Some("a guess")).await;

    assert!(matches!(silent, Err(DeleteError::Invalid(it)) if it[0].code == "required"));
    assert!(matches!(without, Err(DeleteError::WrongPassword)));
    assert!(matches!(wrong, Err(DeleteError::WrongPassword)));
    assert!(ada.requests().is_empty());
}

#[tokio::test]
async fn wrong_passwords_are_counted_and_right_ones_are_not() {
    let ada = leaving(ErasureOutcome::LastAdmin, None);

    for _ in 0..20 {
        let reported = ada.say("DELETE", Some(PASSWORD)).await;
        assert!(matches!(reported, Err(DeleteError::LastAdmin)));
    }
    let mut refused = 0;
    for _ in 0..12 {
        match ada.say("DELETE", Some("a guess")).await {
            Err(DeleteError::TooMany { .. }) => refused += 1,
            reported => assert!(matches!(reported, Err(DeleteError::WrongPassword))),
        }
    }

    assert_eq!(refused, 2);
}

#[tokio::test]
async fn whom_a_provider_vouches_for_signs_in_again() {
    let fresh = leaving(ErasureOutcome::Erased, Some("google")).signed_in(Duration::from_mins(10));
    let stale = leaving(ErasureOutcome::Erased, Some("google")).signed_in(Duration::from_secs(601));

    assert!(fresh.say("DELETE", None).await.is_ok());
    for password in [None, Some(PASSWORD)] {
        let reported = stale.say("DELETE", password).await;
        assert!(
            matches!(reported, Err(DeleteError::Owner(OwnerError::SignInAgain))),
            "{reported:?}"
        );
    }
    assert!(stale.requests().is_empty());
}

#[tokio::test]
async fn what_stands_in_the_way_is_reported() {
    let nobody = leaving(ErasureOutcome::Erased, Some("nobody"));
    let over = leaving(ErasureOutcome::SessionOver, Some("google")).signed_in(Duration::ZERO);
    let gone = leaving(ErasureOutcome::Gone, Some("google")).signed_in(Duration::ZERO);

    assert!(matches!(nobody.say("DELETE", None).await, Err(DeleteError::Gone)));
    assert!(matches!(over.say("DELETE", None).await, Err(DeleteError::SessionOver)));
    assert!(matches!(gone.say("DELETE", None).await, Err(DeleteError::Gone)));
}
