//! Port of API keys; implemented in `storage-identity`.

use async_trait::async_trait;
use pia_kernel::{ApiKeyId, SideEffects, Timestamp, Unavailable, UserId, named_variants};

use super::{CredentialStoreOutcome, VerifiedProof};
use crate::people::account::ApiKeyRef;
use crate::sessions::access_tokens::SessionRef;

/// Store of API keys, which are found by their hashes.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ApiKeyStore: Send + Sync {
    /// Stores a key with its effects and consumes the proof, atomically. A password as proof is not
    /// consumed. Returns `Full` if the owner already has `max` keys, even with concurrent calls.
    async fn add(
        &self,
        new: NewApiKey,
        max: usize,
        verified_proof: VerifiedProof,
        effects: SideEffects,
    ) -> Result<CredentialStoreOutcome, Unavailable>;

    /// Returns a user's keys in order of creation, expired ones included.
    async fn list(&self, user: UserId) -> Result<Vec<ApiKeyEntry>, Unavailable>;

    /// Returns the key and its owner.
    /// [`AccountStore::key_state`](crate::AccountStore::key_state)
    /// decides whether it is still valid.
    async fn find(&self, hash: ApiKeyHash) -> Result<Option<ApiKeyRef>, Unavailable>;

    /// Returns the owner of the key.
    async fn owner(&self, key: ApiKeyId) -> Result<Option<UserId>, Unavailable>;

    /// Records the use of a key. Changes nothing if a use after `not_since` is recorded.
    async fn record_use(
        &self,
        key: ApiKeyId,
        at: Timestamp,
        not_since: Timestamp,
    ) -> Result<(), Unavailable>;

    /// Deletes a user's key. Returns whether it existed.
    async fn remove(
        &self,
        removal: ApiKeyRemoval,
        effects: KeyEndEffects,
    ) -> Result<bool, Unavailable>;
}

/// Stored hash of an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ApiKeyHash(pub [u8; 32]);

named_variants! {
    /// Part of the API that a key opens, with its name in the database and on the
    /// wire. Lists have this order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum KeyScope {
        /// Calls of models through the AI proxy.
        Ai = "ai",
    }
}

impl KeyScope {
    /// Returns the scope of this name, case-sensitively.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// An API key that is about to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApiKey {
    /// Entry of the key in its owner's list.
    pub entry: ApiKeyEntry,
    /// Session that creates it; it must be live when the key is stored.
    pub by: SessionRef,
    /// Hash under which it is found; the key itself is returned once.
    pub hash: ApiKeyHash,
}

/// An API key in its owner's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeyEntry {
    /// Id that its owner names to revoke it.
    pub id: ApiKeyId,
    /// Name chosen by the owner.
    pub name: String,
    /// Parts of the API that it opens; at least one.
    pub scopes: Vec<KeyScope>,
    /// Budget in whole credits per calendar week; 0 is no limit.
    pub weekly_credits: i64,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Expiry time; `None` if it does not expire.
    pub expires_at: Option<Timestamp>,
    /// Time of the last call with it, to a minute or so.
    pub used_at: Option<Timestamp>,
}

/// Removal of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiKeyRemoval {
    /// Key and its owner; another user's key is not removed.
    pub key: ApiKeyRef,
    /// Account that removes it; `None` for the command line.
    pub by: Option<UserId>,
    /// Time of the removal, for its effects.
    pub at: Timestamp,
}

/// Side effects of the removal of a key with this name.
pub type KeyEndEffects = fn(ApiKeyRemoval, &str) -> SideEffects;
