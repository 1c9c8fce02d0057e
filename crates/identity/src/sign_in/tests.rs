//! Signing in: the steps that are taken, and the answers.

use std::sync::Mutex;

use pia_kernel::{SessionId, Timestamp, UserId};
use pia_testkit::FixedClock;

use super::*;
use crate::access_tokens::{AccessTokens, TokenNames};
use crate::fakes::Factors;
use crate::ports::{
    MockAccountStore, MockAttemptStore, MockPasswordHasher, MockSessionStore, MockSignInLog,
};
use crate::refresh_tokens::RefreshKeys;
use crate::sessions::SessionSettings;
use crate::signing_keys::SigningKeys;
use crate::standings::Standings;

const ADDRESS: &str = "Ada@example.org";

/// What was asked of the outside world, in order.
type Steps = Arc<Mutex<Vec<String>>>;

/// Whom a store knows by the address.
#[derive(Debug, Clone, Copy)]
enum Found {
    Nobody,
    WithoutPassword,
    With(&'static str),
}

/// What a sign-in finds.
struct World {
    found: Found,
    verdict: fn() -> Result<Verdict, Unavailable>,
    attempt: Attempt,
    rehash: fn() -> Result<(), Unavailable>,
    note: fn() -> Result<(), Unavailable>,
    /// At which look at the account's factor it is on; never if nothing.
    factor_on_at: Option<usize>,
}

impl World {
    /// Someone or nobody with that address, and a verdict on what is typed.
    fn with(found: Found, verdict: fn() -> Result<Verdict, Unavailable>) -> Self {
        Self {
            found,
            verdict,
            attempt: Attempt::Allowed,
            rehash: || Ok(()),
            note: || Ok(()),
            factor_on_at: None,
        }
    }

    async fn sign_in(self, email: &str) -> (Result<SignedIn, SignInError>, Vec<String>) {
        self.sign_in_with(email, "a perfectly fine passphrase").await
    }

    async fn sign_in_with(
        self,
        email: &str,
        password: &str,
    ) -> (Result<SignedIn, SignInError>, Vec<String>) {
        let steps = Steps::default();
        let sign_in = self.build(&steps);
        let outcome = sign_in.local(email, Secret::new(password.to_owned()), device()).await;
        let steps = steps.lock().unwrap().clone();
        (outcome, steps)
    }

    fn build(self, steps: &Steps) -> SignIn {
        let step = {
            let steps = Arc::clone(steps);
            move |step: &str| steps.lock().unwrap().push(step.to_owned())
        };
        let World { found, verdict, attempt, rehash, note, factor_on_at } = self;
        let (mut accounts, mut attempts, mut hasher) =
            (MockAccountStore::new(), MockAttemptStore::new(), MockPasswordHasher::new());
        let mut failures = MockSignInLog::new();
        let log = step.clone();
        failures.expect_failed().returning(move |attempt| {
            let whose = if attempt.user.is_some() { "somebody's" } else { "nobody's" };
            assert_eq!(attempt.device, device());
            log(&format!("note {whose} {}", attempt.outcome.name()));
            note()
        });
        let log = step.clone();
        attempts.expect_attempt().returning(move |_, _, _| {
            log("attempt");
            Ok(attempt)
        });
        let log = step.clone();
        attempts.expect_give_back().returning(move |_, _, _| {
            log("give back");
            Ok(())
        });
        let log = step.clone();
        accounts.expect_by_email().returning(move |email| {
            log(&format!("look for {email}"));
            Ok(match found {
                Found::Nobody => None,
                Found::WithoutPassword => Some(credentials(None)),
                Found::With(kept) => Some(credentials(Some(kept))),
            })
        });
        let log = step.clone();
        accounts.expect_rehash().returning(move |_, old, new| {
            log(&format!("rehash {} {}", old.expose(), new.expose()));
            rehash()
        });
        let log = step.clone();
        hasher.expect_verify().returning(move |_, _| {
            log("verify");
            verdict()
        });
        let log = step;
        hasher.expect_hash().returning(move |_| {
            log("hash");
            Ok(Secret::new("new".to_owned()))
        });
        let ports = SignInPorts {
            accounts: Arc::new(accounts),
            attempts: Arc::new(attempts),
            hasher: Arc::new(hasher),
            log: Arc::new(failures),
        };
        let clock: Arc<dyn Clock> = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
        let factors = Factors::on_at_look(factor_on_at);
        let challenges = factors.challenges(Arc::clone(&clock));
        let settings = Live::new(SignInSettings::default());
        SignIn::new(ports, sessions(&clock), challenges, settings, clock)
    }
}

fn device() -> Device {
    Device { app_version: Some("1.4".to_owned()), ..Device::default() }
}

fn credentials(kept: Option<&str>) -> Credentials {
    let account = Account::local(UserId::generate(), ADDRESS.to_owned(), Timestamp::UNIX_EPOCH);
    Credentials { account, password_hash: kept.map(|it| Secret::new(it.to_owned())) }
}

fn sessions(clock: &Arc<dyn Clock>) -> Sessions {
    let mut store = MockSessionStore::new();
    store.expect_begin().returning(|_, _, _, _| Ok(()));
    store.expect_end().returning(|_, _, _| Ok(None));
    let current = Secret::new("an example of thirty-two letters".to_owned());
    let keys = SigningKeys { current, previous: None };
    let names = TokenNames { issuer: "issuer".to_owned(), audience: "audience".to_owned() };
    let settings = Live::new(SessionSettings::default());
    let access = AccessTokens::new(&keys, names, settings.clone(), Arc::clone(clock));
    let standings = Standings::new(Arc::new(MockAccountStore::new()), Arc::clone(clock));
    let tokens = (access, RefreshKeys::derive(&keys));
    Sessions::new(Arc::new(store), standings, tokens, settings, Arc::clone(clock))
}

#[tokio::test]
async fn the_right_password_begins_a_session_and_counts_as_no_attempt() {
    let world = World::with(Found::With("kept"), || Ok(Verdict::Right));

    let (outcome, steps) = world.sign_in(ADDRESS).await;

    let signed_in = outcome.unwrap();
    assert_eq!(signed_in.account.email, ADDRESS);
    assert_ne!(signed_in.grant.session, SessionId::generate());
    assert_eq!(steps, ["attempt", "look for ada@example.org", "verify", "give back"]);
}

#[tokio::test]
async fn who_has_a_second_factor_is_asked_for_it_and_the_right_password_is_no_attempt() {
    // Put on before the password was shown, or just before the session.
    for look in [0, 1] {
        let world = World {
            factor_on_at: Some(look),
            ..World::with(Found::With("kept"), || Ok(Verdict::Right))
        };

        let (outcome, steps) = world.sign_in(ADDRESS).await;

        assert!(matches!(outcome, Err(SignInError::FactorNeeded { .. })), "{look}");
        assert_eq!(steps.last().map(String::as_str), Some("give back"), "{look}");
    }
}

#[tokio::test]
async fn whoever_has_a_second_factor_and_a_wrong_password_is_not_asked_for_it() {
    let world =
        World { factor_on_at: Some(0), ..World::with(Found::With("kept"), || Ok(Verdict::Wrong)) };

    let (outcome, _) = world.sign_in(ADDRESS).await;

    assert!(matches!(outcome, Err(SignInError::WrongCredentials)));
}

#[tokio::test]
async fn whoever_does_not_come_in_takes_the_same_steps_to_the_same_answer() {
    // A store finds nobody for a deactivated account too.
    for (found, note) in [
        (Found::With("kept"), "note somebody's wrong_password"),
        (Found::WithoutPassword, "note somebody's wrong_password"),
        (Found::Nobody, "note nobody's wrong_password"),
    ] {
        let world = World::with(found, || Ok(Verdict::Wrong));

        let (outcome, steps) = world.sign_in(ADDRESS).await;

        assert!(matches!(outcome, Err(SignInError::WrongCredentials)), "{found:?}");
        let look = "look for ada@example.org";
        assert_eq!(steps, ["attempt", look, "verify", note], "{found:?}");
    }
}

#[tokio::test]
async fn a_failure_that_cannot_be_remembered_is_the_same_failure() {
    let world = World {
        note: || Err(Unavailable::new("storage", "down")),
        ..World::with(Found::With("kept"), || Ok(Verdict::Wrong))
    };

    let (outcome, _) = world.sign_in(ADDRESS).await;

    assert!(matches!(outcome, Err(SignInError::WrongCredentials)));
}

#[tokio::test]
async fn nobody_comes_in_without_a_password_that_was_kept() {
    for found in [Found::WithoutPassword, Found::Nobody] {
        let world = World::with(found, || Ok(Verdict::Right));

        let (outcome, _) = world.sign_in(ADDRESS).await;

        assert!(matches!(outcome, Err(SignInError::WrongCredentials)), "{found:?}");
    }
}

#[tokio::test]
async fn too_many_wrong_passwords_are_answered_before_anyone_is_looked_for() {
    let wait = Duration::from_mins(3);
    let world = World {
        attempt: Attempt::Wait(wait),
        ..World::with(Found::With("kept"), || Ok(Verdict::Right))
    };

    let (outcome, steps) = world.sign_in(ADDRESS).await;

    assert!(matches!(outcome, Err(SignInError::TooMany { wait: told }) if told == wait));
    assert_eq!(steps, ["attempt"]);
}

#[tokio::test]
async fn an_attempt_that_was_not_judged_is_put_back() {
    let world = World::with(Found::With("kept"), || {
        Err(Unavailable::new("password hashing", "too many passwords are waiting"))
    });

    let (outcome, steps) = world.sign_in(ADDRESS).await;

    assert!(matches!(outcome, Err(SignInError::Unavailable(_))));
    assert_eq!(steps.last().map(String::as_str), Some("give back"));
}

#[tokio::test]
async fn a_hash_of_another_cost_is_made_anew() {
    let world = World::with(Found::With("old"), || Ok(Verdict::RightButOutdated));

    let (outcome, steps) = world.sign_in(ADDRESS).await;

    assert!(outcome.is_ok());
    assert!(steps.contains(&"rehash old new".to_owned()), "{steps:?}");
}

#[tokio::test]
async fn a_sign_in_does_not_fail_because_its_hash_cannot_be_made_anew() {
    let world = World {
        rehash: || Err(Unavailable::new("storage", "down")),
        ..World::with(Found::With("old"), || Ok(Verdict::RightButOutdated))
    };

    let (outcome, _) = world.sign_in(ADDRESS).await;

    assert!(outcome.is_ok());
}

#[tokio::test]
async fn what_no_account_can_have_is_wrong_without_a_hash() {
    let long = "x".repeat(2_000);
    for (email, password) in [
        ("", "a perfectly fine passphrase"),
        ("no address", "a perfectly fine passphrase"),
        ("ada\0@example.org", "a perfectly fine passphrase"),
        (&*format!("{long}@example.org"), "a perfectly fine passphrase"),
        (ADDRESS, ""),
        (ADDRESS, &*long),
    ] {
        let world = World::with(Found::With("kept"), || Ok(Verdict::Right));

        let (outcome, steps) = world.sign_in_with(email, password).await;

        assert!(matches!(outcome, Err(SignInError::WrongCredentials)));
        assert_eq!(steps, Vec::<String>::new());
    }
}

#[test]
fn an_address_has_one_bucket_however_it_is_spelled_and_is_not_named_by_it() {
    assert_eq!(attempts_of(" Ada@Example.org"), attempts_of("ada@example.org"));
    assert_ne!(attempts_of("ada@example.org"), attempts_of("eve@example.org"));
    assert!(!attempts_of("ada@example.org").contains("ada"));
}

#[test]
fn whoever_is_kept_out_by_the_guesses_of_others_waits_seconds() {
    let quota = SignInSettings::default().wrong_passwords;

    assert_eq!(quota.interval(), Duration::from_millis(3600));
}
