//! Signing in with an address and a password, and a second factor.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::{Clock, Live, Secret, Unavailable, UserId};
use ring::digest;

use crate::account::Account;
use crate::device::Device;
use crate::email::{self, fold_email};
use crate::factor_challenges::{ChallengeError, FactorChallenges};
use crate::factor_proofs::{FactorAnswer, ProofError};
use crate::password_rules;
use crate::ports::{
    AccountStore, Attempt, AttemptStore, Credentials, FailedSignIn, PasswordHasher, Quota,
    SignInLog, SignInMethod, SignInOutcome, Verdict,
};
use crate::sessions::{Grant, Sessions};
use crate::verification::{Owed, Verification};

/// How often one may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignInSettings {
    /// Wrong passwords for one account, from wherever they come.
    ///
    /// It bounds what many machines together can guess. One of them alone must
    /// not be able to use it up, for that would keep the owner from signing
    /// in: it is far more than the rate budget of one address.
    pub wrong_passwords: Quota,
}

impl Default for SignInSettings {
    fn default() -> Self {
        Self { wrong_passwords: Quota { burst: 1000, window: Duration::from_hours(1) } }
    }
}

/// Someone who has proved who they are.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// Their account.
    pub account: Account,
    /// What their device goes on with.
    pub grant: Grant,
}

/// Why someone was not signed in.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The password is wrong, or there is no account that it could be of.
    #[error("address or password is wrong")]
    WrongCredentials,
    /// There were too many wrong passwords for this address.
    #[error("too many wrong passwords for this address")]
    TooMany {
        /// When the next may be tried.
        wait: Duration,
    },
    /// The password is right, and the address has yet to be shown to be its
    /// owner's.
    #[error("the address is not verified")]
    NotVerified,
    /// The password is right, and the account has a second factor.
    #[error("a second factor is needed")]
    FactorNeeded {
        /// What [`SignIn::with_factor`] goes on with.
        challenge: Secret<String>,
    },
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Why a second factor did not sign its owner in.
#[derive(Debug, thiserror::Error)]
pub enum FactorSignInError {
    /// The sign-in is unknown, over, or was tried too often: it must begin
    /// with the password again.
    #[error("the sign-in is over")]
    Over,
    /// The code is wrong, or was used before.
    #[error("the code is wrong")]
    WrongCode,
    /// There were too many wrong codes for this account.
    #[error("too many wrong codes for this account")]
    TooMany {
        /// When the next may be tried.
        wait: Duration,
    },
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// What sign-in is built on.
#[derive(Clone)]
pub struct SignInPorts {
    /// Where accounts are kept.
    pub accounts: Arc<dyn AccountStore>,
    /// Where wrong passwords are counted.
    pub attempts: Arc<dyn AttemptStore>,
    /// What compares passwords.
    pub hasher: Arc<dyn PasswordHasher>,
    /// Where failures are remembered for the account they concern.
    pub log: Arc<dyn SignInLog>,
    /// Whether an account may be used yet.
    pub verification: Verification,
}

/// Signs people in.
#[derive(Clone)]
pub struct SignIn {
    ports: SignInPorts,
    sessions: Sessions,
    challenges: FactorChallenges,
    settings: Live<SignInSettings>,
    clock: Arc<dyn Clock>,
}

impl SignIn {
    /// Sign-in that begins its sessions with `sessions`, after one of
    /// `challenges` where the account asks for it.
    pub fn new(
        ports: SignInPorts,
        sessions: Sessions,
        challenges: FactorChallenges,
        settings: Live<SignInSettings>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { ports, sessions, challenges, settings, clock }
    }

    /// Signs in with a password.
    ///
    /// An unknown address, an account without a password, a deactivated one
    /// and a wrong password take the same steps to the same answer: one
    /// attempt, one look, one hash, one note.
    pub async fn local(
        &self,
        email: &str,
        password: Secret<String>,
        device: Device,
    ) -> Result<SignedIn, SignInError> {
        if !plausible(email, &password) {
            return Err(SignInError::WrongCredentials);
        }
        let who = attempts_of(email);
        let quota = self.settings.get().wrong_passwords;
        // Counted before it is tried, or all that are tried at once would be
        // free; put back unless it turns out wrong.
        match self.ports.attempts.attempt(&who, quota, self.clock.now()).await? {
            Attempt::Allowed => {}
            Attempt::Wait(wait) => return Err(SignInError::TooMany { wait }),
        }
        let device = device.tidy();
        let proved = self.prove(email, password, &device).await;
        if !matches!(proved, Err(SignInError::WrongCredentials)) {
            self.put_back(&who, quota).await;
        }
        let account = proved?;
        self.ports.verification.owed(&account).await?;
        self.challenge(&account).await?;
        let grant = self.sessions.start(account.user, SignInMethod::Password, device).await?;
        if let Err(needed) = self.challenge(&account).await {
            // A factor that was put on since ended the sessions that there
            // were, of which this was none yet.
            self.sessions.end(&grant.refresh).await?;
            return Err(needed);
        }
        Ok(SignedIn { account, grant })
    }

    /// Goes on with a sign-in that asked for a second factor.
    pub async fn with_factor(
        &self,
        challenge: &Secret<String>,
        answer: &FactorAnswer,
        device: Device,
    ) -> Result<SignedIn, FactorSignInError> {
        let user = self.challenges.meet(challenge, answer).await?;
        let account = self.ports.accounts.find(user).await?.ok_or(FactorSignInError::Over)?;
        let grant = self.sessions.start(user, SignInMethod::PasswordWithFactor, device).await?;
        Ok(SignedIn { account, grant })
    }

    async fn challenge(&self, account: &Account) -> Result<(), SignInError> {
        match self.challenges.challenge(account.user).await? {
            Some(challenge) => Err(SignInError::FactorNeeded { challenge }),
            None => Ok(()),
        }
    }

    async fn prove(
        &self,
        email: &str,
        password: Secret<String>,
        device: &Device,
    ) -> Result<Account, SignInError> {
        let (account, kept) = match self.ports.accounts.by_email(&fold_email(email)).await? {
            Some(Credentials { account, password_hash }) => (Some(account), password_hash),
            None => (None, None),
        };
        let verdict = self.ports.hasher.verify(password.clone(), kept.clone()).await?;
        match (verdict, account, kept) {
            (Verdict::Right, Some(account), Some(_)) => Ok(account),
            (Verdict::RightButOutdated, Some(account), Some(kept)) => {
                self.rehash(&account, password, &kept).await;
                Ok(account)
            }
            (_, account, _) => {
                self.note_failure(account.map(|it| it.user), device).await;
                Err(SignInError::WrongCredentials)
            }
        }
    }

    /// Remembers a wrong password for whoever's account it was tried on. That
    /// it fails changes no answer.
    async fn note_failure(&self, user: Option<UserId>, device: &Device) {
        let attempt = FailedSignIn {
            user,
            at: self.clock.now(),
            outcome: SignInOutcome::WrongPassword,
            method: SignInMethod::Password,
            device: device.clone(),
        };
        if let Err(err) = self.ports.log.failed(attempt).await {
            tracing::warn!(
                error = &err as &dyn std::error::Error,
                "a sign-in that failed could not be remembered"
            );
        }
    }

    /// Keeps the password at today's cost. What fails here fails nobody's
    /// sign-in: the old hash is still right, and the next sign-in tries again.
    async fn rehash(&self, account: &Account, password: Secret<String>, old: &Secret<String>) {
        let rehashed = async {
            let new = self.ports.hasher.hash(password).await?;
            self.ports.accounts.rehash(account.user, old, &new).await
        };
        if let Err(err) = rehashed.await {
            tracing::warn!(
                user.id = %account.user,
                error = &err as &dyn std::error::Error,
                "a password could not be hashed anew"
            );
        }
    }

    async fn put_back(&self, who: &str, quota: Quota) {
        let put_back = self.ports.attempts.give_back(who, quota, self.clock.now()).await;
        if let Err(err) = put_back {
            tracing::warn!(
                error = &err as &dyn std::error::Error,
                "an attempt to sign in was counted that was not wrong"
            );
        }
    }
}

impl From<Owed> for SignInError {
    fn from(err: Owed) -> Self {
        match err {
            Owed::Verification => Self::NotVerified,
            Owed::Unavailable(err) => Self::Unavailable(err),
        }
    }
}

impl From<ChallengeError> for FactorSignInError {
    fn from(err: ChallengeError) -> Self {
        match err {
            ChallengeError::Gone => Self::Over,
            ChallengeError::Answer(ProofError::Wrong) => Self::WrongCode,
            ChallengeError::Answer(ProofError::TooMany { wait }) => Self::TooMany { wait },
            ChallengeError::Answer(ProofError::Unavailable(err)) => Self::Unavailable(err),
        }
    }
}

/// Whether there could be such an account. What is refused here is no
/// account's address or password, so how soon it is refused tells nothing.
fn plausible(email: &str, password: &Secret<String>) -> bool {
    let length = password.expose().len();
    email.len() <= email::MOST_CHARS * 4
        && email.contains('@')
        && !email.trim().chars().any(char::is_control)
        && (1..=password_rules::MOST_BYTES).contains(&length)
}

/// The name of an address's bucket, from which it cannot be read.
fn attempts_of(email: &str) -> String {
    let hash = digest::digest(&digest::SHA256, fold_email(email).as_bytes());
    format!("sign-in:{}", URL_SAFE_NO_PAD.encode(hash))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use pia_kernel::{SessionId, Timestamp, UserId};
    use pia_testkit::FixedClock;

    use super::*;
    use crate::access_tokens::{AccessTokens, TokenNames};
    use crate::fakes::{self, Factors};
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
        owes_verification: bool,
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
                owes_verification: false,
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
            let World { found, verdict, attempt, rehash, note, .. } = self;
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
                verification: fakes::verification(self.owes_verification),
            };
            let clock: Arc<dyn Clock> = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
            let factors = Factors::on_at_look(self.factor_on_at);
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
    async fn whoever_owes_their_verification_is_told_so_by_the_right_password_alone() {
        let newcomer = |verdict| World {
            owes_verification: true,
            ..World::with(Found::With("kept"), verdict)
        };

        let (right, steps) = newcomer(|| Ok(Verdict::Right)).sign_in(ADDRESS).await;
        let (wrong, _) = newcomer(|| Ok(Verdict::Wrong)).sign_in(ADDRESS).await;

        assert!(matches!(right, Err(SignInError::NotVerified)), "{right:?}");
        assert!(matches!(wrong, Err(SignInError::WrongCredentials)), "{wrong:?}");
        assert_eq!(steps.last().map(String::as_str), Some("give back"));
    }

    #[tokio::test]
    async fn whoever_has_a_second_factor_and_a_wrong_password_is_not_asked_for_it() {
        let world = World {
            factor_on_at: Some(0),
            ..World::with(Found::With("kept"), || Ok(Verdict::Wrong))
        };

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
}
