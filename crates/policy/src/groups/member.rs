//! Members of groups, as administrators see them.

use pia_kernel::{GroupId, Timestamp, UserId};

/// Member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMember {
    /// Id of their account.
    pub user: UserId,
    /// Email address of the account.
    pub email: String,
    /// Name that others see; `None` if they have not set one.
    pub display_name: Option<String>,
    /// Name of their role: `user`, `admin` …
    pub role: String,
    /// Group of the account.
    pub group: GroupId,
    /// False if the account is deactivated.
    pub is_active: bool,
    /// Time of the account's creation.
    pub created_at: Timestamp,
}

/// Selection of members, and their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberFilter {
    /// Group; `None` selects all.
    pub group: Option<GroupId>,
    /// Part of the email address or name, in any case; an empty text selects
    /// all.
    pub search: String,
    /// Name of their role; `None` selects all.
    pub role: Option<String>,
    /// True for active accounts, false for deactivated ones; `None` selects both.
    pub is_active: Option<bool>,
    /// True for those with a password that have neither an enabled authenticator
    /// app nor a passkey, as administrators without a second factor are counted.
    pub is_without_factor: bool,
    /// Order in which members are returned.
    pub order: MemberOrder,
}

/// Order of members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MemberOrder {
    /// Newest account first.
    #[default]
    Newest,
    /// Oldest account first.
    Oldest,
    /// Email address, in ascending order.
    Email,
    /// Email address, in descending order.
    EmailDescending,
    /// Name of the role, in ascending order.
    Role,
    /// Name of the role, in descending order.
    RoleDescending,
    /// Active accounts first.
    Status,
    /// Deactivated accounts first.
    StatusDescending,
}

impl MemberOrder {
    /// Returns whether members are sorted by a text, which cursors carry.
    pub fn is_by_text(self) -> bool {
        matches!(self, Self::Email | Self::EmailDescending | Self::Role | Self::RoleDescending)
    }
}
