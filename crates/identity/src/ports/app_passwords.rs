//! Port of app passwords; implemented in `storage-identity`.

use async_trait::async_trait;
use pia_kernel::{AppPasswordId, SideEffects, Timestamp, Unavailable, UserId};

use super::{EndEffects, VerifiedProof};
use crate::sessions::access_tokens::SessionRef;

/// Store of app passwords.
///
/// The use of an app password is stored with the session that it starts, by
/// [`SessionStore::begin`](crate::SessionStore::begin).
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait AppPasswordStore: Send + Sync {
    /// Stores an app password with its effects and consumes the proof, atomically. A password as
    /// proof is not consumed. Returns `Full` if the owner already has `max`, even with concurrent
    /// calls.
    async fn add(
        &self,
        new: NewAppPassword,
        max: usize,
        verified_proof: VerifiedProof,
        effects: SideEffects,
    ) -> Result<CredentialStoreOutcome, Unavailable>;

    /// Returns a user's app passwords in order of creation.
    async fn list(&self, user: UserId) -> Result<Vec<AppPasswordEntry>, Unavailable>;

    /// Returns the app password of a user that has this hash.
    async fn find(
        &self,
        user: UserId,
        hash: AppPasswordHash,
    ) -> Result<Option<AppPasswordId>, Unavailable>;

    /// Deletes a user's app password and ends each session that was started with it. Returns
    /// whether it existed.
    async fn remove(
        &self,
        removal: AppPasswordRemoval,
        effects: RemovalEffects,
        if_ended: EndEffects,
    ) -> Result<bool, Unavailable>;
}

/// Stored hash of an app password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AppPasswordHash(pub [u8; 32]);

/// An app password that is about to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAppPassword {
    /// Id that its owner names to remove it.
    pub id: AppPasswordId,
    /// Session that creates it; it must be live when the app password is stored.
    pub by: SessionRef,
    /// Name chosen by the owner.
    pub name: String,
    /// Hash under which a sign-in finds it; the password itself is presented once.
    pub hash: AppPasswordHash,
    /// Time of its creation.
    pub at: Timestamp,
}

/// An app password in its owner's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppPasswordEntry {
    /// Id that its owner names to remove it.
    pub id: AppPasswordId,
    /// Name chosen by the owner.
    pub name: String,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Time of the last sign-in with it; `None` before the first.
    pub used_at: Option<Timestamp>,
}

/// Outcome of storing an app password or an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialStoreOutcome {
    /// App password or API key was stored.
    Done,
    /// The proof is no longer valid.
    Stale,
    /// Owner has the maximum number of them.
    Full,
    /// Account is gone or deactivated, or the session is over.
    Gone,
}

/// Removal of an app password by its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppPasswordRemoval {
    /// Owner of the app password.
    pub user: UserId,
    /// App password to remove; another user's is not removed.
    pub id: AppPasswordId,
    /// Time of the removal, for its effects.
    pub at: Timestamp,
}

/// Side effects of removing an app password with this name.
pub type RemovalEffects = fn(UserId, Timestamp, &str) -> SideEffects;
