//! Leaving for good.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{
    AccountErasure, AuditEntry, Eraser, ErasureOutcome, QueuedEmail, Secret, SideEffects,
    Unavailable,
};

use crate::factors::proofs::{FactorAnswer, ProofError, ReauthProof};
use crate::factors::reauthentication::OwnerError;
use crate::factors::reauthenticator::Reauthenticator;
use crate::people::account::{Account, CallerState, LOCAL};
use crate::sessions::access_tokens::SessionRef;
use crate::sessions::caller_cache::CallerCache;
use crate::violation::Violation;

/// Text that must be typed, so that nobody deletes an account by accident.
const CONFIRMATION: &str = "DELETE";

/// Request to delete an account.
#[derive(Debug, Clone, Default)]
pub struct DeletionRequest {
    /// The word that confirms it.
    pub confirm: Option<String>,
    /// The password, if the account has one of its own.
    pub password: Option<Secret<String>>,
    /// A code of the second factor, if the account has no password. Without
    /// one, its owner must have signed in within the last ten minutes.
    pub factor: Option<FactorAnswer>,
}

/// Reasons why an account stays.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    /// The request does not say what it must.
    #[error("the deletion is not confirmed correctly")]
    Invalid(Vec<Violation>),
    /// The password is wrong.
    #[error("the password is wrong")]
    WrongPassword,
    /// Too many wrong proofs.
    #[error("too many wrong passwords")]
    TooMany {
        /// Time until the next attempt is allowed.
        wait: Duration,
    },
    /// An account without a password is not shown to be the caller's.
    #[error(transparent)]
    Owner(OwnerError),
    /// Without its owner nobody could look after the server.
    #[error("the last administrator cannot leave")]
    LastAdmin,
    /// The session ended meanwhile.
    #[error("the session is over")]
    SessionOver,
    /// No such account, or no longer.
    #[error("there is no such account")]
    Gone,
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Deleting one's own account.
///
/// A wrong password counts as a wrong proof of a second factor does, so that
/// who has stolen a session cannot guess it here.
#[derive(Clone)]
pub struct AccountDeletion {
    owners: Reauthenticator,
    eraser: Arc<dyn Eraser>,
    caller_cache: CallerCache,
}

impl AccountDeletion {
    /// Deletes with `eraser`; `caller_cache` is notified of those who are gone.
    pub fn new(
        owners: Reauthenticator,
        eraser: Arc<dyn Eraser>,
        caller_cache: CallerCache,
    ) -> Self {
        Self { owners, eraser, caller_cache }
    }

    /// Forgets the caller and all that is theirs. From then on none of their
    /// sessions is good.
    pub async fn delete(
        &self,
        caller: CallerState,
        farewell: DeletionRequest,
    ) -> Result<(), DeleteError> {
        confirmed(&farewell)?;
        let proofs = &self.owners.proofs;
        let account = proofs.ports.accounts.find(caller.user).await?;
        let account = account.ok_or(DeleteError::Gone)?;
        if account.provider == LOCAL {
            self.prove(&account, farewell.password).await?;
        } else {
            let factor = farewell.factor.map(ReauthProof::Factor);
            self.owners.require(caller, factor).await.map_err(DeleteError::Owner)?;
        }
        let at = proofs.clock.now();
        let effects = SideEffects::from(AuditEntry::new(at, "account.deleted"))
            .and_mail(QueuedEmail::new("account-deleted").to_address(at, account.email));
        let SessionRef { user, session } =
            caller.credential.session().ok_or(DeleteError::SessionOver)?;
        let departure = AccountErasure { user, session, at, effects };
        let erasure = self.eraser.erase(departure).await?;
        self.caller_cache.forget_user(caller.user);
        match erasure {
            ErasureOutcome::Erased => Ok(()),
            ErasureOutcome::LastAdmin => Err(DeleteError::LastAdmin),
            ErasureOutcome::SessionOver => Err(DeleteError::SessionOver),
            ErasureOutcome::Gone => Err(DeleteError::Gone),
        }
    }

    async fn prove(
        &self,
        account: &Account,
        password: Option<Secret<String>>,
    ) -> Result<(), DeleteError> {
        // Clients show one message for what is missing and what is wrong.
        let Some(password) = password else { return Err(DeleteError::WrongPassword) };
        let proofs = &self.owners.proofs;
        let check = proofs.password(account, password);
        match proofs.counted(account.user, check).await {
            Ok(_) => Ok(()),
            // Whose account goes meanwhile has no password any more.
            Err(ProofError::Wrong) => match proofs.ports.accounts.find(account.user).await? {
                Some(_) => Err(DeleteError::WrongPassword),
                None => Err(DeleteError::Gone),
            },
            Err(ProofError::TooMany { wait }) => Err(DeleteError::TooMany { wait }),
            Err(ProofError::Unavailable(err)) => Err(err.into()),
        }
    }
}

fn confirmed(farewell: &DeletionRequest) -> Result<(), DeleteError> {
    let (code, message) = match farewell.confirm.as_deref() {
        Some(CONFIRMATION) => return Ok(()),
        Some(_) => ("invalid", "Type DELETE to confirm."),
        None => ("required", "Type DELETE to confirm."),
    };
    Err(DeleteError::Invalid(vec![Violation::new("confirm", code, message)]))
}

#[cfg(test)]
mod tests;
