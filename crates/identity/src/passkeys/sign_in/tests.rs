//! Tests of sign-in with a passkey, of proofs with one, and their failures.

use std::sync::Mutex;

use pia_kernel::{LiveSetting, PasskeyId, SessionId};
use pia_testkit::FixedClock;

use super::*;
use crate::people::account::Account;
use crate::ports::{
    ClaimedPasskey, MockAccountStore, MockPasskeyCeremony, MockPasskeyChallenges, MockPasskeyStore,
    MockSessionStarts, MockSessionStore, MockSignInLog, SessionStartOutcome,
};
use crate::sessions::access_tokens::{AccessTokens, TokenNames};
use crate::sessions::caller_cache::CallerCache;
use crate::sessions::refresh_tokens::RefreshKeys;
use crate::sessions::signing_keys::SigningKeys;
use crate::sessions::{SessionPorts, SessionSettings};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// Fakes that a sign-in uses, and the calls they recorded.
struct World {
    /// Owner of the passkey.
    user: UserId,
    state: bool,
    claimant: fn(UserId) -> Result<ClaimedPasskey, CeremonyError>,
    known: bool,
    verdict: fn() -> Result<u32, CeremonyError>,
    use_outcome: PasskeyUseOutcome,
    started: SessionStartOutcome,
}

impl World {
    fn fine() -> Self {
        Self {
            user: UserId::generate(),
            state: true,
            claimant: |user| Ok(ClaimedPasskey { credential: vec![1], user }),
            known: true,
            verdict: || Ok(5),
            use_outcome: PasskeyUseOutcome::Recorded,
            started: SessionStartOutcome::Done,
        }
    }

    async fn sign_in(self) -> (Result<SignedIn, PasskeySignInError>, Vec<String>) {
        let steps = Arc::<Mutex<Vec<String>>>::default();
        let owner = self.user;
        let sign_in = self.build(&steps, owner);
        let outcome = sign_in.sign_in(&token(), "answer", SignInDevice::default()).await;
        let steps = steps.lock().unwrap().clone();
        (outcome, steps)
    }

    /// Proves the session of this user.
    async fn prove_owner(self, user: UserId) -> (Result<(), OwnerError>, Vec<String>) {
        let steps = Arc::<Mutex<Vec<String>>>::default();
        let caller = CallerState::new(user, SessionId::generate());
        let outcome = self.build(&steps, user).prove_owner(caller, &token(), "answer").await;
        let steps = steps.lock().unwrap().clone();
        (outcome, steps)
    }

    /// Builds the sign-in, whose failures are those of `claimed_by`.
    fn build(self, steps: &Arc<Mutex<Vec<String>>>, claimed_by: UserId) -> PasskeySignIn {
        let step = {
            let steps = Arc::clone(steps);
            move |step: &str| steps.lock().unwrap().push(step.to_owned())
        };
        let World { user, state, claimant, known, verdict, use_outcome, started } = self;
        let mut challenges = MockPasskeyChallenges::new();
        let log = step.clone();
        challenges.expect_take_sign_in().returning(move |_, now| {
            log("take");
            assert_eq!(now, NOW);
            Ok(state.then(|| Secret::new("state".to_owned())))
        });
        let mut ceremony = MockPasskeyCeremony::new();
        ceremony.expect_claimant().returning(move |_| claimant(user));
        let log = step.clone();
        ceremony.expect_finish_sign_in().returning(move |_, _, _| {
            log("judge");
            verdict()
        });
        let mut accounts = MockAccountStore::new();
        accounts
            .expect_find()
            .returning(|user| Ok(Some(Account::local(user, "ada@example.org".to_owned(), NOW))));
        let mut failures = MockSignInLog::new();
        let log = step.clone();
        failures.expect_record_failure().returning(move |attempt, effects| {
            assert_eq!(attempt.user, Some(claimed_by));
            let expected = SideEffects::about(NOW, claimed_by, "sign_in.failed");
            assert_eq!(effects(claimed_by, NOW), expected);
            log(&format!("note {} {}", attempt.outcome.name(), attempt.method.name()));
            Ok(())
        });
        let passkeys = PasskeyPorts {
            store: Arc::new(store(user, known, use_outcome, step.clone())),
            challenges: Arc::new(challenges),
            ceremony: Some(Arc::new(ceremony)),
        };
        let ports = PasskeySignInPorts {
            accounts: Arc::new(accounts),
            log: Arc::new(failures),
            passkeys,
            starts: Arc::new(starts(user, step.clone())),
        };
        PasskeySignIn::new(ports, sessions(started, step), Arc::new(FixedClock(NOW)))
    }
}

fn token() -> Secret<String> {
    Secret::new("a token".to_owned())
}

fn store(
    user: UserId,
    known: bool,
    use_outcome: PasskeyUseOutcome,
    step: impl Fn(&str) + Clone + Send + Sync + 'static,
) -> MockPasskeyStore {
    let mut store = MockPasskeyStore::new();
    store.expect_find().returning(move |_| {
        let key = "key".to_owned();
        let passkey =
            StoredPasskey { id: PasskeyId::generate(), user, name: "Key".to_owned(), key };
        Ok(known.then_some(passkey))
    });
    store.expect_record_use().returning(move |it| {
        step("use");
        assert_eq!(it.user, user);
        assert_eq!(it.counter, 5);
        assert_eq!(it.at, NOW);
        assert_eq!(it.effects.audit[0].action, "passkey.used");
        assert_eq!(it.if_rolled_back.audit[0].action, "passkey.cloned");
        assert_eq!(it.if_rolled_back.mail[0].email.name, "passkey-cloned");
        Ok(use_outcome)
    });
    store
}

fn starts(user: UserId, step: impl Fn(&str) + Clone + Send + Sync + 'static) -> MockSessionStarts {
    let mut starts = MockSessionStarts::new();
    starts.expect_prove().returning(move |session_ref, at| {
        step("prove");
        assert_eq!(session_ref.user, user);
        assert_eq!(at, NOW);
        Ok(())
    });
    starts
}

fn sessions(
    started: SessionStartOutcome,
    step: impl Fn(&str) + Clone + Send + Sync + 'static,
) -> Sessions {
    let clock: Arc<dyn Clock> = Arc::new(FixedClock(NOW));
    let mut store = MockSessionStore::new();
    store.expect_begin().returning(move |new, _, _, _| {
        step(&format!("begin {}", new.method.name()));
        Ok(started)
    });
    let current = Secret::new("an example of thirty-two letters".to_owned());
    let keys = SigningKeys { current, previous: None };
    let names = TokenNames { issuer: "issuer".to_owned(), audience: "audience".to_owned() };
    let settings = LiveSetting::new(SessionSettings::default());
    let access_tokens = AccessTokens::new(&keys, names, settings.clone(), Arc::clone(&clock));
    let caller_cache = CallerCache::new(Arc::new(MockAccountStore::new()), Arc::clone(&clock));
    let store = Arc::new(store);
    let refresh_keys = RefreshKeys::derive(&keys);
    let ports = SessionPorts { store, caller_cache, access_tokens, refresh_keys };
    Sessions::new(ports, settings, clock)
}

fn is_refused(outcome: &Result<SignedIn, PasskeySignInError>) -> bool {
    matches!(outcome, Err(PasskeySignInError::Refused))
}

#[tokio::test]
async fn a_valid_response_starts_a_session() {
    let (outcome, steps) = World::fine().sign_in().await;

    assert_eq!(outcome.unwrap().account.email, "ada@example.org");
    assert_eq!(steps, ["take", "judge", "use", "begin passkey"]);
}

#[tokio::test]
async fn a_response_without_its_challenge_is_not_parsed() {
    let (outcome, steps) = World { state: false, ..World::fine() }.sign_in().await;

    assert!(is_refused(&outcome));
    assert_eq!(steps, ["take"]);
}

#[tokio::test]
async fn an_unknown_passkey_is_recorded_for_no_account() {
    let malformed = |_| Err(CeremonyError::Malformed { field: "credential".to_owned() });
    for world in
        [World { known: false, ..World::fine() }, World { claimant: malformed, ..World::fine() }]
    {
        let (outcome, steps) = world.sign_in().await;

        assert!(is_refused(&outcome));
        assert_eq!(steps, ["take"]);
    }
}

#[tokio::test]
async fn a_refused_response_is_recorded_for_the_passkeys_owner() {
    let note = "note wrong_passkey passkey";
    let another = |_| Ok(ClaimedPasskey { credential: vec![1], user: UserId::generate() });
    let refusal = || Err(CeremonyError::Refused("origin".to_owned()));
    for (world, expected) in [
        (World { claimant: another, ..World::fine() }, vec!["take", note]),
        (World { verdict: refusal, ..World::fine() }, vec!["take", "judge", note]),
        (
            World { use_outcome: PasskeyUseOutcome::RolledBack, ..World::fine() },
            vec!["take", "judge", "use", note],
        ),
        (
            World { use_outcome: PasskeyUseOutcome::Gone, ..World::fine() },
            vec!["take", "judge", "use", note],
        ),
    ] {
        let (outcome, steps) = world.sign_in().await;

        assert!(is_refused(&outcome));
        assert_eq!(steps, expected);
    }
}

#[tokio::test]
async fn a_passkey_that_is_removed_meanwhile_starts_no_session() {
    let (outcome, steps) =
        World { started: SessionStartOutcome::Stale, ..World::fine() }.sign_in().await;

    assert!(is_refused(&outcome));
    assert_eq!(steps, ["take", "judge", "use", "begin passkey"]);
}

#[tokio::test]
async fn an_unreadable_stored_state_is_no_failure_of_the_user() {
    let verdict = || Err(CeremonyError::Unreadable("key".to_owned()));

    let (outcome, steps) = World { verdict, ..World::fine() }.sign_in().await;

    assert!(matches!(outcome, Err(PasskeySignInError::Unavailable(_))));
    assert_eq!(steps, ["take", "judge"]);
}

#[tokio::test]
async fn a_passkey_of_the_callers_account_proves_the_session() {
    let world = World::fine();
    let user = world.user;

    let (outcome, steps) = world.prove_owner(user).await;

    outcome.unwrap();
    assert_eq!(steps, ["take", "judge", "use", "prove"]);
}

#[tokio::test]
async fn a_passkey_of_another_account_proves_nothing_and_is_not_used() {
    let (outcome, steps) = World::fine().prove_owner(UserId::generate()).await;

    assert!(matches!(outcome, Err(OwnerError::WrongPasskey)));
    assert_eq!(steps, ["take", "note wrong_passkey passkey"]);
}

#[tokio::test]
async fn a_refused_response_proves_nothing() {
    let note = "note wrong_passkey passkey";
    let refusal = || Err(CeremonyError::Refused("origin".to_owned()));
    let another = |_| Ok(ClaimedPasskey { credential: vec![1], user: UserId::generate() });
    let rolled_back = PasskeyUseOutcome::RolledBack;
    for (world, expected) in [
        (World { state: false, ..World::fine() }, vec!["take"]),
        (World { known: false, ..World::fine() }, vec!["take"]),
        (World { claimant: another, ..World::fine() }, vec!["take", note]),
        (World { verdict: refusal, ..World::fine() }, vec!["take", "judge", note]),
        (World { use_outcome: rolled_back, ..World::fine() }, vec!["take", "judge", "use", note]),
    ] {
        let user = world.user;
        let (outcome, steps) = world.prove_owner(user).await;

        assert!(matches!(outcome, Err(OwnerError::WrongPasskey)));
        assert_eq!(steps, expected);
    }
}
