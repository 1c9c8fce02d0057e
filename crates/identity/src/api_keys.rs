//! API keys of scripts, as their owners create, list and revoke them.
//!
//! `ApiKeys::create` validates the options, verifies the owner by
//! `FactorProofs::owner`, and stores the key's hash; the key itself leaves
//! the server once. `codes.rs` has the format of keys, `authenticator.rs`
//! accepts them with requests, `admin.rs` revokes those of others.

pub(crate) mod admin;
pub(crate) mod authenticator;
pub(crate) mod codes;

use std::sync::Arc;

use pia_kernel::{
    ApiKeyId, AuditEntry, QueuedEmail, Secret, SideEffects, Timestamp, Unavailable, UserId,
    utf16_len,
};

use crate::factors::proofs::{FactorProofs, ProofError, ReauthProof, used_up};
use crate::factors::reauthentication::{OwnerError, ProtectedAccount};
use crate::people::account::ApiKeyRef;
use crate::ports::{
    ApiKeyEntry, ApiKeyRemoval, ApiKeyStore, CredentialStoreOutcome, KeyScope, NewApiKey,
    VerifiedProof,
};
use crate::sessions::access_tokens::SessionRef;
use crate::sessions::caller_cache::CallerCache;
use crate::violation::Violation;

/// Maximum number of keys per account, expired ones included.
const MAX_API_KEYS: usize = 20;
/// Maximum length of a name, in UTF-16 code units.
const MAX_NAME_CHARS: usize = 64;
/// Maximum weekly budget of a key in whole credits, equal to a group's.
const MAX_CREDITS: i64 = 1_000_000_000_000;

/// Requested properties of a new key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiKeyOptions {
    /// Name chosen by the owner: required, one line, at most 64 UTF-16 units.
    pub name: Option<String>,
    /// Requested scopes; calling models if absent.
    pub scopes: Option<Vec<String>>,
    /// Expiry time; `None` if it does not expire.
    pub expires_at: Option<Timestamp>,
    /// Budget in whole credits per calendar week; 0 is no limit.
    pub weekly_credits: Option<i64>,
}

/// A newly created API key.
#[derive(Debug, Clone)]
pub struct CreatedApiKey {
    /// Entry of the key in its owner's list.
    pub entry: ApiKeyEntry,
    /// Key, returned only here: only its hash is stored.
    pub key: Secret<String>,
}

/// Errors of creating a key.
#[derive(Debug, thiserror::Error)]
pub enum CreateApiKeyError {
    /// Request is invalid; all violations are listed.
    #[error("the key's properties are invalid")]
    Invalid(Vec<Violation>),
    /// Proof of ownership is missing or wrong.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// Owner has the maximum number of keys.
    #[error("the account has the maximum of {limit} API keys")]
    Full {
        /// Maximum number of keys of one account.
        limit: usize,
    },
    /// Account was deleted during the request.
    #[error("no such account")]
    Gone,
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Errors of removing a key.
#[derive(Debug, thiserror::Error)]
pub enum RemoveApiKeyError {
    /// User has no key of this id, or it was revoked before.
    #[error("there is no such API key")]
    Unknown,
    /// The store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// A user's own API keys; `ApiKeyAdmin` revokes those of others.
#[derive(Clone)]
pub struct ApiKeys {
    store: Arc<dyn ApiKeyStore>,
    proofs: FactorProofs,
    caller_cache: CallerCache,
}

impl ApiKeys {
    /// Creates API keys in this store; `caller_cache` is notified of those that end.
    pub fn new(
        store: Arc<dyn ApiKeyStore>,
        proofs: FactorProofs,
        caller_cache: CallerCache,
    ) -> Self {
        Self { store, proofs, caller_cache }
    }

    /// Creates a key for the account's owner.
    pub async fn create(
        &self,
        session_ref: SessionRef,
        options: ApiKeyOptions,
        proof: Option<ReauthProof>,
    ) -> Result<CreatedApiKey, CreateApiKeyError> {
        let entry = options.entry(self.proofs.clock.now()).map_err(CreateApiKeyError::Invalid)?;
        let ports = &self.proofs.ports;
        let account =
            ports.accounts.find(session_ref.user).await?.ok_or(CreateApiKeyError::Gone)?;
        let factor = self.proofs.enabled_factor(session_ref.user).await?;

        let key = codes::fresh()?;
        let protected = ProtectedAccount { account: &account, factor: factor.as_ref() };
        let store = |verified_proof| self.store(session_ref, &entry, &key, verified_proof);
        match self.proofs.owner(session_ref, protected, proof, store).await? {
            CredentialStoreOutcome::Full => Err(CreateApiKeyError::Full { limit: MAX_API_KEYS }),
            CredentialStoreOutcome::Gone => Err(CreateApiKeyError::Gone),
            // `store` returns a stale proof as a wrong one.
            CredentialStoreOutcome::Done | CredentialStoreOutcome::Stale => {
                Ok(CreatedApiKey { entry, key })
            }
        }
    }

    async fn store(
        &self,
        by: SessionRef,
        entry: &ApiKeyEntry,
        key: &Secret<String>,
        verified_proof: VerifiedProof,
    ) -> Result<CredentialStoreOutcome, ProofError> {
        // A generated key is always well-formed.
        let hash = codes::hash(key.expose()).ok_or(ProofError::Wrong)?;
        let new_key = NewApiKey { entry: entry.clone(), by, hash };
        let effects = creation_effects(by.user, entry, verified_proof);
        match self.store.add(new_key, MAX_API_KEYS, verified_proof, effects).await? {
            CredentialStoreOutcome::Stale => Err(ProofError::Wrong),
            outcome => Ok(outcome),
        }
    }

    /// Returns a user's keys in order of creation, expired ones included.
    pub async fn list(&self, user: UserId) -> Result<Vec<ApiKeyEntry>, Unavailable> {
        self.store.list(user).await
    }

    /// Removes a key; it is invalid from then on.
    pub async fn revoke(
        &self,
        session_ref: SessionRef,
        key: ApiKeyId,
    ) -> Result<(), RemoveApiKeyError> {
        let at = self.proofs.clock.now();
        let key = ApiKeyRef { user: session_ref.user, key };
        let removal = ApiKeyRemoval { key, by: Some(session_ref.user), at };
        let existed = self.store.remove(removal, removal_effects).await?;
        self.caller_cache.forget_user(session_ref.user);
        if existed { Ok(()) } else { Err(RemoveApiKeyError::Unknown) }
    }
}

impl ApiKeyOptions {
    /// Returns the key's entry, or all violations of the request.
    fn entry(self, now: Timestamp) -> Result<ApiKeyEntry, Vec<Violation>> {
        let weekly_credits = self.weekly_credits.unwrap_or_default();
        let mut violations = Vec::new();
        let name = parse_name(self.name.as_deref()).unwrap_or_else(|violation| {
            violations.push(violation);
            String::new()
        });

        let scopes = parse_scopes(self.scopes).unwrap_or_else(|violation| {
            violations.push(violation);
            Vec::new()
        });

        if self.expires_at.is_some_and(|it| it <= now) {
            let message = "The key must expire in the future, or never.";
            violations.push(Violation::new("expiresAt", "invalid", message));
        }

        if !(0..=MAX_CREDITS).contains(&weekly_credits) {
            let message = format!("Credits are a whole number, 0 to {MAX_CREDITS}.");
            violations.push(Violation::new("weeklyCredits", "invalid", message));
        }

        if !violations.is_empty() {
            return Err(violations);
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

fn parse_name(input: Option<&str>) -> Result<String, Violation> {
    let violation = |code, message: &str| Err(Violation::new("name", code, message));
    let name = input.map(str::trim).unwrap_or_default();
    if name.is_empty() {
        return violation("required", "A name is required, so that you can recognise the script.");
    }
    if utf16_len(name) > MAX_NAME_CHARS {
        return violation("too_long", "The name can be at most 64 characters long.");
    }
    if name.chars().any(char::is_control) {
        return violation("invalid", "The name must be a single line of text.");
    }

    Ok(name.to_owned())
}

fn parse_scopes(input: Option<Vec<String>>) -> Result<Vec<KeyScope>, Violation> {
    let Some(input) = input else { return Ok(vec![KeyScope::Ai]) };
    let named_scopes: Option<Vec<KeyScope>> =
        input.iter().map(|it| KeyScope::from_name(it)).collect();
    match named_scopes {
        Some(named) if !named.is_empty() => {
            Ok(KeyScope::ALL.into_iter().filter(|it| named.contains(it)).collect())
        }
        _ => Err(Violation::new("scopes", "invalid", "The only scope is `ai`.")),
    }
}

fn creation_effects(
    user: UserId,
    entry: &ApiKeyEntry,
    verified_proof: VerifiedProof,
) -> SideEffects {
    let at = entry.created_at;
    let object = format!("api-key:{}", entry.id);
    let email = QueuedEmail::new("api-key-added").with("name", &entry.name).to_user(at, user);
    let creation = SideEffects::of_object(at, Some(user), object, "ApiKey.Created").and_mail(email);
    used_up(verified_proof, user, at).and(creation)
}

/// Returns the side effects of a removed key: the audit entry, about the owner
/// if somebody else removed it, and the email to the owner.
pub(crate) fn removal_effects(
    ApiKeyRemoval { key, by, at }: ApiKeyRemoval,
    name: &str,
) -> SideEffects {
    let email = QueuedEmail::new("api-key-removed").with("name", name).to_user(at, key.user);
    let subject = if by == Some(key.user) { None } else { Some(key.user) };
    audit_effects(key, at, by, subject).and_mail(email)
}

/// Returns the audit entry of a key that its owner revoked with a password change.
pub(crate) fn revoked_with_password(key_ref: ApiKeyRef, at: Timestamp) -> SideEffects {
    audit_effects(key_ref, at, Some(key_ref.user), None)
}

fn audit_effects(
    ApiKeyRef { key, .. }: ApiKeyRef,
    at: Timestamp,
    actor: Option<UserId>,
    subject: Option<UserId>,
) -> SideEffects {
    let object = Some(format!("api-key:{key}"));
    AuditEntry { actor, subject, object, ..AuditEntry::new(at, "ApiKey.Revoked") }.into()
}

#[cfg(test)]
mod tests;
