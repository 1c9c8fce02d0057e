//! App passwords, for programs that cannot present a second factor.
//!
//! This file creates, lists and revokes them; `SignIn::prove_password`
//! accepts one in place of the account's password, from programs but not from
//! browsers. Its session has the scope `SessionScope::Data` and ends with it.
//! `codes.rs` has the format.

pub(crate) mod codes;

use std::sync::Arc;

use pia_kernel::{
    AppPasswordId, QueuedEmail, Secret, SideEffects, Timestamp, Unavailable, UserId, utf16_len,
};

use crate::factors::proofs::{FactorProofs, ProofError, ReauthProof, used_up};
use crate::factors::reauthentication::{OwnerError, ProtectedAccount};
use crate::ports::{
    AppPasswordEntry, AppPasswordRemoval, AppPasswordStore, CredentialStoreOutcome, NewAppPassword,
    VerifiedProof,
};
use crate::sessions::access_tokens::SessionRef;
use crate::sessions::caller_cache::CallerCache;
use crate::violation::Violation;

/// Maximum number of app passwords per account.
const MAX_APP_PASSWORDS: usize = 20;
/// Maximum length of a name, in UTF-16 code units.
const MAX_NAME_CHARS: usize = 64;

/// A newly created app password.
#[derive(Debug, Clone)]
pub struct CreatedAppPassword {
    /// Entry of the app password in its owner's list.
    pub entry: AppPasswordEntry,
    /// Password, returned only here: only its hash is stored.
    pub password: Secret<String>,
}

/// Errors of creating an app password.
#[derive(Debug, thiserror::Error)]
pub enum CreateAppPasswordError {
    /// Name is missing, too long or not one line.
    #[error("the name is invalid")]
    Invalid(Vec<Violation>),
    /// Proof of ownership is missing or wrong.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// Owner has the maximum number of app passwords.
    #[error("the account has the maximum of {limit} app passwords")]
    Full {
        /// Maximum number of app passwords.
        limit: usize,
    },
    /// Account was deleted during the request.
    #[error("no such account")]
    Gone,
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Errors of removing an app password.
#[derive(Debug, thiserror::Error)]
pub enum RemoveAppPasswordError {
    /// User has no such app password.
    #[error("the user has no such app password")]
    Unknown,
    /// The store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// A user's own app passwords.
#[derive(Clone)]
pub struct AppPasswords {
    store: Arc<dyn AppPasswordStore>,
    proofs: FactorProofs,
    caller_cache: CallerCache,
}

impl AppPasswords {
    /// Creates app passwords in this store; `caller_cache` is notified of sessions that end.
    pub fn new(
        store: Arc<dyn AppPasswordStore>,
        proofs: FactorProofs,
        caller_cache: CallerCache,
    ) -> Self {
        Self { store, proofs, caller_cache }
    }

    /// Creates an app password for the account's owner.
    pub async fn create(
        &self,
        session_ref: SessionRef,
        name: Option<&str>,
        proof: Option<ReauthProof>,
    ) -> Result<CreatedAppPassword, CreateAppPasswordError> {
        let name = parse_name(name).map_err(|it| CreateAppPasswordError::Invalid(vec![it]))?;
        let ports = &self.proofs.ports;
        let account =
            ports.accounts.find(session_ref.user).await?.ok_or(CreateAppPasswordError::Gone)?;
        let factor = self.proofs.enabled_factor(session_ref.user).await?;
        let password = codes::fresh()?;

        let entry = AppPasswordEntry {
            id: AppPasswordId::generate(),
            name,
            created_at: self.proofs.clock.now(),
            used_at: None,
        };
        let protected = ProtectedAccount { account: &account, factor: factor.as_ref() };
        let store = |verified_proof| self.store(session_ref, &entry, &password, verified_proof);
        match self.proofs.owner(session_ref, protected, proof, store).await? {
            CredentialStoreOutcome::Full => {
                Err(CreateAppPasswordError::Full { limit: MAX_APP_PASSWORDS })
            }
            CredentialStoreOutcome::Gone => Err(CreateAppPasswordError::Gone),
            // `store` returns a stale proof as a wrong one.
            CredentialStoreOutcome::Done | CredentialStoreOutcome::Stale => {
                Ok(CreatedAppPassword { entry, password })
            }
        }
    }

    async fn store(
        &self,
        by: SessionRef,
        entry: &AppPasswordEntry,
        password: &Secret<String>,
        verified_proof: VerifiedProof,
    ) -> Result<CredentialStoreOutcome, ProofError> {
        // A generated password is always well-formed.
        let hash = codes::hash(password).ok_or(ProofError::Wrong)?;
        let name = entry.name.clone();
        let at = entry.created_at;
        let new_password = NewAppPassword { id: entry.id, by, name, hash, at };
        let effects = addition_effects(by.user, at, &entry.name, verified_proof);
        match self.store.add(new_password, MAX_APP_PASSWORDS, verified_proof, effects).await? {
            CredentialStoreOutcome::Stale => Err(ProofError::Wrong),
            outcome => Ok(outcome),
        }
    }

    /// Returns a user's app passwords in order of creation.
    pub async fn list(&self, user: UserId) -> Result<Vec<AppPasswordEntry>, Unavailable> {
        self.store.list(user).await
    }

    /// Removes an app password and ends each session that was started with it.
    pub async fn revoke(
        &self,
        session_ref: SessionRef,
        id: AppPasswordId,
    ) -> Result<(), RemoveAppPasswordError> {
        let user = session_ref.user;
        let removal = AppPasswordRemoval { user, id, at: self.proofs.clock.now() };
        let existed = self.store.remove(removal, removal_effects, end_effects).await?;
        self.caller_cache.forget_user(user);
        if existed { Ok(()) } else { Err(RemoveAppPasswordError::Unknown) }
    }
}

fn parse_name(input: Option<&str>) -> Result<String, Violation> {
    let violation = |code, message: &str| Err(Violation::new("name", code, message));
    let name = input.map(str::trim).unwrap_or_default();
    if name.is_empty() {
        return violation("required", "A name is required, so that you can recognise the app.");
    }
    if utf16_len(name) > MAX_NAME_CHARS {
        return violation("too_long", "The name can be at most 64 characters long.");
    }
    if name.chars().any(char::is_control) {
        return violation("invalid", "The name must be a single line of text.");
    }

    Ok(name.to_owned())
}

fn addition_effects(
    user: UserId,
    at: Timestamp,
    name: &str,
    verified_proof: VerifiedProof,
) -> SideEffects {
    let email = QueuedEmail::new("app-password-added").with("name", name).to_user(at, user);
    let addition = SideEffects::audit(at, user, "app_password.added").and_mail(email);
    used_up(verified_proof, user, at).and(addition)
}

fn removal_effects(user: UserId, at: Timestamp, name: &str) -> SideEffects {
    let email = QueuedEmail::new("app-password-removed").with("name", name).to_user(at, user);
    SideEffects::audit(at, user, "app_password.removed").and_mail(email)
}

fn end_effects(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::audit(at, user, "session.ended")
}

#[cfg(test)]
mod tests;
