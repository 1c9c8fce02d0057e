//! Port of SCIM tokens; implemented in `storage-identity`.

use async_trait::async_trait;
use pia_kernel::{ScimTokenId, SideEffects, Timestamp, Unavailable, UserId, named_variants};

use super::TokenHash;

/// Store of SCIM tokens, which are found by their hashes.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ScimTokenStore: Send + Sync {
    /// Stores a token with its effects. Returns false if there are already `max`
    /// tokens, even with concurrent calls.
    async fn add(
        &self,
        new: NewScimToken,
        max: usize,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Loads all tokens, oldest first, expired ones included.
    async fn list(&self) -> Result<Vec<ScimTokenEntry>, Unavailable>;

    /// Loads the token with this hash, expired or not.
    async fn find(&self, hash: TokenHash) -> Result<Option<ScimTokenEntry>, Unavailable>;

    /// Stores the time of a request. Changes nothing if a time after `not_since` is stored.
    async fn record_use(
        &self,
        token: ScimTokenId,
        at: Timestamp,
        not_since: Timestamp,
    ) -> Result<(), Unavailable>;

    /// Deletes a token with its effects. Returns whether there was one.
    async fn remove(&self, token: ScimTokenId, effects: SideEffects) -> Result<bool, Unavailable>;
}

named_variants! {
    /// Resources that a SCIM token opens, with their name on the wire and in the
    /// database. Lists have this order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ScimScope {
        /// Users: the resources under `/scim/v2/Users`.
        Users = "users",
        /// Groups and their members.
        Groups = "groups",
    }
}

impl ScimScope {
    /// Returns the scope with exactly this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// SCIM token as administrators see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScimTokenEntry {
    /// Id that administrators name to revoke it.
    pub id: ScimTokenId,
    /// Name chosen by the administrator.
    pub name: String,
    /// Resources that it opens.
    pub scopes: Vec<ScimScope>,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Time from which it is refused.
    pub expires_at: Timestamp,
    /// Time of the last request with it, to the minute; none before the first.
    pub used_at: Option<Timestamp>,
}

/// SCIM token to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewScimToken {
    /// Entry of the token in the administrators' list.
    pub entry: ScimTokenEntry,
    /// Hash under which it is found; the token itself is returned once.
    pub hash: TokenHash,
    /// Administrator who creates it.
    pub created_by: UserId,
}
