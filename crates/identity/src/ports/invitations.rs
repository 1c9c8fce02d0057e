//! What invitations ask of the outside world.

use async_trait::async_trait;
use pia_kernel::{SideEffects, GroupId, InvitationId, PageRequest, Timestamp, Unavailable, UserId};

use super::TokenHash;
use crate::role::Role;

/// An invitation that somebody shows who makes an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownInvitation {
    /// What is kept of its token.
    pub hash: TokenHash,
    /// The most active administrators that there may be, should it make one.
    pub max_admins: Option<u32>,
}

/// An invitation that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInvitation {
    /// Which one it is.
    pub id: InvitationId,
    /// What is kept of its token.
    pub hash: TokenHash,
    /// The one address that it is for; any if there is none.
    pub email: Option<String>,
    /// What whoever uses it may do.
    pub role: Role,
    /// The group that they are in; the default one if there is none.
    pub group: Option<GroupId>,
    /// Who invites them; nothing for the command line.
    pub by: Option<UserId>,
    /// When it is made.
    pub at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// An invitation as those are told of it who may make them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationEntry {
    /// Which one it is.
    pub id: InvitationId,
    /// The one address that it is for, in the form in which they are compared.
    pub email: Option<String>,
    /// What whoever uses it may do.
    pub role: Role,
    /// The group that they are in.
    pub group: Option<GroupId>,
    /// Who invites them.
    pub by: Option<UserId>,
    /// When it was made.
    pub at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// Where invitations are kept until they are used, revoked or end.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait InvitationStore: Send + Sync {
    /// Stores an invitation. Answers whether there is such a group.
    async fn add(&self, new: NewInvitation, effects: SideEffects) -> Result<bool, Unavailable>;

    /// A part of those that are still good, the newest first.
    async fn page(&self, now: Timestamp, page: PageRequest) -> Result<Vec<InvitationEntry>, Unavailable>;

    /// Takes an invitation back. Answers whether it was there.
    async fn revoke(&self, id: InvitationId, effects: SideEffects) -> Result<bool, Unavailable>;

    /// Forgets invitations that ended before `now`. Answers how many they were.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable>;
}
