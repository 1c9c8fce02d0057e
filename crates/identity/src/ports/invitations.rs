//! Ports of invitations.

use async_trait::async_trait;
use pia_kernel::{GroupId, InvitationId, PageRequest, SideEffects, Timestamp, Unavailable, UserId};

use super::TokenHash;
use crate::people::role::Role;

/// An invitation that somebody shows who makes an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresentedInvitation {
    /// Hash of its token.
    pub hash: TokenHash,
    /// The most active administrators that there may be, should it make one.
    pub max_admins: Option<u32>,
}

/// An invitation that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInvitation {
    /// Id of the invitation.
    pub id: InvitationId,
    /// Hash of its token.
    pub hash: TokenHash,
    /// The one address that it is for; any if there is none.
    pub email: Option<String>,
    /// Role of the account that accepts it.
    pub role: Role,
    /// The group that they are in; the default one if there is none.
    pub group: Option<GroupId>,
    /// Inviting account; nothing for the command line.
    pub by: Option<UserId>,
    /// Time of creation.
    pub at: Timestamp,
    /// Expiry time.
    pub expires_at: Timestamp,
}

/// An invitation as those are notified of it who may make them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationEntry {
    /// Id of the invitation.
    pub id: InvitationId,
    /// The one address that it is for, in the form in which they are compared.
    pub email: Option<String>,
    /// Role of the account that accepts it.
    pub role: Role,
    /// The group that they are in.
    pub group: Option<GroupId>,
    /// Inviting account.
    pub by: Option<UserId>,
    /// Time of creation.
    pub at: Timestamp,
    /// Expiry time.
    pub expires_at: Timestamp,
}

/// Store of invitations until they are used, revoked or expire.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait InvitationStore: Send + Sync {
    /// Stores an invitation. Answers whether there is such a group.
    async fn add(&self, new: NewInvitation, effects: SideEffects) -> Result<bool, Unavailable>;

    /// A part of those that are still good, the newest first.
    async fn page(
        &self,
        now: Timestamp,
        page: PageRequest,
    ) -> Result<Vec<InvitationEntry>, Unavailable>;

    /// Takes an invitation back. Answers whether it was there.
    async fn revoke(&self, id: InvitationId, effects: SideEffects) -> Result<bool, Unavailable>;

    /// Forgets invitations that ended before `now`. Answers how many they were.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable>;
}
