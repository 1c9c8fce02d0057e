//! Deletion of accounts by their owners.
//!
//! `delete` checks the typed word, then the owner, and calls `Eraser`,
//! implemented in `storage-lifecycle`. The eraser checks again, under its
//! locks, that the session lives and that another administrator stays.

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

/// Text that must be typed, against accidental deletion.
const CONFIRMATION: &str = "DELETE";

/// Request to delete an account.
#[derive(Debug, Clone, Default)]
pub struct DeletionRequest {
    /// Word that the user typed to confirm; it must be `DELETE`.
    pub confirm: Option<String>,
    /// Password, if the account has one.
    pub password: Option<Secret<String>>,
    /// Code of the second factor, if the account has no password. Without one, a sign-in within the
    /// last ten minutes is required.
    pub factor: Option<FactorAnswer>,
}

/// Errors of deleting an account.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    /// Request is not confirmed.
    #[error("the confirmation of the deletion is invalid")]
    Invalid(Vec<Violation>),
    /// Password is missing or wrong.
    #[error("the password is wrong")]
    WrongPassword,
    /// Too many wrong proofs.
    #[error("too many wrong passwords")]
    TooMany {
        /// Time until the next attempt is allowed.
        wait: Duration,
    },
    /// Proof of ownership is missing or wrong, for an account without a password.
    #[error(transparent)]
    Owner(OwnerError),
    /// Account is the last administrator's.
    #[error("the last administrator can't be deleted")]
    LastAdmin,
    /// Session ended meanwhile, or the caller has none.
    #[error("the session has ended")]
    SessionOver,
    /// Account does not exist.
    #[error("no such account")]
    Gone,
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Deletion of one's own account.
///
/// Wrong passwords are counted with wrong proofs of second factors, so that a stolen session cannot
/// be used to guess it.
#[derive(Clone)]
pub struct AccountDeletion {
    reauthenticator: Reauthenticator,
    eraser: Arc<dyn Eraser>,
    caller_cache: CallerCache,
}

impl AccountDeletion {
    /// Creates deletions by `eraser`; `caller_cache` is notified of deleted accounts.
    pub fn new(
        reauthenticator: Reauthenticator,
        eraser: Arc<dyn Eraser>,
        caller_cache: CallerCache,
    ) -> Self {
        Self { reauthenticator, eraser, caller_cache }
    }

    /// Deletes the caller's account and data. Its sessions are invalid from then on.
    pub async fn delete(
        &self,
        caller: CallerState,
        request: DeletionRequest,
    ) -> Result<(), DeleteError> {
        check_confirmation(&request)?;
        let proofs = &self.reauthenticator.proofs;
        let account = proofs.ports.accounts.find(caller.user).await?.ok_or(DeleteError::Gone)?;
        // Users of an identity provider have no password here.
        if account.provider == LOCAL {
            self.prove(&account, request.password).await?;
        } else {
            let factor = request.factor.map(ReauthProof::Factor);
            self.reauthenticator.require(caller, factor).await.map_err(DeleteError::Owner)?;
        }

        // The email goes to an address: those to users are deleted with their accounts.
        let at = proofs.clock.now();
        let effects = SideEffects::from(AuditEntry::new(at, "account.deleted"))
            .and_mail(QueuedEmail::new("account-deleted").to_address(at, account.email));
        let SessionRef { user, session } =
            caller.credential.session().ok_or(DeleteError::SessionOver)?;
        let erasure = AccountErasure { user, session, at, effects };
        let outcome = self.eraser.erase(erasure).await?;
        self.caller_cache.forget_user(caller.user);

        match outcome {
            ErasureOutcome::Erased => Ok(()),
            ErasureOutcome::LastAdmin => Err(DeleteError::LastAdmin),
            ErasureOutcome::SessionOver => Err(DeleteError::SessionOver),
            ErasureOutcome::Gone => Err(DeleteError::Gone),
        }
    }

    /// Verifies the password, counted as a guess.
    async fn prove(
        &self,
        account: &Account,
        password: Option<Secret<String>>,
    ) -> Result<(), DeleteError> {
        // Clients display one message for a missing and for a wrong password.
        let Some(password) = password else { return Err(DeleteError::WrongPassword) };

        let proofs = &self.reauthenticator.proofs;
        let check = proofs.password(account, password);
        match proofs.counted(account.user, check).await {
            Ok(_) => Ok(()),
            // An account that was deleted meanwhile has no password.
            Err(ProofError::Wrong) => match proofs.ports.accounts.find(account.user).await? {
                Some(_) => Err(DeleteError::WrongPassword),
                None => Err(DeleteError::Gone),
            },
            Err(ProofError::TooMany { wait }) => Err(DeleteError::TooMany { wait }),
            Err(ProofError::Unavailable(err)) => Err(err.into()),
        }
    }
}

fn check_confirmation(request: &DeletionRequest) -> Result<(), DeleteError> {
    let (code, message) = match request.confirm.as_deref() {
        Some(CONFIRMATION) => return Ok(()),
        Some(_) => ("invalid", "Type DELETE to confirm."),
        None => ("required", "Type DELETE to confirm."),
    };
    Err(DeleteError::Invalid(vec![Violation::new("confirm", code, message)]))
}

#[cfg(test)]
mod tests;
