//! Ports of group administration: the store, implemented in `storage-policy`, and the
//! watch over changes, implemented in `server/src/bridges/group_watch.rs`.

use async_trait::async_trait;
use pia_kernel::{
    GroupId, Page, PageRequest, SideEffects, SortCursor, Timestamp, Unavailable, UserId,
};

use super::group::{Group, GroupEntry, GroupName};
use super::member::{GroupMember, MemberFilter};
use super::settings::{GroupSettings, SettingChange, SettingsError};
use super::usage::GroupUse;

/// Store of groups.
///
/// Under concurrent changes, on any number of instances, names of groups stay
/// unique without regard to case, and no user is in a group that does not
/// exist. A change of nothing leaves no effects.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait GroupStore: Send + Sync {
    /// Loads all groups: the default group first, then by name without regard to case.
    async fn all(&self) -> Result<Vec<GroupEntry>, Unavailable>;

    /// Loads the ids and names of all groups, in the same order.
    async fn names(&self) -> Result<Vec<(GroupId, String)>, Unavailable>;

    /// Loads a group.
    async fn find(&self, group: GroupId) -> Result<Option<GroupEntry>, Unavailable>;

    /// Loads the group with this name, in any case.
    async fn find_named(&self, name: &GroupName) -> Result<Option<GroupEntry>, Unavailable>;

    /// Loads a page of the selected members, after the one that the cursor names.
    /// Its cursors carry the value of an account by which members are sorted, so that a page
    /// after a deleted account begins there.
    async fn members(
        &self,
        filter: MemberFilter,
        page: PageRequest<SortCursor>,
    ) -> Result<Page<GroupMember, SortCursor>, Unavailable>;

    /// Loads a user as a member of their group.
    async fn member(&self, user: UserId) -> Result<Option<GroupMember>, Unavailable>;

    /// Loads the email addresses of these users, in any order; unknown ones have none.
    async fn emails(&self, users: Vec<UserId>) -> Result<Vec<(UserId, String)>, Unavailable>;

    /// Loads the last use of any session of these users, in any order; users without a
    /// session have none.
    async fn last_uses(&self, users: Vec<UserId>) -> Result<Vec<(UserId, Timestamp)>, Unavailable>;

    /// Stores a group with default settings.
    async fn add(
        &self,
        group: Group,
        effects: SideEffects,
    ) -> Result<GroupCreationOutcome, Unavailable>;

    /// Renames a group.
    async fn rename(
        &self,
        group: GroupId,
        name: GroupName,
        effects: SideEffects,
    ) -> Result<GroupRenameOutcome, Unavailable>;

    /// Deletes a group that is not in use.
    async fn remove(
        &self,
        group: GroupId,
        effects: SideEffects,
    ) -> Result<GroupDeletionOutcome, Unavailable>;

    /// Returns the settings of a group; `None` if there is no such group.
    async fn settings(&self, group: GroupId) -> Result<Option<GroupSettings>, Unavailable>;

    /// Applies all of the changes to the current settings, or none.
    async fn change(
        &self,
        group: GroupId,
        changes: &[SettingChange],
        effects: SideEffects,
    ) -> Result<SettingsChangeOutcome, Unavailable>;

    /// Moves a user from their group into this one.
    async fn put(
        &self,
        user: UserId,
        group: GroupId,
        effects: SideEffects,
    ) -> Result<MemberMoveOutcome, Unavailable>;

    /// Loads the ids and email addresses of all members, by id.
    async fn member_ids(&self, group: GroupId) -> Result<Vec<(UserId, String)>, Unavailable>;

    /// Applies all of the changes of a group's members, or none. Members leave
    /// the default group only for another group. `effects` returns the effects of
    /// moving one user into one group.
    async fn change_members(
        &self,
        group: GroupId,
        changes: &[MembershipChange],
        at: Timestamp,
        effects: MemberEffects,
    ) -> Result<MembersChangeOutcome, Unavailable>;

    /// Sets or clears the id that an identity provider knows a group by.
    async fn set_external_id(
        &self,
        group: GroupId,
        external_id: Option<String>,
        effects: SideEffects,
    ) -> Result<ExternalIdOutcome, Unavailable>;
}

/// Outcome of creating a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupCreationOutcome {
    /// Group was stored.
    Stored,
    /// Another group has this name, in any case.
    NameTaken,
}

/// Outcome of renaming a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupRenameOutcome {
    /// Group has the name, now or from before.
    Done,
    /// No such group.
    Unknown,
    /// Another group has this name, in any case.
    NameTaken,
}

/// Outcome of deleting a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupDeletionOutcome {
    /// Group was deleted.
    Done,
    /// No such group.
    Unknown,
    /// Group is the default group of new accounts.
    IsDefault,
    /// Group is in use.
    InUse(GroupUse),
}

/// Outcome of changing a group's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsChangeOutcome {
    /// Group has these settings, now or from before.
    Done(GroupSettings),
    /// No such group.
    Unknown,
    /// Together with the other settings the change is invalid.
    Refused(SettingsError),
}

/// Outcome of moving a user to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberMoveOutcome {
    /// User is a member, now or from before.
    Done,
    /// No such group.
    UnknownGroup,
    /// No such account.
    UnknownAccount,
}

/// Outcome of setting the id that an identity provider knows a group by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExternalIdOutcome {
    /// Group has the id, now or from before.
    Done,
    /// No such group.
    Unknown,
    /// Another group has this id.
    Taken,
}

/// Side effects of moving a user into a group.
pub type MemberEffects = fn(UserId, GroupId, Timestamp) -> SideEffects;

/// Change of a group's members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MembershipChange {
    /// Moves these users into the group.
    Add(Vec<UserId>),
    /// Moves those of these users who are members into the default group.
    Remove(Vec<UserId>),
    /// Makes these users the only members.
    Replace(Vec<UserId>),
}

/// Outcome of changing a group's members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MembersChangeOutcome {
    /// These users were moved.
    Done(Vec<UserId>),
    /// No such group.
    UnknownGroup,
    /// No such account.
    UnknownAccount(UserId),
}

/// Caches of groups and their members, from which this process must evict what
/// it changed immediately.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait GroupWatch: Send + Sync {
    /// Notifies that a group was changed or deleted.
    fn group_changed(&self, group: GroupId);

    /// Notifies that a user may be in another group.
    fn member_moved(&self, user: UserId);
}
