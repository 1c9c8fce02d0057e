//! Challenges for second factors, and proofs of sessions, in memory.

use async_trait::async_trait;
use pia_kernel::{Timestamp, Unavailable, UserId};

use super::{InMemoryFactors, Meanwhile};
use crate::ports::{
    ChallengeStore, NewChallenge, Redemption, RedemptionOutcome, SessionStartOutcome,
    SessionStarts, TokenHash, VerifiedProof,
};
use crate::sessions::access_tokens::SessionRef;

#[async_trait]
impl ChallengeStore for InMemoryFactors {
    async fn open(&self, challenge: NewChallenge) -> Result<SessionStartOutcome, Unavailable> {
        let mut state = self.state();
        if state.meanwhile == Some(Meanwhile::Changed) {
            return Ok(SessionStartOutcome::Stale);
        }
        state.challenges.insert(challenge.hash, (challenge, 0));
        Ok(SessionStartOutcome::Done)
    }

    async fn owner(
        &self,
        hash: TokenHash,
        max: u32,
        now: Timestamp,
    ) -> Result<Option<UserId>, Unavailable> {
        let state = self.state();
        let open_challenge =
            state.challenges.get(&hash).filter(|(it, tries)| it.expires_at > now && *tries < max);
        Ok(open_challenge.map(|(it, _)| it.user))
    }

    async fn attempt(&self, hash: TokenHash, max: u32, _: Timestamp) -> Result<bool, Unavailable> {
        let mut state = self.state();
        let Some((_, tries)) = state.challenges.get_mut(&hash) else { return Ok(false) };
        *tries += 1;
        Ok(*tries <= max)
    }

    async fn redeem(&self, redemption: Redemption) -> Result<RedemptionOutcome, Unavailable> {
        let Redemption { hash, user, verified: verified_proof, at, effects } = redemption;
        let mut state = self.state();
        if !state.challenges.contains_key(&hash) {
            return Ok(RedemptionOutcome::Gone);
        }
        if !state.consume_proof(verified_proof) {
            return Ok(RedemptionOutcome::Stale);
        }
        state.challenges.remove(&hash);
        let used_recovery_code = matches!(verified_proof, VerifiedProof::RecoveryCode(_));
        let codes_left = used_recovery_code.then_some(state.codes.len() as u64);
        state.write(effects(user, at, codes_left));
        Ok(RedemptionOutcome::Done)
    }

    async fn sweep(&self, _: Timestamp) -> Result<u64, Unavailable> {
        Ok(0)
    }
}

#[async_trait]
impl SessionStarts for InMemoryFactors {
    async fn proved_at(&self, _: SessionRef) -> Result<Option<Timestamp>, Unavailable> {
        Ok(self.state().proved_at)
    }

    async fn prove(&self, _: SessionRef, at: Timestamp) -> Result<(), Unavailable> {
        self.state().proved_at = Some(at);
        Ok(())
    }
}
