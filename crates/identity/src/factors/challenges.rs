//! Sign-ins that wait for their second factor.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Secret, SideEffects, Timestamp, Unavailable, UserId};

use crate::factors;
use crate::factors::proofs::{FactorAnswer, FactorProofs, ProofError};
use crate::passwords::throttle::{Bucket, GuessError, PasswordThrottle};
use crate::people::account::Account;
use crate::ports::{
    ChallengeStore, FactorState, GuessRules, NewChallenge, PasswordThrottleStore, RateLimitOutcome,
    RateQuota, Redeemed, Redemption, SessionStarted, TokenHash,
};
use crate::sessions;
use crate::sessions::StartError;
use crate::sessions::token_hash;

/// Longer texts are no tokens of ours; those have 43 letters.
pub(crate) const MAX_TOKEN_BYTES: usize = 128;
/// The owner is warned of wrong codes behind their password once a day.
const WARNINGS: RateQuota = RateQuota { burst: 1, window: Duration::from_hours(24) };

/// Reasons why a challenge was not met.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChallengeError {
    /// Challenge is unknown, expired, completed or exhausted.
    #[error("there is no such challenge")]
    Gone,
    /// The answer to it is wrong.
    #[error("the answer is wrong")]
    Wrong {
        /// Owner of the factor.
        user: UserId,
        /// True if its owner is warned: there were five, and they were not
        /// warned within a day.
        warn: bool,
    },
    /// Too many wrong codes.
    #[error("too many wrong answers")]
    TooMany {
        /// Time until the next attempt is allowed.
        wait: Duration,
    },
    /// Something that is needed did not answer.
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

/// Asks for the second factor of those who have shown their password.
#[derive(Clone)]
pub struct FactorChallenges {
    store: Arc<dyn ChallengeStore>,
    throttle: PasswordThrottle,
    proofs: FactorProofs,
}

impl FactorChallenges {
    /// Challenges in the given store, whose wrong answers `throttle` counts.
    pub fn new(
        store: Arc<dyn ChallengeStore>,
        throttle: Arc<dyn PasswordThrottleStore>,
        proofs: FactorProofs,
    ) -> Self {
        let (rules, clock) = (GuessRules::default(), Arc::clone(&proofs.clock));
        Self { store, throttle: PasswordThrottle { ledger: throttle, rules, clock }, proofs }
    }

    /// A token for who must show a second factor. Their password was looked at
    /// not before their account was.
    pub(crate) async fn challenge(
        &self,
        &Account { user, epoch, .. }: &Account,
    ) -> Result<Secret<String>, StartError> {
        let FactorProofs { settings, clock, .. } = &self.proofs;
        let token = sessions::refresh_tokens::fresh()?;
        let expires_at = clock.now() + settings.get().challenge_lifetime;
        let challenge = NewChallenge { hash: token_hash::of_ours(&token), user, epoch, expires_at };
        match self.store.open(challenge).await? {
            SessionStarted::Done => Ok(token),
            SessionStarted::Stale => Err(StartError::Stale),
        }
    }

    /// Takes the answer to a challenge. Answers who has proved themselves.
    ///
    /// Whether the account may be tried again is asked before the challenge
    /// is charged: who waits for the one keeps the tries of the other.
    pub(crate) async fn meet(
        &self,
        token: &Secret<String>,
        answer: &FactorAnswer,
    ) -> Result<Account, ChallengeError> {
        if !(1..=MAX_TOKEN_BYTES).contains(&token.expose().len()) {
            return Err(ChallengeError::Gone);
        }
        let (hash, max) = (token_hash::of_ours(token), self.proofs.settings.get().challenge_tries);
        let now = self.proofs.clock.now();
        let user = self.store.owner(hash, max, now).await?.ok_or(ChallengeError::Gone)?;
        // Looked at first: a password that is replaced later takes the
        // challenge away, or finds that the account is outdated.
        let account = self.proofs.ports.accounts.find(user).await?;
        let account = account.ok_or(ChallengeError::Gone)?;
        let guess = self.throttle.count_factor(user).await?;
        match self.try_once((hash, max, now), user, answer).await {
            Ok(true) => {
                self.throttle.right(&guess).await;
                Ok(account)
            }
            Ok(false) => {
                self.throttle.unjudged(&guess).await;
                Err(ChallengeError::Gone)
            }
            Err(ProofError::Wrong) => {
                Err(ChallengeError::Wrong { user, warn: self.warns(user, &guess).await })
            }
            Err(ProofError::TooMany { wait }) => Err(ChallengeError::TooMany { wait }),
            Err(ProofError::Unavailable(err)) => {
                self.throttle.unjudged(&guess).await;
                Err(err.into())
            }
        }
    }

    /// Returns whether a wrong answer is one too many for its owner not to
    /// know. That it cannot be reported changes no answer.
    async fn warns(&self, user: UserId, guess: &Bucket) -> bool {
        let (attempts, now) = (&self.proofs.ports.attempts, self.proofs.clock.now());
        let warns = async {
            if !self.throttle.are_used_up(guess).await? {
                return Ok(false);
            }
            let who = format!("factor-warning:{user}");
            Ok(attempts.attempt(&who, WARNINGS, now).await? == RateLimitOutcome::Allowed)
        };
        warns.await.unwrap_or_else(|err: Unavailable| {
            tracing::warn!(
                error = &err as &dyn std::error::Error,
                "failed to queue the warning about wrong second factors"
            );
            false
        })
    }

    /// Forgets challenges that have ended. Answers how many they were.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        self.store.sweep(self.proofs.clock.now()).await
    }

    /// Answers whether the challenge was still there.
    async fn try_once(
        &self,
        (hash, max, now): (TokenHash, u32, Timestamp),
        user: UserId,
        answer: &FactorAnswer,
    ) -> Result<bool, ProofError> {
        if !self.store.attempt(hash, max, now).await? {
            return Ok(false);
        }
        let factor = self.proofs.ports.factors.factor(user).await?;
        let Some(factor) = factor.filter(|it| it.state == FactorState::On) else {
            return Ok(false);
        };
        let verified = self.proofs.answer(user, &factor, answer).await?;
        let at = self.proofs.clock.now();
        let redemption = Redemption { hash, user, verified, at, effects: redeemed };
        match self.store.redeem(redemption).await? {
            Redeemed::Done => Ok(true),
            Redeemed::Stale => Err(ProofError::Wrong),
            Redeemed::Gone => Ok(false),
        }
    }
}

fn redeemed(user: UserId, at: Timestamp, codes_left: Option<u64>) -> SideEffects {
    let used = |left| factors::recovery_codes::used(user, at, Some(left));
    codes_left.map(used).unwrap_or_default()
}

#[cfg(test)]
mod tests;
