//! Sign-ins that wait for their second factor.
//!
//! `SignIn` calls `challenge` after a right password and returns its token,
//! which the client presents to `meet` with the answer. `meet` counts in
//! advance twice, at the account's throttle and at the challenge, and then
//! verifies the answer and consumes it with the challenge in one transaction.
//! A wrong answer stays counted at both.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Secret, SideEffects, Timestamp, Unavailable, UserId};

use crate::factors;
use crate::factors::proofs::{FactorAnswer, FactorProofs, ProofError};
use crate::passwords::throttle::{Bucket, GuessError, PasswordThrottle};
use crate::people::account::Account;
use crate::ports::{
    ChallengeStore, GuessRules, NewChallenge, PasswordThrottleStore, RateLimitOutcome, RateQuota,
    Redemption, RedemptionOutcome, SessionStartOutcome, TokenHash,
};
use crate::sessions;
use crate::sessions::StartError;
use crate::sessions::token_hash;

/// Maximum length of a presented token; those of this server have 43 bytes.
pub(crate) const MAX_TOKEN_BYTES: usize = 128;
/// Limit of warnings to one owner about wrong codes after their password.
const ONE_WARNING_A_DAY: RateQuota = RateQuota { burst: 1, window: Duration::from_hours(24) };

/// Errors of answering a challenge.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChallengeError {
    /// Challenge is unknown, expired, completed or exhausted.
    #[error("there is no such challenge")]
    Gone,
    /// Code is wrong, or was used before; the attempt was counted.
    #[error("the response is wrong")]
    Wrong {
        /// Account of the challenge; its failed attempt is logged.
        user: UserId,
        /// True if the owner is to be warned: after five wrong answers, once a day.
        warn: bool,
    },
    /// Too many wrong codes.
    #[error("too many wrong answers")]
    TooMany {
        /// Time until the next attempt is allowed.
        wait: Duration,
    },
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

impl From<GuessError> for ChallengeError {
    fn from(err: GuessError) -> Self {
        match err {
            GuessError::Wait(wait) => Self::TooMany { wait },
            GuessError::Unavailable(err) => Self::Unavailable(err),
        }
    }
}

/// End of a challenge whose answer was not wrong.
enum ChallengeEnd {
    /// Answer was right, and is consumed with the challenge.
    Redeemed,
    /// Challenge was completed, exhausted or deleted in the meantime.
    Gone,
}

/// Challenges for the second factor, after the password was verified.
#[derive(Clone)]
pub struct FactorChallenges {
    store: Arc<dyn ChallengeStore>,
    throttle: PasswordThrottle,
    proofs: FactorProofs,
}

impl FactorChallenges {
    /// Creates challenges in this store, whose wrong answers `throttle` counts.
    pub fn new(
        store: Arc<dyn ChallengeStore>,
        throttle: Arc<dyn PasswordThrottleStore>,
        proofs: FactorProofs,
    ) -> Self {
        let rules = GuessRules::default();
        let clock = Arc::clone(&proofs.clock);
        Self { store, throttle: PasswordThrottle { store: throttle, rules, clock }, proofs }
    }

    /// Opens a challenge and returns its token. The password must have been verified after the
    /// account was loaded.
    pub(crate) async fn challenge(
        &self,
        &Account { user, epoch, .. }: &Account,
    ) -> Result<Secret<String>, StartError> {
        let FactorProofs { settings, clock, .. } = &self.proofs;
        let token = sessions::refresh_tokens::fresh()?;
        let expires_at = clock.now() + settings.get().challenge_lifetime;
        let challenge = NewChallenge { hash: token_hash::of_ours(&token), user, epoch, expires_at };
        match self.store.open(challenge).await? {
            SessionStartOutcome::Done => Ok(token),
            SessionStartOutcome::Stale => Err(StartError::Stale),
        }
    }

    /// Verifies the answer to a challenge. Returns the account.
    ///
    /// The account's throttle is checked before the attempt is counted: a delay does not use up
    /// attempts of the challenge.
    pub(crate) async fn meet(
        &self,
        token: &Secret<String>,
        answer: &FactorAnswer,
    ) -> Result<Account, ChallengeError> {
        if !(1..=MAX_TOKEN_BYTES).contains(&token.expose().len()) {
            return Err(ChallengeError::Gone);
        }

        let hash = token_hash::of_ours(token);
        let max_tries = self.proofs.settings.get().challenge_tries;
        let now = self.proofs.clock.now();
        let user = self.store.owner(hash, max_tries, now).await?.ok_or(ChallengeError::Gone)?;
        // Loaded first: a later password change deletes the challenge or makes the account
        // outdated.
        let account = self.proofs.ports.accounts.find(user).await?.ok_or(ChallengeError::Gone)?;
        let guess = self.throttle.count_factor(user).await?;

        let end = match self.store.attempt(hash, max_tries, now).await {
            Ok(true) => self.redeem(hash, user, answer).await,
            Ok(false) => Ok(ChallengeEnd::Gone),
            Err(err) => Err(err.into()),
        };
        match end {
            Ok(ChallengeEnd::Redeemed) => {
                self.throttle.clear(&guess).await;
                Ok(account)
            }
            Ok(ChallengeEnd::Gone) => {
                self.throttle.give_back(&guess).await;
                Err(ChallengeError::Gone)
            }
            Err(ProofError::Wrong) => {
                let warn = self.is_warning_due(user, &guess).await;
                Err(ChallengeError::Wrong { user, warn })
            }
            Err(ProofError::TooMany { wait }) => Err(ChallengeError::TooMany { wait }),
            Err(ProofError::Unavailable(err)) => {
                self.throttle.give_back(&guess).await;
                Err(err.into())
            }
        }
    }

    /// Returns whether the owner is to be warned of a wrong answer. A failure does not change the
    /// response.
    async fn is_warning_due(&self, user: UserId, guess: &Bucket) -> bool {
        let attempts = &self.proofs.ports.attempts;
        let now = self.proofs.clock.now();
        let is_due = async {
            if !self.throttle.are_used_up(guess).await? {
                return Ok(false);
            }
            let key = format!("factor-warning:{user}");
            Ok(attempts.attempt(&key, ONE_WARNING_A_DAY, now).await? == RateLimitOutcome::Allowed)
        };

        is_due.await.unwrap_or_else(|err: Unavailable| {
            tracing::warn!(
                error = &err as &dyn std::error::Error,
                "failed to queue the warning about wrong second factors"
            );
            false
        })
    }

    /// Deletes challenges that have expired. Returns their number.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        self.store.sweep(self.proofs.clock.now()).await
    }

    /// Verifies the answer of a counted attempt, and consumes it with the challenge.
    async fn redeem(
        &self,
        hash: TokenHash,
        user: UserId,
        answer: &FactorAnswer,
    ) -> Result<ChallengeEnd, ProofError> {
        let Some(factor) = self.proofs.enabled_factor(user).await? else {
            return Ok(ChallengeEnd::Gone);
        };

        let proof = self.proofs.answer(user, &factor, answer).await?;
        let at = self.proofs.clock.now();
        let redemption =
            Redemption { hash, user, verified: proof, at, effects: redemption_effects };
        match self.store.redeem(redemption).await? {
            RedemptionOutcome::Done => Ok(ChallengeEnd::Redeemed),
            RedemptionOutcome::Stale => Err(ProofError::Wrong),
            RedemptionOutcome::Gone => Ok(ChallengeEnd::Gone),
        }
    }
}

fn redemption_effects(user: UserId, at: Timestamp, codes_left: Option<u64>) -> SideEffects {
    match codes_left {
        Some(left) => factors::recovery_codes::use_effects(user, at, Some(left)),
        None => SideEffects::default(),
    }
}

#[cfg(test)]
mod tests;
