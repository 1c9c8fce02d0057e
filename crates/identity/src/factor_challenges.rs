//! Sign-ins that wait for their second factor.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, Effects, Live, Secret, Timestamp, Unavailable, UserId};
use ring::digest;

use crate::account::Account;
use crate::factor_proofs::{FactorAnswer, FactorPorts, FactorProofs, FactorSettings, ProofError};
use crate::ports::{
    Begun, ChallengeStore, FactorState, NewChallenge, Redeemed, Redemption, TokenHash,
};
use crate::recovery_codes;
use crate::refresh_tokens;
use crate::sessions::StartError;

/// Longer texts are no tokens of ours; those have 43 letters.
pub(crate) const MOST_BYTES: usize = 128;

/// Why a challenge was not met.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChallengeError {
    /// It is unknown, has ended, was met or was tried too often.
    #[error("there is no such challenge")]
    Gone,
    /// This user's answer to it is wrong.
    #[error("the answer is wrong")]
    Wrong(UserId),
    /// There were too many wrong ones.
    #[error("too many wrong answers")]
    TooMany {
        /// When the next may be tried.
        wait: Duration,
    },
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

impl ChallengeError {
    fn of(user: UserId, err: ProofError) -> Self {
        match err {
            ProofError::Wrong => Self::Wrong(user),
            ProofError::TooMany { wait } => Self::TooMany { wait },
            ProofError::Unavailable(err) => Self::Unavailable(err),
        }
    }
}

/// Asks for the second factor of those who have shown their password.
#[derive(Clone)]
pub struct FactorChallenges {
    store: Arc<dyn ChallengeStore>,
    proofs: FactorProofs,
}

impl FactorChallenges {
    /// Challenges in the given store.
    pub fn new(
        store: Arc<dyn ChallengeStore>,
        ports: FactorPorts,
        settings: Live<FactorSettings>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, proofs: FactorProofs { ports, settings, clock } }
    }

    /// A token for who must show a second factor. Their password was looked at
    /// not before their account was.
    pub(crate) async fn challenge(
        &self,
        &Account { user, epoch, .. }: &Account,
    ) -> Result<Secret<String>, StartError> {
        let FactorProofs { settings, clock, .. } = &self.proofs;
        let token = refresh_tokens::fresh()?;
        let expires_at = clock.now() + settings.get().challenge_lifetime;
        let challenge = NewChallenge { hash: hash(&token), user, epoch, expires_at };
        match self.store.open(challenge).await? {
            Begun::Done => Ok(token),
            Begun::Stale => Err(StartError::Stale),
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
        if !(1..=MOST_BYTES).contains(&token.expose().len()) {
            return Err(ChallengeError::Gone);
        }
        let (hash, most) = (hash(token), self.proofs.settings.get().challenge_tries);
        let now = self.proofs.clock.now();
        let user = self.store.owner(hash, most, now).await?.ok_or(ChallengeError::Gone)?;
        // Looked at first: a password that is replaced later takes the
        // challenge away, or finds that the account is outdated.
        let account = self.proofs.ports.accounts.find(user).await?;
        let account = account.ok_or(ChallengeError::Gone)?;
        let met = self.proofs.counted(user, async {
            let may = self.store.attempt(hash, most, now).await?;
            if may { self.try_once(hash, user, answer).await } else { Ok(false) }
        });
        let met = met.await.map_err(|err| ChallengeError::of(user, err))?;
        if met { Ok(account) } else { Err(ChallengeError::Gone) }
    }

    /// Forgets challenges that have ended. Answers how many they were.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        self.store.sweep(self.proofs.clock.now()).await
    }

    /// Answers whether the challenge was still there.
    async fn try_once(
        &self,
        hash: TokenHash,
        user: UserId,
        answer: &FactorAnswer,
    ) -> Result<bool, ProofError> {
        let factor = self.proofs.ports.factors.factor(user).await?;
        let Some(factor) = factor.filter(|it| it.state == FactorState::On) else {
            return Ok(false);
        };
        let evidence = self.proofs.answer(user, &factor, answer).await?;
        let at = self.proofs.clock.now();
        let redemption = Redemption { hash, user, evidence, at, effects: redeemed };
        match self.store.redeem(redemption).await? {
            Redeemed::Done => Ok(true),
            Redeemed::Stale => Err(ProofError::Wrong),
            Redeemed::Gone => Ok(false),
        }
    }
}

fn redeemed(user: UserId, at: Timestamp, codes_left: Option<u64>) -> Effects {
    let used = |left| recovery_codes::used(user, at, Some(left));
    codes_left.map(used).unwrap_or_default()
}

/// What is kept of a token. It needs no key, since it cannot be guessed.
pub(crate) fn hash(token: &Secret<String>) -> TokenHash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, token.expose().as_bytes()).as_ref());
    TokenHash(hash)
}

#[cfg(test)]
mod tests;
