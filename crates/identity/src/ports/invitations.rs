//! Port of invitations; implemented in `storage-identity`.

use async_trait::async_trait;
use pia_kernel::{
    Cursor, GroupId, InvitationId, PageRequest, SideEffects, TimeOrder, Timestamp, Unavailable,
    UserId,
};

use super::TokenHash;
use crate::people::role::Role;

/// Store of invitations until they are used, revoked or expire.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait InvitationStore: Send + Sync {
    /// Stores an invitation. Returns whether its group exists.
    async fn add(&self, new: NewInvitation, effects: SideEffects) -> Result<bool, Unavailable>;

    /// Returns a page of the selected invitations that are valid, in their order.
    async fn page(
        &self,
        now: Timestamp,
        filter: &InvitationFilter,
        page: PageRequest,
    ) -> Result<Vec<InvitationEntry>, Unavailable>;

    /// Revokes an invitation. Returns whether it existed.
    async fn revoke(&self, id: InvitationId, effects: SideEffects) -> Result<bool, Unavailable>;

    /// Deletes invitations that expired before `now`. Returns their number.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable>;
}

/// An invitation that is presented at registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresentedInvitation {
    /// Hash of the token in the invitation's link.
    pub hash: TokenHash,
    /// Maximum number of active administrators, if it creates one.
    pub max_admins: Option<u32>,
}

/// An invitation that is about to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInvitation {
    /// Id that administrators name to revoke it.
    pub id: InvitationId,
    /// Hash under which it is found; the token itself is only in the link.
    pub hash: TokenHash,
    /// Address that it is restricted to; `None` for any.
    pub email: Option<String>,
    /// Role of the account that accepts it.
    pub role: Role,
    /// Group of that account; the default group if `None`.
    pub group: Option<GroupId>,
    /// Inviting account; `None` for the command line.
    pub by: Option<UserId>,
    /// Time of its creation.
    pub at: Timestamp,
    /// Time from which it is refused.
    pub expires_at: Timestamp,
}

/// An invitation in the administrators' list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationEntry {
    /// Id that administrators name to revoke it.
    pub id: InvitationId,
    /// Address that it is restricted to, in the form used for comparison.
    pub email: Option<String>,
    /// Role of the account that accepts it.
    pub role: Role,
    /// Group of that account; the default group if `None`.
    pub group: Option<GroupId>,
    /// Inviting account; `None` for the command line.
    pub by: Option<UserId>,
    /// Time of its creation.
    pub at: Timestamp,
    /// Time from which it is refused.
    pub expires_at: Timestamp,
}

/// Selection and order of invitations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InvitationFilter {
    /// Part of the address, in any case; empty selects all.
    pub search: String,
    /// True to sort by time of expiry, false to sort by time of creation.
    pub is_by_expiry: bool,
    /// Order by that time.
    pub order: TimeOrder,
}

impl InvitationFilter {
    /// Returns the position of an invitation in the order of this selection.
    pub fn cursor(&self, entry: &InvitationEntry) -> Cursor {
        let at = if self.is_by_expiry { entry.expires_at } else { entry.at };
        Cursor { at, id: entry.id.0 }
    }
}
