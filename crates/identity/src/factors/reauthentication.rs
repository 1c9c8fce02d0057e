//! Proof that a request comes from the account's owner and not from someone with their session.
//!
//! `FactorProofs::owner` is for changes whose store consumes the proof
//! together with the change: API keys, app passwords. Actions without such a
//! store use `reauthenticator.rs`, which consumes the proof by itself.

use std::time::Duration;

use pia_kernel::Unavailable;

use crate::factors::proofs::{FactorProofs, ProofError, ReauthProof};
use crate::people::account::Account;
use crate::ports::{Factor, VerifiedProof};
use crate::sessions::access_tokens::SessionRef;

/// Maximum age of a sign-in, or of a session's later proof, as proof.
pub(crate) const FRESH: Duration = Duration::from_mins(10);

/// Errors of proving ownership of an account.
#[derive(Debug, thiserror::Error)]
pub enum OwnerError {
    /// Request needs a proof and has none: the client asks for it and repeats the request.
    #[error("a proof is required")]
    Missing,
    /// Account has no proof, and its sign-in is too old.
    #[error("a recent sign-in is required")]
    SignInAgain,
    /// Proof is wrong, or was used before.
    #[error("the proof is wrong")]
    Wrong,
    /// Passkey's response is not one of this account, or its challenge is over.
    #[error("the passkey is rejected")]
    WrongPasskey,
    /// Too many wrong proofs.
    #[error("too many wrong proofs")]
    TooMany {
        /// Time until the next attempt is allowed.
        wait: Duration,
    },
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Account whose owner is to be verified.
#[derive(Clone, Copy)]
pub(crate) struct ProtectedAccount<'a> {
    pub(crate) account: &'a Account,
    /// Second factor; `None` if it is off.
    pub(crate) factor: Option<&'a Factor>,
}

impl FactorProofs {
    /// Verifies that the caller is the owner and passes the proof to `then`, which may still reject
    /// it.
    ///
    /// An account without password and factor requires a sign-in within [`FRESH`].
    pub(crate) async fn owner<T, F>(
        &self,
        session_ref: SessionRef,
        protected: ProtectedAccount<'_>,
        proof: Option<ReauthProof>,
        then: impl FnOnce(VerifiedProof) -> F + Send,
    ) -> Result<T, OwnerError>
    where
        F: Future<Output = Result<T, ProofError>> + Send,
    {
        let ProtectedAccount { account, factor } = protected;
        if let Some(proof) = proof {
            let check = async { then(self.verify(account, factor, proof).await?).await };
            return Ok(self.counted(session_ref.user, check).await?);
        }
        if factor.is_some() || self.password_hash(account).await?.is_some() {
            return Err(OwnerError::Missing);
        }

        if !self.sessions().is_fresh(session_ref).await? {
            return Err(OwnerError::SignInAgain);
        }

        Ok(then(VerifiedProof::SignIn).await?)
    }

    /// Verifies a proof as far as that is possible without consuming it.
    pub(crate) async fn verify(
        &self,
        account: &Account,
        factor: Option<&Factor>,
        proof: ReauthProof,
    ) -> Result<VerifiedProof, ProofError> {
        match (proof, factor) {
            (ReauthProof::Password(password), _) => self.password(account, password).await,
            (ReauthProof::Factor(answer), Some(factor)) => {
                self.answer(account.user, factor, &answer).await
            }
            (ReauthProof::Factor(_), None) => Err(ProofError::Wrong),
        }
    }
}

impl From<ProofError> for OwnerError {
    fn from(err: ProofError) -> Self {
        match err {
            ProofError::Wrong => Self::Wrong,
            ProofError::TooMany { wait } => Self::TooMany { wait },
            ProofError::Unavailable(err) => Self::Unavailable(err),
        }
    }
}
