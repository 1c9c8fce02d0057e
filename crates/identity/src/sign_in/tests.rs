//! Tests of sign-in: the steps and the responses.

use std::sync::Mutex;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::{LiveSetting, SessionId, Timestamp, UserId};
use pia_testkit::FixedClock;
use ring::digest;

use super::*;
use crate::factors;
use crate::fakes::{self, InMemoryFactors};
use crate::ports::{
    MockAccountStore, MockAppPasswordStore, MockPasswordHasher, MockPasswordThrottleStore,
    MockSessionStore, MockSignInLog, RateLimitOutcome, SessionStartOutcome,
};
use crate::sessions::access_tokens::{AccessTokens, TokenNames};
use crate::sessions::caller_cache::CallerCache;
use crate::sessions::refresh_tokens::RefreshKeys;
use crate::sessions::signing_keys::SigningKeys;
use crate::sessions::{SessionPorts, SessionSettings};

mod app_password;
mod second_factor;

const ADA: UserId = UserId(uuid::Uuid::from_u128(1));
const ADDRESS: &str = "Ada@example.org";
const APP_PASSWORD: &str = "pia-k3v90-0qxz7-1bcde-fghjk-mnpqr";
const RECOVERY: &str = "K3V90-0QXZ7-1BCDE-FGHJK-MNPQR";
const LOOK: &str = "look for Ada@example.org from 192.0.2.1";

/// Recorded calls to the ports, in order.
type Steps = Arc<Mutex<Vec<String>>>;

/// Account that the store has for the address.
#[derive(Debug, Clone, Copy)]
enum StoredAccount {
    NoAccount,
    WithoutPassword,
    With(&'static str),
}

/// Fakes that a sign-in uses.
struct World {
    stored_account: StoredAccount,
    verdict: fn() -> Result<Verdict, Unavailable>,
    attempt: RateLimitOutcome,
    /// True if the account was signed in to from the same network before.
    known: bool,
    /// App password that matches the typed text, if any.
    app_password: Option<AppPasswordId>,
    program: Program,
    rehash: fn() -> Result<(), Unavailable>,
    note: fn() -> Result<(), Unavailable>,
    factor_on: bool,
    requires_verification: bool,
    /// Outcome of starting a session.
    started: SessionStartOutcome,
}

impl World {
    /// Creates a world with this account and a verdict on the typed password.
    fn with(stored_account: StoredAccount, verdict: fn() -> Result<Verdict, Unavailable>) -> Self {
        Self {
            stored_account,
            verdict,
            attempt: RateLimitOutcome::Allowed,
            known: false,
            app_password: None,
            program: Program::App,
            rehash: || Ok(()),
            note: || Ok(()),
            factor_on: false,
            requires_verification: false,
            started: SessionStartOutcome::Done,
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
        let program = self.program;
        let sign_in = self.build(&steps);
        let password = Secret::new(password.to_owned());
        let outcome = sign_in.local(email, password, program, device()).await;
        let steps = steps.lock().unwrap().clone();
        (outcome, steps)
    }

    fn build(self, steps: &Steps) -> SignIn {
        let ports = SignInPorts {
            accounts: self.accounts(steps),
            app_passwords: app_passwords(self.app_password, steps),
            throttle: password_throttle(self.attempt, steps),
            hasher: hasher(self.verdict, steps),
            log: failures(self.note, steps),
            verification: fakes::verification(self.requires_verification),
        };
        let clock: Arc<dyn Clock> = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
        let factors =
            if self.factor_on { InMemoryFactors::with_factor_on() } else { Arc::default() };
        let code = factors::recovery_codes::hash(ADA, &Secret::new(RECOVERY.to_owned()));
        factors.state().codes.extend(code);
        let challenges = factors.challenges(Arc::clone(&clock));
        SignIn::new(ports, sessions(self.started, &clock), challenges, clock)
    }

    fn accounts(&self, steps: &Steps) -> Arc<dyn AccountStore> {
        let &Self { stored_account, known, rehash, factor_on, .. } = self;
        let mut accounts = MockAccountStore::new();
        let log = logger(steps);
        accounts.expect_candidate().returning(move |email, from, since| {
            assert_eq!(since, Timestamp::UNIX_EPOCH - RETENTION);
            log(&format!("look for {email} from {}", from.unwrap()));
            let credentials = match stored_account {
                StoredAccount::NoAccount => return Ok(None),
                StoredAccount::WithoutPassword => credentials(None),
                StoredAccount::With(hash) => credentials(Some(hash)),
            };
            let candidate =
                Candidate { credentials, was_there_before: known, has_factor: factor_on };
            Ok(Some(candidate))
        });
        let log = logger(steps);
        accounts.expect_rehash().returning(move |_, old, new| {
            log(&format!("rehash {} {}", old.expose(), new.expose()));
            rehash()
        });
        Arc::new(accounts)
    }
}

/// Returns a log that expects failed sign-ins from [`device`].
fn failures(note: fn() -> Result<(), Unavailable>, steps: &Steps) -> Arc<dyn SignInLog> {
    let mut failures = MockSignInLog::new();
    let log = logger(steps);
    failures.expect_record_failure().returning(move |attempt, effects| {
        let expected_effects = SideEffects::about(attempt.at, ADA, "sign_in.failed");
        assert_eq!(effects(ADA, attempt.at), expected_effects);
        assert_eq!(attempt.device, device());
        let whose = if attempt.user.is_some() { "somebody's" } else { "nobody's" };
        log(&format!("note {whose} {}", attempt.outcome.name()));
        note()
    });
    Arc::new(failures)
}

/// Returns a hasher with this verdict on every password.
fn hasher(verdict: fn() -> Result<Verdict, Unavailable>, steps: &Steps) -> Arc<dyn PasswordHasher> {
    let mut hasher = MockPasswordHasher::new();
    let log = logger(steps);
    hasher.expect_verify().returning(move |_, _| {
        log("verify");
        verdict()
    });
    let log = logger(steps);
    hasher.expect_hash().returning(move |_| {
        log("hash");
        Ok(Secret::new("new".to_owned()))
    });
    Arc::new(hasher)
}

fn password_throttle(attempt: RateLimitOutcome, steps: &Steps) -> Arc<dyn PasswordThrottleStore> {
    let mut throttle_store = MockPasswordThrottleStore::new();
    let log = logger(steps);
    let strangers = URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, b"ada@example.org"));
    throttle_store.expect_count().returning(move |key, rules, _| {
        assert_eq!(rules, GuessRules::default());
        log(if key == format!("sign-in:{strangers}") { "count" } else { "count apart" });
        Ok(attempt)
    });
    let log = logger(steps);
    throttle_store.expect_give_back().returning(move |_, _| {
        log("give back");
        Ok(())
    });
    let log = logger(steps);
    throttle_store.expect_clear().returning(move |_| {
        log("clear");
        Ok(())
    });
    Arc::new(throttle_store)
}

fn app_passwords(app_password: Option<AppPasswordId>, steps: &Steps) -> Arc<dyn AppPasswordStore> {
    let mut store = MockAppPasswordStore::new();
    let log = logger(steps);
    store.expect_find().returning(move |_, _| {
        log("look for app password");
        Ok(app_password)
    });
    Arc::new(store)
}

fn logger(steps: &Steps) -> impl Fn(&str) + Clone + use<> {
    let steps = Arc::clone(steps);
    move |step| steps.lock().unwrap().push(step.to_owned())
}

fn device() -> SignInDevice {
    let address = "192.0.2.1".parse().ok();
    SignInDevice { app_version: Some("1.4".to_owned()), address, ..SignInDevice::default() }
}

fn credentials(hash: Option<&str>) -> Credentials {
    let account = Account::local(ADA, ADDRESS.to_owned(), Timestamp::UNIX_EPOCH);
    Credentials { account, password_hash: hash.map(|it| Secret::new(it.to_owned())) }
}

fn sessions(started: SessionStartOutcome, clock: &Arc<dyn Clock>) -> Sessions {
    let mut store = MockSessionStore::new();
    store.expect_begin().returning(move |_, _, _, _| Ok(started));
    store.expect_end().returning(|_, _, _| Ok(None));
    let current = Secret::new("an example of thirty-two letters".to_owned());
    let keys = SigningKeys { current, previous: None };
    let names = TokenNames { issuer: "issuer".to_owned(), audience: "audience".to_owned() };
    let settings = LiveSetting::new(SessionSettings::default());
    let access_tokens = AccessTokens::new(&keys, names, settings.clone(), Arc::clone(clock));
    let caller_cache = CallerCache::new(Arc::new(MockAccountStore::new()), Arc::clone(clock));
    let store = Arc::new(store);
    let refresh_keys = RefreshKeys::derive(&keys);
    let ports = SessionPorts { store, caller_cache, access_tokens, refresh_keys };
    Sessions::new(ports, settings, Arc::clone(clock))
}

#[tokio::test]
async fn the_right_password_starts_a_session_and_counts_as_no_attempt() {
    let world = World::with(StoredAccount::With("kept"), || Ok(Verdict::Right));

    let (outcome, steps) = world.sign_in(ADDRESS).await;

    let signed_in = outcome.unwrap();
    assert_eq!(signed_in.account.email, ADDRESS);
    assert_ne!(signed_in.grant.session, SessionId::generate());
    assert_eq!(steps, [LOOK, "count", "verify", "clear"]);
}

#[tokio::test]
async fn a_known_network_is_counted_separately() {
    let world =
        World { known: true, ..World::with(StoredAccount::With("kept"), || Ok(Verdict::Right)) };

    let (_, steps) = world.sign_in(ADDRESS).await;

    assert_eq!(steps, [LOOK, "count apart", "verify", "clear"]);
}

#[tokio::test]
async fn a_missing_verification_is_reported_after_the_right_password_only() {
    let newcomer = |verdict| World {
        requires_verification: true,
        ..World::with(StoredAccount::With("kept"), verdict)
    };

    let (right, steps) = newcomer(|| Ok(Verdict::Right)).sign_in(ADDRESS).await;
    let (wrong, _) = newcomer(|| Ok(Verdict::Wrong)).sign_in(ADDRESS).await;

    assert!(matches!(right, Err(SignInError::NotVerified)), "{right:?}");
    assert!(matches!(wrong, Err(SignInError::WrongCredentials)), "{wrong:?}");
    assert_eq!(steps.last().map(String::as_str), Some("clear"));
}

#[tokio::test]
async fn every_refused_sign_in_takes_the_same_steps_to_the_same_response() {
    // The store finds no account if it is deactivated, too.
    for (stored_account, note) in [
        (StoredAccount::With("kept"), "note somebody's wrong_password"),
        (StoredAccount::WithoutPassword, "note somebody's wrong_password"),
        (StoredAccount::NoAccount, "note nobody's wrong_password"),
    ] {
        let world = World::with(stored_account, || Ok(Verdict::Wrong));

        let (outcome, steps) = world.sign_in(ADDRESS).await;

        assert!(matches!(outcome, Err(SignInError::WrongCredentials)), "{stored_account:?}");
        assert_eq!(steps, [LOOK, "count", "verify", note], "{stored_account:?}");
    }
}

#[tokio::test]
async fn a_change_meanwhile_is_reported_as_a_wrong_password() {
    for app_password in [None, Some(AppPasswordId::generate())] {
        let world = World {
            app_password,
            started: SessionStartOutcome::Stale,
            ..World::with(StoredAccount::With("kept"), || Ok(Verdict::Right))
        };

        let (outcome, _) = world.sign_in_with(ADDRESS, APP_PASSWORD).await;

        assert!(matches!(outcome, Err(SignInError::WrongCredentials)), "{app_password:?}");
    }
}

#[tokio::test]
async fn a_failure_that_cannot_be_recorded_is_reported_the_same() {
    let world = World {
        note: || Err(Unavailable::new("storage", "down")),
        ..World::with(StoredAccount::With("kept"), || Ok(Verdict::Wrong))
    };

    let (outcome, _) = world.sign_in(ADDRESS).await;

    assert!(matches!(outcome, Err(SignInError::WrongCredentials)));
}

#[tokio::test]
async fn an_account_without_a_password_hash_cannot_sign_in() {
    for stored_account in [StoredAccount::WithoutPassword, StoredAccount::NoAccount] {
        let world = World::with(stored_account, || Ok(Verdict::Right));

        let (outcome, _) = world.sign_in(ADDRESS).await;

        assert!(matches!(outcome, Err(SignInError::WrongCredentials)), "{stored_account:?}");
    }
}

#[tokio::test]
async fn after_too_many_wrong_passwords_none_is_verified_for_any_address() {
    let wait = Duration::from_mins(3);
    for stored_account in
        [StoredAccount::With("kept"), StoredAccount::WithoutPassword, StoredAccount::NoAccount]
    {
        for password in ["a perfectly fine passphrase", APP_PASSWORD] {
            let world = World {
                attempt: RateLimitOutcome::Wait(wait),
                ..World::with(stored_account, || Ok(Verdict::Right))
            };

            let (outcome, steps) = world.sign_in_with(ADDRESS, password).await;

            assert!(
                matches!(outcome, Err(SignInError::TooMany { wait: actual }) if actual == wait)
            );
            assert_eq!(steps, [LOOK, "count"], "{stored_account:?}");
        }
    }
}

#[tokio::test]
async fn the_reported_wait_is_at_most_the_maximum() {
    let world = World {
        attempt: RateLimitOutcome::Wait(Duration::from_hours(100)),
        ..World::with(StoredAccount::NoAccount, || Ok(Verdict::Wrong))
    };

    let (outcome, _) = world.sign_in(ADDRESS).await;

    let max = Duration::from_mins(15);
    assert!(matches!(outcome, Err(SignInError::TooMany { wait }) if wait == max));
}

#[tokio::test]
async fn an_unverified_attempt_is_not_counted() {
    let world = World::with(StoredAccount::With("kept"), || {
        Err(Unavailable::new("password hashing", "too many passwords are waiting"))
    });

    let (outcome, steps) = world.sign_in(ADDRESS).await;

    assert!(matches!(outcome, Err(SignInError::Unavailable(_))));
    assert_eq!(steps.last().map(String::as_str), Some("give back"));
}

#[tokio::test]
async fn a_hash_of_another_cost_is_replaced() {
    let world = World::with(StoredAccount::With("old"), || Ok(Verdict::RightButOutdated));

    let (outcome, steps) = world.sign_in(ADDRESS).await;

    assert!(outcome.is_ok());
    assert!(steps.contains(&"rehash old new".to_owned()), "{steps:?}");
}

#[tokio::test]
async fn a_sign_in_succeeds_if_its_hash_cannot_be_replaced() {
    let world = World {
        rehash: || Err(Unavailable::new("storage", "down")),
        ..World::with(StoredAccount::With("old"), || Ok(Verdict::RightButOutdated))
    };

    let (outcome, _) = world.sign_in(ADDRESS).await;

    assert!(outcome.is_ok());
}

#[tokio::test]
async fn impossible_credentials_are_refused_without_hashing() {
    let long_text = "x".repeat(2_000);
    for (email, password) in [
        ("", "a perfectly fine passphrase"),
        ("no address", "a perfectly fine passphrase"),
        ("ada\0@example.org", "a perfectly fine passphrase"),
        (&*format!("{long_text}@example.org"), "a perfectly fine passphrase"),
        (ADDRESS, ""),
        (ADDRESS, &*long_text),
    ] {
        let world = World::with(StoredAccount::With("kept"), || Ok(Verdict::Right));

        let (outcome, steps) = world.sign_in_with(email, password).await;

        assert!(matches!(outcome, Err(SignInError::WrongCredentials)));
        assert_eq!(steps, Vec::<String>::new());
    }
}
