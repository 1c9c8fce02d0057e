//! Store of API keys.

use async_trait::async_trait;
use pia_kernel::{ApiKeyId, SideEffects, Timestamp, Unavailable, UserId};

use super::{StoreAppPassword, VerifiedProof};
use crate::people::account::ApiKeyRef;
use crate::sessions::access_tokens::SessionRef;

/// Stored hash of an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ApiKeyHash(pub [u8; 32]);

/// Scope of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyScope {
    /// Asking models.
    Ai,
}

impl KeyScope {
    /// Every scope.
    pub const ALL: [Self; 1] = [Self::Ai];

    /// Name where it is stored and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ai => "ai",
        }
    }

    /// The scope of this name, spelled exactly so.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// An API key that is about to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApiKey {
    /// Entry of the key in its owner's list from now on.
    pub entry: ApiKeyEntry,
    /// Session that creates it.
    pub by: SessionRef,
    /// Hash of the key.
    pub hash: ApiKeyHash,
}

/// An API key as its owner is notified of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeyEntry {
    /// Id of the key.
    pub id: ApiKeyId,
    /// Name chosen by the owner.
    pub name: String,
    /// Scopes of the key.
    pub scopes: Vec<KeyScope>,
    /// Budget in whole credits per calendar week; 0 is no limit.
    pub weekly_credits: i64,
    /// Time at which it was made.
    pub created_at: Timestamp,
    /// Time at which it ends; nothing if it does not.
    pub expires_at: Option<Timestamp>,
    /// Time at which somebody called with it last, to a minute or so.
    pub used_at: Option<Timestamp>,
}

/// Side effects of the end of a key with this name.
pub type KeyEndEffects = fn(ApiKeyRef, Timestamp, &str) -> SideEffects;

/// Store of API keys.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ApiKeyStore: Send + Sync {
    /// Keeps a key and spends the evidence for it, with its effects; or none
    /// of it. A password is no evidence that could be spent.
    ///
    /// However many are made at once, no user has more than `max`.
    async fn add(
        &self,
        new: NewApiKey,
        max: usize,
        verified: VerifiedProof,
        effects: SideEffects,
    ) -> Result<StoreAppPassword, Unavailable>;

    /// A user's keys, in the order they were made, those that have ended too.
    async fn list(&self, user: UserId) -> Result<Vec<ApiKeyEntry>, Unavailable>;

    /// Returns the key and its owner.
    /// [`AccountStore::key_standing`](crate::AccountStore::key_standing)
    /// decides whether it is still valid.
    async fn find(&self, hash: ApiKeyHash) -> Result<Option<ApiKeyRef>, Unavailable>;

    /// Returns the owner of the key.
    async fn owner(&self, key: ApiKeyId) -> Result<Option<UserId>, Unavailable>;

    /// Writes down that a key is used, unless that was already after
    /// `not_since`.
    async fn used(
        &self,
        key: ApiKeyId,
        at: Timestamp,
        not_since: Timestamp,
    ) -> Result<(), Unavailable>;

    /// Forgets a user's key. Answers whether there was one.
    async fn remove(
        &self,
        session_ref: ApiKeyRef,
        at: Timestamp,
        effects: KeyEndEffects,
    ) -> Result<bool, Unavailable>;
}
