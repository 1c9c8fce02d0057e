//! Recovery of an account's keys with the recovery code. The order for clients:
//! `store_copy` and `put_proof_key` once, when the account is encrypted; later,
//! on a new device that has registered, `find` and `activate`.

use std::sync::Arc;

use pia_kernel::{Clock, Unavailable, UserId};

use crate::activation::{ActivateError, ActivationForm};
use crate::change::decide;
use crate::ports::KeyStore;
use crate::proof_key::{ProofKeyForm, PutProofKeyError};
use crate::recovery_copy::{RecoveryCopy, RecoveryForm, StoreCopyError};
use crate::use_cases::KeyOwner;

/// Errors that prevent a recovery copy from being returned.
#[derive(Debug, thiserror::Error)]
pub enum FindCopyError {
    /// Recovery is not set up.
    #[error("there is no recovery copy")]
    NotSetUp,
    /// Store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Copy of a user's key, encrypted with their recovery code.
#[derive(Clone)]
pub struct Recovery {
    store: Arc<dyn KeyStore>,
    clock: Arc<dyn Clock>,
}

impl Recovery {
    /// Creates the use cases on a store.
    pub fn new(store: Arc<dyn KeyStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Replaces the recovery copy, unless it is guarded by a proof key.
    pub async fn store_copy(
        &self,
        owner: KeyOwner,
        form: RecoveryForm,
    ) -> Result<(), StoreCopyError> {
        let at = self.clock.now();
        let copy = form.validate(at)?;
        let decision = |account: &_| copy.decide(account, owner, at);
        decide(&*self.store, owner.user, at, decision).await?.ok_or(StoreCopyError::Gone)
    }

    /// Returns the stored copy, which a device opens with the recovery code.
    pub async fn find(&self, user: UserId) -> Result<RecoveryCopy, FindCopyError> {
        self.store.recovery(user).await?.ok_or(FindCopyError::NotSetUp)
    }

    /// Guards the copy with a proof key permanently. Storing the same key again
    /// succeeds.
    pub async fn put_proof_key(
        &self,
        owner: KeyOwner,
        form: ProofKeyForm,
    ) -> Result<(), PutProofKeyError> {
        let key = form.validate()?;
        let at = self.clock.now();
        let decision = |account: &_| key.decide(account, owner, at);
        decide(&*self.store, owner.user, at, decision).await?.ok_or(PutProofKeyError::Gone)
    }

    /// Activates a device that opened the copy.
    pub async fn activate(
        &self,
        owner: KeyOwner,
        form: ActivationForm,
    ) -> Result<(), ActivateError> {
        let activation = form.validate()?;
        let at = self.clock.now();
        let decision = |account: &_| activation.decide(account, owner, at);
        decide(&*self.store, owner.user, at, decision).await?.ok_or(ActivateError::Gone)
    }
}

#[cfg(test)]
mod tests;
