//! API keys: what scripts call with in the place of a person.

pub(crate) mod admin;
pub(crate) mod authenticator;
pub(crate) mod codes;

use std::sync::Arc;

use pia_kernel::{
    ApiKeyId, AuditEntry, QueuedEmail, Secret, SideEffects, Timestamp, Unavailable, UserId,
    utf16_len,
};

use crate::factors::proofs::{FactorProofs, ProofError, ReauthProof, used_up};
use crate::factors::reauthentication::OwnerError;
use crate::people::account::ApiKeyRef;
use crate::ports::{
    ApiKeyEntry, ApiKeyStore, FactorState, KeyScope, NewApiKey, StoreAppPassword, VerifiedProof,
};
use crate::sessions::access_tokens::SessionRef;
use crate::sessions::caller_cache::CallerCache;
use crate::violation::Violation;

/// Number of an account may have, those that have ended too.
const MAX_API_KEYS: usize = 20;
/// Maximum length of a name.
const MAX_NAME_CHARS: usize = 64;
/// Maximum of a key's weekly budget, the same as a group's.
const MAX_CREDITS: i64 = 1_000_000_000_000;

/// Requested properties of a new key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiKeyOptions {
    /// Name chosen by the owner.
    pub name: Option<String>,
    /// Requested scopes; asking models if absent.
    pub scopes: Option<Vec<String>>,
    /// Time at which it ends; nothing if it does not.
    pub expires_at: Option<Timestamp>,
    /// Budget in whole credits per calendar week; 0 is no limit.
    pub weekly_credits: Option<i64>,
}

/// An API key that was just made.
#[derive(Debug, Clone)]
pub struct CreatedApiKey {
    /// Entry of the key in its owner's list from now on.
    pub entry: ApiKeyEntry,
    /// The key. It is shown this once: only its hash is stored.
    pub key: Secret<String>,
}

/// Reasons why no key was made.
#[derive(Debug, thiserror::Error)]
pub enum CreateApiKeyError {
    /// Request is invalid.
    #[error("the key cannot be like that")]
    Invalid(Vec<Violation>),
    /// Proof of ownership is missing or wrong.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// Owner has the maximum number of keys.
    #[error("there are {limit} API keys already")]
    Full {
        /// Maximum number of keys.
        limit: usize,
    },
    /// The account was deleted since the gates let its owner pass.
    #[error("there is no such account")]
    Gone,
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Reasons why no key was taken away.
#[derive(Debug, thiserror::Error)]
pub enum RemoveApiKeyError {
    /// No such key, or no longer.
    #[error("there is no such API key")]
    Unknown,
    /// The store did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// People's API keys.
#[derive(Clone)]
pub struct ApiKeys {
    store: Arc<dyn ApiKeyStore>,
    proofs: FactorProofs,
    caller_cache: CallerCache,
}

impl ApiKeys {
    /// API keys in the given store; `caller_cache` is notified of those that end.
    pub fn new(
        store: Arc<dyn ApiKeyStore>,
        proofs: FactorProofs,
        caller_cache: CallerCache,
    ) -> Self {
        Self { store, proofs, caller_cache }
    }

    /// Makes a key for an account's owner.
    pub async fn create(
        &self,
        session_ref: SessionRef,
        wish: ApiKeyOptions,
        proof: Option<ReauthProof>,
    ) -> Result<CreatedApiKey, CreateApiKeyError> {
        let entry = wish.entry(self.proofs.clock.now()).map_err(CreateApiKeyError::Invalid)?;
        let ports = &self.proofs.ports;
        let account = ports.accounts.find(session_ref.user).await?;
        let account = account.ok_or(CreateApiKeyError::Gone)?;
        let factor = ports.factors.factor(session_ref.user).await?;
        let factor = factor.filter(|it| it.state == FactorState::On);
        let key = codes::fresh()?;
        let keep = |verified| self.keep(session_ref, &entry, &key, verified);
        match self.proofs.owner(session_ref, (&account, factor.as_ref()), proof, keep).await? {
            StoreAppPassword::Full => Err(CreateApiKeyError::Full { limit: MAX_API_KEYS }),
            StoreAppPassword::Gone => Err(CreateApiKeyError::Gone),
            StoreAppPassword::Done | StoreAppPassword::Stale => Ok(CreatedApiKey { entry, key }),
        }
    }

    async fn keep(
        &self,
        by: SessionRef,
        entry: &ApiKeyEntry,
        key: &Secret<String>,
        verified: VerifiedProof,
    ) -> Result<StoreAppPassword, ProofError> {
        // What was made a moment ago is one.
        let hash = codes::hash(key.expose()).ok_or(ProofError::Wrong)?;
        let new = NewApiKey { entry: entry.clone(), by, hash };
        let effects = created(by.user, entry, verified);
        match self.store.add(new, MAX_API_KEYS, verified, effects).await? {
            StoreAppPassword::Stale => Err(ProofError::Wrong),
            stored => Ok(stored),
        }
    }

    /// A user's keys, in the order they were made, those that have ended too.
    pub async fn list(&self, user: UserId) -> Result<Vec<ApiKeyEntry>, Unavailable> {
        self.store.list(user).await
    }

    /// Takes a key away; it opens nothing from then on.
    pub async fn revoke(
        &self,
        session_ref: SessionRef,
        key: ApiKeyId,
    ) -> Result<(), RemoveApiKeyError> {
        let (at, session_ref) =
            (self.proofs.clock.now(), ApiKeyRef { user: session_ref.user, key });
        let found = self.store.remove(session_ref, at, revoked).await?;
        self.caller_cache.forget_user(session_ref.user);
        if found { Ok(()) } else { Err(RemoveApiKeyError::Unknown) }
    }
}

impl ApiKeyOptions {
    /// The key as its owner is notified of it; or all that it cannot be.
    fn entry(self, now: Timestamp) -> Result<ApiKeyEntry, Vec<Violation>> {
        let weekly_credits = self.weekly_credits.unwrap_or_default();
        let mut faults = Vec::new();
        let name = read_name(self.name.as_deref()).unwrap_or_else(|fault| {
            faults.push(fault);
            String::new()
        });
        let scopes = read_scopes(self.scopes).unwrap_or_else(|fault| {
            faults.push(fault);
            Vec::new()
        });
        if self.expires_at.is_some_and(|it| it <= now) {
            let message = "The key must expire in the future, or never.";
            faults.push(Violation::new("expiresAt", "invalid", message));
        }
        if !(0..=MAX_CREDITS).contains(&weekly_credits) {
            let message = format!("Credits are a whole number, 0 to {MAX_CREDITS}.");
            faults.push(Violation::new("weeklyCredits", "invalid", message));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(ApiKeyEntry {
            id: ApiKeyId::generate(),
            name,
            scopes,
            weekly_credits,
            created_at: now,
            expires_at: self.expires_at,
            used_at: None,
        })
    }
}

fn read_name(input: Option<&str>) -> Result<String, Violation> {
    let fault = |code, message: &str| Err(Violation::new("name", code, message));
    let name = input.map(str::trim).unwrap_or_default();
    if name.is_empty() {
        return fault("required", "A name is required, so that you can recognise the script.");
    }
    if utf16_len(name) > MAX_NAME_CHARS {
        return fault("too_long", "The name can be at most 64 characters long.");
    }
    if name.chars().any(char::is_control) {
        return fault("invalid", "The name must be a single line of text.");
    }
    Ok(name.to_owned())
}

fn read_scopes(input: Option<Vec<String>>) -> Result<Vec<KeyScope>, Violation> {
    let Some(input) = input else { return Ok(vec![KeyScope::Ai]) };
    let known: Option<Vec<KeyScope>> = input.iter().map(|it| KeyScope::from_name(it)).collect();
    match known {
        Some(named) if !named.is_empty() => {
            Ok(KeyScope::ALL.into_iter().filter(|it| named.contains(it)).collect())
        }
        _ => Err(Violation::new("scopes", "invalid", "The only scope is `ai`.")),
    }
}

fn created(user: UserId, entry: &ApiKeyEntry, verified: VerifiedProof) -> SideEffects {
    let at = entry.created_at;
    let object = format!("api-key:{}", entry.id);
    let letter = QueuedEmail::new("api-key-added").with("name", &entry.name).to_user(at, user);
    let created = SideEffects::of_object(at, Some(user), object, "ApiKey.Created").and_mail(letter);
    used_up(verified, user, at).and(created)
}

fn revoked(session_ref: ApiKeyRef, at: Timestamp, name: &str) -> SideEffects {
    ended(session_ref, at, name, |user| (Some(user), None))
}

/// Side effects of a deleted key: audit entry by and about `sides`, and the email.
pub(crate) fn ended(
    ApiKeyRef { user, key }: ApiKeyRef,
    at: Timestamp,
    name: &str,
    sides: fn(UserId) -> (Option<UserId>, Option<UserId>),
) -> SideEffects {
    let letter = QueuedEmail::new("api-key-removed").with("name", name).to_user(at, user);
    audited(ApiKeyRef { user, key }, at, sides(user)).and_mail(letter)
}

/// The audit entry of a key that its owner revoked with a new password.
pub(crate) fn revoked_with_password(session_ref: ApiKeyRef, at: Timestamp) -> SideEffects {
    audited(session_ref, at, (Some(session_ref.user), None))
}

fn audited(
    ApiKeyRef { key, .. }: ApiKeyRef,
    at: Timestamp,
    (actor, subject): (Option<UserId>, Option<UserId>),
) -> SideEffects {
    let object = Some(format!("api-key:{key}"));
    AuditEntry { actor, subject, object, ..AuditEntry::new(at, "ApiKey.Revoked") }.into()
}

#[cfg(test)]
mod tests;
