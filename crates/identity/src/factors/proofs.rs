//! Verification of codes and passwords as proofs of ownership.
//!
//! A proof takes two steps. `answer`, `proof` or `verify` compares it and
//! returns a `VerifiedProof`; the store of the change then consumes that in
//! its transaction, and may still reject it as used. Both belong into the
//! future that `counted` runs, so that a used code counts like a wrong one.
//! `reauthentication.rs` builds on this file; `challenges.rs` counts with a
//! throttle of its own.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, LiveSetting, Secret, SideEffects, Timestamp, Unavailable, UserId};

use crate::factors;
use crate::factors::totp::{self, Digits};
use crate::passwords;
use crate::people::account::Account;
use crate::ports::{
    AccountStore, Factor, FactorState, FactorStore, PasswordHasher, RateLimitOutcome,
    RateLimitStore, RateQuota, SecretBox, SessionStarts, Verdict, VerifiedProof,
};
use crate::sessions::session_proofs::SessionProofs;

/// Purpose under which an authenticator's secret is sealed.
pub(crate) const PURPOSE: &str = "totp-secret";

/// Limits and lifetimes of second factors and proofs, and the name that apps display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactorSettings {
    /// Issuer that apps display next to the address.
    pub issuer: String,
    /// Limit of wrong codes and passwords per account, from any address. Only a caller who knows
    /// the password or holds a session reaches it, so no stranger can exhaust it.
    pub wrong_proofs: RateQuota,
    /// Duration for which a sign-in waits for its second factor.
    pub challenge_lifetime: Duration,
    /// Maximum number of wrong answers to one challenge.
    pub challenge_tries: u32,
    /// Duration for which a new secret waits for its first code.
    pub enrolment_lifetime: Duration,
}

impl Default for FactorSettings {
    fn default() -> Self {
        Self {
            issuer: "Pia".to_owned(),
            wrong_proofs: RateQuota { burst: 10, window: Duration::from_mins(15) },
            challenge_lifetime: Duration::from_mins(5),
            challenge_tries: 5,
            enrolment_lifetime: Duration::from_mins(15),
        }
    }
}

/// Ports of the second-factor use cases.
#[derive(Clone)]
pub struct FactorPorts {
    /// Store of accounts, whose password hashes prove their owners.
    pub accounts: Arc<dyn AccountStore>,
    /// Store of second factors and recovery codes.
    pub factors: Arc<dyn FactorStore>,
    /// Counter of wrong codes, by account.
    pub attempts: Arc<dyn RateLimitStore>,
    /// Hasher that verifies passwords.
    pub hasher: Arc<dyn PasswordHasher>,
    /// Encryption of the authenticators' secrets.
    pub secrets: Arc<dyn SecretBox>,
    /// Store of the times when sessions proved their owners.
    pub starts: Arc<dyn SessionStarts>,
}

/// Answer to a challenge for the second factor.
#[derive(Debug, Clone)]
pub enum FactorAnswer {
    /// Six digits of the authenticator.
    Code(Secret<String>),
    /// One of the codes for a lost authenticator; it can be used once.
    RecoveryCode(Secret<String>),
}

/// Proof that the caller is the account's owner.
#[derive(Debug, Clone)]
pub enum ReauthProof {
    /// Current password, as typed.
    Password(Secret<String>),
    /// Code of the authenticator, or a recovery code.
    Factor(FactorAnswer),
}

/// Errors of verifying a proof.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProofError {
    /// Code is wrong, or was used before.
    #[error("wrong")]
    Wrong,
    /// Too many wrong codes.
    #[error("too many wrong proofs")]
    TooMany {
        /// Time until the next attempt is allowed.
        wait: Duration,
    },
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Returns the side effects of consuming this proof.
pub(crate) fn used_up(verified_proof: VerifiedProof, user: UserId, at: Timestamp) -> SideEffects {
    match verified_proof {
        VerifiedProof::RecoveryCode(_) => factors::recovery_codes::use_effects(user, at, None),
        VerifiedProof::Password | VerifiedProof::SignIn | VerifiedProof::Code(_) => {
            SideEffects::default()
        }
    }
}

/// Verifies proofs and counts wrong ones.
#[derive(Clone)]
pub struct FactorProofs {
    /// Ports that proofs are verified with.
    pub ports: FactorPorts,
    /// Lifetimes and limits; a change applies to the next proof.
    pub settings: LiveSetting<FactorSettings>,
    /// Clock of codes and lifetimes.
    pub clock: Arc<dyn Clock>,
}

impl FactorProofs {
    /// Returns the recent proofs of sessions.
    pub fn sessions(&self) -> SessionProofs {
        SessionProofs::new(Arc::clone(&self.ports.starts), Arc::clone(&self.clock))
    }

    /// Returns the second factor of an account, if it is on.
    pub(crate) async fn enabled_factor(&self, user: UserId) -> Result<Option<Factor>, Unavailable> {
        let factor = self.ports.factors.factor(user).await?;
        Ok(factor.filter(|it| it.state == FactorState::On))
    }

    /// Runs `check` and counts it if the proof is wrong. It is counted in advance, since concurrent
    /// attempts would otherwise be free, and the attempt is returned unless the proof is wrong.
    pub(crate) async fn counted<T>(
        &self,
        user: UserId,
        check: impl Future<Output = Result<T, ProofError>> + Send,
    ) -> Result<T, ProofError> {
        let key = format!("factor:{user}");
        let quota = self.settings.get().wrong_proofs;
        match self.ports.attempts.attempt(&key, quota, self.clock.now()).await? {
            RateLimitOutcome::Allowed => {}
            RateLimitOutcome::Wait(wait) => return Err(ProofError::TooMany { wait }),
        }

        let outcome = check.await;
        if !matches!(outcome, Err(ProofError::Wrong)) {
            self.give_back(&key, quota).await;
        }

        outcome
    }

    /// Returns an attempt that was counted in advance. A failure costs the account this attempt
    /// until the window has passed, but does not affect the proof.
    async fn give_back(&self, key: &str, quota: RateQuota) {
        if let Err(err) = self.ports.attempts.give_back(key, quota, self.clock.now()).await {
            tracing::warn!(
                error = &err as &dyn std::error::Error,
                "failed to return the attempt of a proof that was not wrong"
            );
        }
    }

    /// Verifies an answer as far as that is possible without consuming it.
    pub(crate) async fn answer(
        &self,
        user: UserId,
        factor: &Factor,
        answer: &FactorAnswer,
    ) -> Result<VerifiedProof, ProofError> {
        match answer {
            FactorAnswer::Code(code) => self.code(user, factor, code).await,
            FactorAnswer::RecoveryCode(code) => {
                let hash = factors::recovery_codes::hash(user, code).ok_or(ProofError::Wrong)?;
                Ok(VerifiedProof::RecoveryCode(hash))
            }
        }
    }

    /// Verifies a proof that may also be a password, without consuming it.
    pub(crate) async fn proof(
        &self,
        account: &Account,
        factor: &Factor,
        proof: ReauthProof,
    ) -> Result<VerifiedProof, ProofError> {
        match proof {
            ReauthProof::Password(password) => self.password(account, password).await,
            ReauthProof::Factor(answer) => self.answer(account.user, factor, &answer).await,
        }
    }

    async fn code(
        &self,
        user: UserId,
        factor: &Factor,
        code: &Secret<String>,
    ) -> Result<VerifiedProof, ProofError> {
        let digits = Digits::parse(code).ok_or(ProofError::Wrong)?;
        let Some(secret) = self.ports.secrets.open(user, PURPOSE, &factor.sealed).await? else {
            // Recovery codes and the password remain usable.
            tracing::error!(user.id = %user, "authenticator app secret could not be decrypted");
            return Err(ProofError::Wrong);
        };
        let step = totp::check(&secret, &digits, self.clock.now())?;
        if step.is_some() && factor.state == FactorState::On {
            self.reseal(user, &factor.sealed, &secret).await;
        }
        step.map(VerifiedProof::Code).ok_or(ProofError::Wrong)
    }

    /// Seals the secret under the current key. A failure does not affect the code: the old key
    /// still opens the secret, and the next code retries.
    async fn reseal(&self, user: UserId, old_value: &[u8], secret: &Secret<Vec<u8>>) {
        if !self.ports.secrets.is_outdated(old_value) {
            return;
        }

        let attempt = async {
            match self.ports.secrets.seal(user, PURPOSE, secret).await? {
                Some(new_value) => self.ports.factors.reseal(user, old_value, &new_value).await,
                None => Ok(()),
            }
        };

        if let Err(err) = attempt.await {
            tracing::warn!(
                user.id = %user,
                error = &err as &dyn std::error::Error,
                "failed to re-encrypt an authenticator app secret"
            );
        }
    }

    /// Verifies the account's password; any is wrong if the account has none.
    pub(crate) async fn password(
        &self,
        account: &Account,
        password: Secret<String>,
    ) -> Result<VerifiedProof, ProofError> {
        if !(1..=passwords::rules::MAX_PASSWORD_BYTES).contains(&password.expose().len()) {
            return Err(ProofError::Wrong);
        }
        let hash = self.password_hash(account).await?;
        let has_password = hash.is_some();
        match self.ports.hasher.verify(password, hash).await? {
            Verdict::Right | Verdict::RightButOutdated if has_password => {
                Ok(VerifiedProof::Password)
            }
            _ => Err(ProofError::Wrong),
        }
    }

    /// Returns the stored hash of an account's password; `None` if it has none.
    pub(crate) async fn password_hash(
        &self,
        account: &Account,
    ) -> Result<Option<Secret<String>>, Unavailable> {
        let credentials = self.ports.accounts.by_email(&account.email).await?;
        // The address may have changed since the account was loaded: another's password, or none,
        // must not count.
        match credentials.filter(|it| it.account.user == account.user) {
            Some(credentials) => Ok(credentials.password_hash),
            None => Err(Unavailable::new("credentials", "the account has just changed")),
        }
    }
}
