//! Sign-in with an email address, a password and a second factor.
//!
//! `SignIn::local` verifies the password and starts a session. For an account
//! with a second factor it returns `FactorNeeded` with a challenge, which the
//! client presents to `with_factor`. `sign_in/browser.rs` combines the same
//! steps for browsers.
//!
//! The time of a response must not reveal accounts: keep the steps of an
//! unknown address equal to those of a known one.

pub(crate) mod browser;
pub(crate) mod codes;
pub(crate) mod device;
mod errors;
pub(crate) mod history;

use std::sync::Arc;

use pia_kernel::{
    AppPasswordId, Clock, QueuedEmail, Secret, SideEffects, Timestamp, Unavailable, UserId,
};

use crate::app_passwords;
use crate::factors::challenges::{ChallengeError, FactorChallenges};
use crate::factors::proofs::FactorAnswer;
use crate::passwords;
use crate::passwords::throttle::PasswordThrottle;
use crate::people;
use crate::people::account::Account;
use crate::people::verification::Verification;
use crate::ports::{
    AccountStore, AppPasswordStore, Candidate, Credentials, EndEffects, FailedSignIn, GuessRules,
    PasswordHasher, PasswordThrottleStore, SignInLog, SignInMethod, SignInOutcome, Verdict,
};
use crate::sessions::{SessionTokens, Sessions};
use crate::sign_in::device::SignInDevice;
use crate::sign_in::history::RETENTION;

pub use errors::{FactorSignInError, SignInError};

/// Kind of program that signs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// A browser, which can present a second factor: app passwords are not accepted from it.
    Browser,
    /// Any other program, for which app passwords exist.
    App,
}

/// A user who has signed in.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// Account that the session belongs to.
    pub account: Account,
    /// Tokens of the new session.
    pub grant: SessionTokens,
}

/// Ports of sign-in.
#[derive(Clone)]
pub struct SignInPorts {
    /// Store of accounts and password hashes.
    pub accounts: Arc<dyn AccountStore>,
    /// Store of app passwords, for programs without second factor.
    pub app_passwords: Arc<dyn AppPasswordStore>,
    /// Counter of wrong passwords, by address.
    pub throttle: Arc<dyn PasswordThrottleStore>,
    /// Hasher that verifies passwords.
    pub hasher: Arc<dyn PasswordHasher>,
    /// Log of failed attempts.
    pub log: Arc<dyn SignInLog>,
    /// Check that the address is verified.
    pub verification: Verification,
}

/// Sign-in with an email address and a password, or an app password.
#[derive(Clone)]
pub struct SignIn {
    ports: SignInPorts,
    sessions: Sessions,
    challenges: FactorChallenges,
    throttle: PasswordThrottle,
    clock: Arc<dyn Clock>,
}

/// Account whose password was verified, and the app password if it was one.
pub(crate) struct ProvedPassword {
    pub(crate) account: Account,
    pub(crate) has_factor: bool,
    app_password: Option<AppPasswordId>,
}

impl SignIn {
    /// Creates a sign-in that starts sessions in `sessions`, after one of `challenges` if the
    /// account has a second factor.
    pub fn new(
        ports: SignInPorts,
        sessions: Sessions,
        challenges: FactorChallenges,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let store = Arc::clone(&ports.throttle);
        let throttle =
            PasswordThrottle { store, rules: GuessRules::default(), clock: Arc::clone(&clock) };
        Self { ports, sessions, challenges, throttle, clock }
    }

    /// Signs in with a password, or an app password.
    ///
    /// An unknown address, an account without a password, a deactivated one and a wrong password
    /// take the same steps to the same response: one read of the account and its networks, one
    /// count, one hash, one log entry.
    pub async fn local(
        &self,
        email: &str,
        password: Secret<String>,
        program: Program,
        device: SignInDevice,
    ) -> Result<SignedIn, SignInError> {
        let proved_password = self.prove_password(email, password, program, &device).await?;
        self.start_session(proved_password, device).await
    }

    /// Verifies a password, counted and recorded as an attempt to sign in.
    pub(crate) async fn prove_password(
        &self,
        email: &str,
        password: Secret<String>,
        program: Program,
        device: &SignInDevice,
    ) -> Result<ProvedPassword, SignInError> {
        if !is_plausible(email, &password) {
            return Err(SignInError::WrongCredentials);
        }

        let device = device.clone().tidy();
        let from = device.network();
        let since = self.clock.now() - RETENTION;
        let candidate = self.ports.accounts.candidate(email, from, since).await?;
        let user = candidate.as_ref().map(|it| it.credentials.account.user);
        let was_there_before = candidate.as_ref().is_some_and(|it| it.was_there_before);
        let known_network = if was_there_before { from } else { None };

        // Counted before it is verified: concurrent guesses must not exceed the limit.
        let guess = self.throttle.count_password(email, known_network).await?;
        let outcome = self.prove(candidate, password, program).await;
        match &outcome {
            Ok(_) => self.throttle.clear(&guess).await,
            Err(SignInError::WrongCredentials) => {
                let failure = FailedSignIn {
                    user,
                    at: self.clock.now(),
                    outcome: SignInOutcome::WrongPassword,
                    method: SignInMethod::Password,
                    device,
                };
                self.record(failure, failure_effects).await;
            }
            // The password was not verified.
            Err(_) => self.throttle.give_back(&guess).await,
        }

        outcome
    }

    /// Completes a sign-in that requires a second factor.
    pub async fn with_factor(
        &self,
        challenge: &Secret<String>,
        answer: &FactorAnswer,
        device: SignInDevice,
    ) -> Result<SignedIn, FactorSignInError> {
        let account = self.prove_factor(challenge, answer, &device).await?;
        let method = SignInMethod::PasswordWithFactor;
        let grant = self.sessions.start(&account, method, device).await?;
        Ok(SignedIn { account, grant })
    }

    /// Verifies the answer to the challenge of a sign-in, and records a wrong
    /// one.
    pub(crate) async fn prove_factor(
        &self,
        challenge: &Secret<String>,
        answer: &FactorAnswer,
        device: &SignInDevice,
    ) -> Result<Account, FactorSignInError> {
        let outcome = self.challenges.meet(challenge, answer).await;
        if let Err(ChallengeError::Wrong { user, warn }) = outcome {
            let failure = FailedSignIn {
                user: Some(user),
                at: self.clock.now(),
                outcome: SignInOutcome::WrongFactor,
                method: SignInMethod::PasswordWithFactor,
                device: device.clone().tidy(),
            };
            let effects: EndEffects = if warn { warning_effects } else { failure_effects };
            self.record(failure, effects).await;
        }
        Ok(outcome?)
    }

    /// Starts a session, if no further proof is required.
    async fn start_session(
        &self,
        proved_password: ProvedPassword,
        device: SignInDevice,
    ) -> Result<SignedIn, SignInError> {
        let ProvedPassword { account, has_factor, app_password } = proved_password;
        self.check_verified(&account).await?;
        let grant = match app_password {
            Some(id) => self.sessions.start_by_app_password(&account, id, device).await?,
            None if has_factor => {
                return Err(self.factor_needed(&account).await?);
            }
            None => self.sessions.start(&account, SignInMethod::Password, device).await?,
        };
        Ok(SignedIn { account, grant })
    }

    /// Checks that the account's address is verified, if that is required.
    pub(crate) async fn check_verified(&self, account: &Account) -> Result<(), SignInError> {
        Ok(self.ports.verification.outstanding(account).await?)
    }

    /// Opens a challenge for the account's second factor and returns the error that carries it.
    pub(crate) async fn factor_needed(
        &self,
        account: &Account,
    ) -> Result<SignInError, SignInError> {
        Ok(SignInError::FactorNeeded { challenge: self.challenges.challenge(account).await? })
    }

    /// Verifies a password of the candidate: an app password, or else that of the account. Takes as
    /// long without a candidate.
    async fn prove(
        &self,
        candidate: Option<Candidate>,
        password: Secret<String>,
        program: Program,
    ) -> Result<ProvedPassword, SignInError> {
        let has_factor = candidate.as_ref().is_some_and(|it| it.has_factor);
        let credentials = candidate.map(|it| it.credentials);

        let user = credentials.as_ref().map(|it| it.account.user);
        let app_password = self.app_password(user, &password, program).await?;
        if app_password.is_some()
            && let Some(Credentials { account, .. }) = &credentials
        {
            return Ok(ProvedPassword { account: account.clone(), has_factor, app_password });
        }

        // Without a hash this takes as long, so that the time does not reveal accounts.
        let stored_hash = credentials.as_ref().and_then(|it| it.password_hash.clone());
        let verdict = self.ports.hasher.verify(password.clone(), stored_hash).await?;
        let Some(Credentials { account, password_hash: Some(old_hash) }) = credentials else {
            return Err(SignInError::WrongCredentials);
        };

        match verdict {
            Verdict::Right => {}
            Verdict::RightButOutdated => self.rehash(&account, password, &old_hash).await,
            Verdict::Wrong => return Err(SignInError::WrongCredentials),
        }

        Ok(ProvedPassword { account, has_factor, app_password: None })
    }

    /// Returns the app password, if the text is one. The same query runs without an account. A text
    /// in the form of an app password may still be the account's password.
    async fn app_password(
        &self,
        user: Option<UserId>,
        password: &Secret<String>,
        program: Program,
    ) -> Result<Option<AppPasswordId>, Unavailable> {
        match (app_passwords::codes::hash(password), program) {
            (Some(hash), Program::App) => {
                let user = user.unwrap_or_else(UserId::generate);
                self.ports.app_passwords.find(user, hash).await
            }
            (Some(_), Program::Browser) | (None, _) => Ok(None),
        }
    }

    /// Records a failure for its account. An error does not change the response.
    async fn record(&self, failure: FailedSignIn, effects: EndEffects) {
        if let Err(err) = self.ports.log.record_failure(failure, effects).await {
            tracing::warn!(
                error = &err as &dyn std::error::Error,
                "failed to record a failed sign-in"
            );
        }
    }

    /// Hashes the password at the current cost. A failure does not affect the sign-in: the old hash
    /// stays valid, and the next sign-in retries.
    async fn rehash(&self, account: &Account, password: Secret<String>, old: &Secret<String>) {
        let replacement = async {
            let new_hash = self.ports.hasher.hash(password).await?;
            self.ports.accounts.rehash(account.user, old, &new_hash).await
        };
        if let Err(err) = replacement.await {
            tracing::warn!(
                user.id = %account.user,
                error = &err as &dyn std::error::Error,
                "failed to rehash a password"
            );
        }
    }
}

fn failure_effects(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::about(at, user, "sign_in.failed")
}

/// Returns the side effects of repeated wrong second factors. The owner is emailed: the attacker
/// knows the password.
fn warning_effects(user: UserId, at: Timestamp) -> SideEffects {
    failure_effects(user, at).and_mail(QueuedEmail::new("second-factor-failed").to_user(at, user))
}

/// Returns whether such an account could exist. Input rejected here is no
/// account's address or password, so the response time reveals nothing.
fn is_plausible(email: &str, password: &Secret<String>) -> bool {
    let length = password.expose().len();
    email.len() <= people::email::MAX_EMAIL_CHARS * 4
        && email.contains('@')
        && !email.trim().chars().any(char::is_control)
        && (1..=passwords::rules::MAX_PASSWORD_BYTES).contains(&length)
}

#[cfg(test)]
mod tests;
