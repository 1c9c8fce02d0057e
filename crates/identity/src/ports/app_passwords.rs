//! Store of app passwords.

use async_trait::async_trait;
use pia_kernel::{AppPasswordId, SideEffects, Timestamp, Unavailable, UserId};

use super::{EndEffects, VerifiedProof};
use crate::sessions::access_tokens::SessionRef;

/// Stored hash of an app password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AppPasswordHash(pub [u8; 32]);

/// An app password that is about to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAppPassword {
    /// Id of the app password.
    pub id: AppPasswordId,
    /// Session that creates it.
    pub by: SessionRef,
    /// Name chosen by the owner.
    pub name: String,
    /// Hash of the app password.
    pub hash: AppPasswordHash,
    /// Time at which it was made.
    pub at: Timestamp,
}

/// An app password as its owner is notified of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppPasswordEntry {
    /// Id of the app password.
    pub id: AppPasswordId,
    /// Name chosen by the owner.
    pub name: String,
    /// Time at which it was made.
    pub created_at: Timestamp,
    /// Time at which somebody signed in with it last.
    pub used_at: Option<Timestamp>,
}

/// Outcome of keeping an app password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreAppPassword {
    /// App password was stored.
    Done,
    /// The evidence is good no more.
    Stale,
    /// Owner has the maximum number of app passwords.
    Full,
    /// The account is no more or deactivated, or the session is over.
    Gone,
}

/// Side effects of removing an app password with this name.
pub type RemovalEffects = fn(UserId, Timestamp, &str) -> SideEffects;

/// Store of app passwords.
///
/// That one was used is written with the session that it begins, by
/// [`SessionStore::begin`](crate::SessionStore::begin).
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait AppPasswordStore: Send + Sync {
    /// Keeps an app password and spends the evidence for it, with its effects;
    /// or none of it. A password is no evidence that could be spent.
    ///
    /// However many are made at once, no user has more than `max`.
    async fn add(
        &self,
        new: NewAppPassword,
        max: usize,
        verified: VerifiedProof,
        effects: SideEffects,
    ) -> Result<StoreAppPassword, Unavailable>;

    /// A user's app passwords, in the order they were made.
    async fn list(&self, user: UserId) -> Result<Vec<AppPasswordEntry>, Unavailable>;

    /// Returns the app password of a user that has this hash.
    async fn find(
        &self,
        user: UserId,
        hash: AppPasswordHash,
    ) -> Result<Option<AppPasswordId>, Unavailable>;

    /// Forgets a user's app password and ends each session that began with
    /// it. Answers whether there was one.
    async fn remove(
        &self,
        whose: (UserId, AppPasswordId),
        at: Timestamp,
        effects: RemovalEffects,
        if_ended: EndEffects,
    ) -> Result<bool, Unavailable>;
}
