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
mod tests;
