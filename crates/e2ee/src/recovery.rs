//! Coming back by the recovery code.

use std::sync::Arc;

use pia_kernel::{Clock, Reauthentication, Unavailable, UserId};

use crate::activation::{ActivateError, ActivationForm};
use crate::change::decide;
use crate::ports::KeyStore;
use crate::proof_key::{ProofKeyForm, PutProofKeyError};
use crate::recovery_copy::{RecoveryCopy, RecoveryForm, StoreCopyError};

/// Errors that prevent a recovery copy from being returned.
#[derive(Debug, thiserror::Error)]
pub enum FindCopyError {
    /// Recovery is not set up.
    #[error("there is no recovery copy")]
    NotSetUp,
    /// The store did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// The copy of a person's key that their recovery code opens.
#[derive(Clone)]
pub struct Recovery {
    store: Arc<dyn KeyStore>,
    clock: Arc<dyn Clock>,
}

impl Recovery {
    /// The copies in the given store.
    pub fn new(store: Arc<dyn KeyStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Keeps a copy in the place of the one before, unless that is guarded.
    pub async fn store_copy(
        &self,
        (user, owner): (UserId, Reauthentication),
        form: RecoveryForm,
    ) -> Result<(), StoreCopyError> {
        let at = self.clock.now();
        let copy = form.validate(at)?;
        let judge = |held: &_| copy.decide(held, (user, at), owner);
        decide(&*self.store, (user, at), judge).await?.ok_or(StoreCopyError::Gone)
    }

    /// The copy that there is.
    pub async fn find(&self, user: UserId) -> Result<RecoveryCopy, FindCopyError> {
        self.store.recovery(user).await?.ok_or(FindCopyError::NotSetUp)
    }

    /// Guards the copy with a proof from now on, for good. The same key may be
    /// put again.
    pub async fn put_proof_key(
        &self,
        (user, owner): (UserId, Reauthentication),
        form: ProofKeyForm,
    ) -> Result<(), PutProofKeyError> {
        let (key, at) = (form.validate()?, self.clock.now());
        let judge = |held: &_| key.decide(held, (user, at), owner);
        decide(&*self.store, (user, at), judge).await?.ok_or(PutProofKeyError::Gone)
    }

    /// Lets a device in that opened the copy.
    pub async fn activate(
        &self,
        (user, owner): (UserId, Reauthentication),
        form: ActivationForm,
    ) -> Result<(), ActivateError> {
        let (activation, at) = (form.validate()?, self.clock.now());
        let judge = |held: &_| activation.decide(held, (user, at), owner);
        decide(&*self.store, (user, at), judge).await?.ok_or(ActivateError::Gone)
    }
}

#[cfg(test)]
mod tests;
