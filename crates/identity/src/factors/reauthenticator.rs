//! Reauthentication, for actions that need more than a session.
//!
//! `check` reports an outcome, `require` rejects all outcomes but `Fresh`,
//! and `prove` stores the time of a proof, after which the session needs none
//! for ten minutes (`sessions/session_proofs.rs`). Passkeys as proofs:
//! `PasskeySignIn::prove_owner`.

use pia_kernel::ReauthenticationOutcome;

use crate::factors::proofs::{FactorProofs, ProofError, ReauthProof, used_up};
use crate::factors::reauthentication::OwnerError;
use crate::people::account::{CallerState, SessionScope};
use crate::ports::VerifiedProof;
use crate::sessions::access_tokens::SessionRef;

/// Verifies recent proof that the caller is the account's owner, for actions of other domains.
#[derive(Clone)]
pub struct Reauthenticator {
    pub(crate) proofs: FactorProofs,
}

impl Reauthenticator {
    /// Creates a reauthenticator over these proofs.
    pub fn new(proofs: FactorProofs) -> Self {
        Self { proofs }
    }

    /// Rejects a caller who neither presents a proof nor signed in within the last ten minutes.
    pub async fn require(
        &self,
        caller: CallerState,
        proof: Option<ReauthProof>,
    ) -> Result<(), OwnerError> {
        match self.check(caller, proof).await? {
            ReauthenticationOutcome::Fresh => Ok(()),
            ReauthenticationOutcome::Stale | ReauthenticationOutcome::Delegated => {
                Err(OwnerError::SignInAgain)
            }
        }
    }

    /// Returns whether a caller presents a proof or signed in within the last ten minutes. A code
    /// is consumed; a wrong proof is an error and counted.
    pub async fn check(
        &self,
        caller: CallerState,
        proof: Option<ReauthProof>,
    ) -> Result<ReauthenticationOutcome, OwnerError> {
        let Some(session_ref) = caller.credential.session() else {
            return Ok(ReauthenticationOutcome::Delegated);
        };
        if let Some(proof) = proof {
            self.verify(session_ref, proof).await?;
            return Ok(ReauthenticationOutcome::Fresh);
        }
        // The session of an app password, whose start is no proof of the owner.
        if caller.scope != SessionScope::Full && !caller.scope.is_browser() {
            return Ok(ReauthenticationOutcome::Delegated);
        }

        let is_fresh = self.proofs.sessions().is_fresh(session_ref).await?;
        Ok(if is_fresh { ReauthenticationOutcome::Fresh } else { ReauthenticationOutcome::Stale })
    }

    /// Verifies a proof, after which the caller's session needs no other one for ten minutes. A
    /// code is consumed; a wrong proof is an error and counted.
    pub async fn prove(&self, caller: CallerState, proof: ReauthProof) -> Result<(), OwnerError> {
        let session_ref = caller.credential.session().ok_or(OwnerError::SignInAgain)?;
        self.verify(session_ref, proof).await?;
        Ok(self.proofs.sessions().prove(session_ref).await?)
    }

    async fn verify(&self, session_ref: SessionRef, proof: ReauthProof) -> Result<(), OwnerError> {
        let user = session_ref.user;
        let account = self.proofs.ports.accounts.find(user).await?.ok_or(OwnerError::Wrong)?;
        let factor = self.proofs.enabled_factor(user).await?;
        let check = async {
            let verified_proof = self.proofs.verify(&account, factor.as_ref(), proof).await?;
            self.spend(session_ref, verified_proof).await
        };
        Ok(self.proofs.counted(user, check).await?)
    }

    /// Consumes a code; a password can be used again.
    async fn spend(
        &self,
        session_ref: SessionRef,
        verified_proof: VerifiedProof,
    ) -> Result<(), ProofError> {
        if matches!(verified_proof, VerifiedProof::Password | VerifiedProof::SignIn) {
            return Ok(());
        }
        let at = self.proofs.clock.now();
        let effects = used_up(verified_proof, session_ref.user, at);
        let is_spent =
            self.proofs.ports.factors.spend(session_ref, verified_proof, at, effects).await?;
        if is_spent { Ok(()) } else { Err(ProofError::Wrong) }
    }
}

#[cfg(test)]
mod tests;
