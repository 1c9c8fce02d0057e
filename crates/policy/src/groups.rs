//! Groups: their members, and the members' permissions and limits.
//!
//! Every account is in exactly one group, at first the default group, which cannot be
//! deleted. Deletions, and changes of settings and of members, are reported to
//! `GroupWatch`, which evicts them from this process's caches. The settings are in
//! `groups/settings.rs`.

mod group;
mod member;
mod ports;
mod quota;
mod settings;
mod usage;

use std::collections::HashMap;
use std::sync::Arc;

use pia_kernel::{
    Clock, GroupId, Page, PageRequest, SideEffects, SortCursor, Timestamp, Unavailable, UserId,
    utf16_len,
};

pub use group::{Group, GroupEntry, GroupName, NameError};
pub use member::{GroupMember, MemberFilter, MemberOrder};
pub use ports::{
    ExternalIdOutcome, GroupCreationOutcome, GroupDeletionOutcome, GroupRenameOutcome, GroupStore,
    GroupWatch, MemberEffects, MemberMoveOutcome, MembersChangeOutcome, MembershipChange,
    SettingsChangeOutcome,
};
#[cfg(any(test, feature = "mock"))]
pub use ports::{MockGroupStore, MockGroupWatch};
pub use quota::Quota;
pub use settings::{GroupSettings, MAX_LIMIT, MODES, SettingChange, SettingsError};
pub use usage::GroupUse;

/// Maximum length of a group's id at an identity provider, in characters.
const MAX_EXTERNAL_ID_CHARS: usize = 200;

/// Errors that prevent a group from being read or changed.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// Name is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Setting is invalid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Another group has this name.
    #[error("another group has this name; names are case-insensitive")]
    NameTaken,
    /// No such group.
    #[error("no such group")]
    Unknown,
    /// Group is the default group of new accounts.
    #[error("the default group cannot be deleted; new accounts join it")]
    IsDefault,
    /// Group is in use.
    #[error("the group is in use by {0}")]
    InUse(GroupUse),
    /// No such account.
    #[error("no such account")]
    UnknownAccount,
    /// Id at an identity provider is invalid.
    #[error("an external id has 1 to {MAX_EXTERNAL_ID_CHARS} characters on one line")]
    ExternalId,
    /// Another group has this id at an identity provider.
    #[error("another group has this external id")]
    ExternalIdTaken,
    /// Store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Creates, renames and deletes groups, moves users into them, and changes their settings.
///
/// The acting administrator is needed for the audit log only: callers check
/// permissions. `None` stands for the command line.
#[derive(Clone)]
pub struct Groups {
    store: Arc<dyn GroupStore>,
    watch: Arc<dyn GroupWatch>,
    clock: Arc<dyn Clock>,
}

impl Groups {
    /// Creates the use case over a store; `watch` is notified of changes.
    pub fn new(
        store: Arc<dyn GroupStore>,
        watch: Arc<dyn GroupWatch>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, watch, clock }
    }

    /// Returns all groups: the default group first, then by name.
    pub async fn list(&self) -> Result<Vec<GroupEntry>, Unavailable> {
        self.store.all().await
    }

    /// Returns the ids and names of all groups, in the same order.
    pub async fn names(&self) -> Result<Vec<(GroupId, String)>, Unavailable> {
        self.store.names().await
    }

    /// Returns a group.
    pub async fn find(&self, group: GroupId) -> Result<GroupEntry, GroupError> {
        self.store.find(group).await?.ok_or(GroupError::Unknown)
    }

    /// Returns the group with this name, in any case.
    pub async fn find_by_name(&self, name: &str) -> Result<GroupEntry, GroupError> {
        let Ok(name) = GroupName::parse(name) else { return Err(GroupError::Unknown) };
        self.store.find_named(&name).await?.ok_or(GroupError::Unknown)
    }

    /// Returns a page of the selected members, after the position of the cursor.
    pub async fn members(
        &self,
        filter: MemberFilter,
        page: PageRequest<SortCursor>,
    ) -> Result<Page<GroupMember, SortCursor>, GroupError> {
        if let Some(group) = filter.group {
            self.find(group).await?;
        }
        Ok(self.store.members(filter, page).await?)
    }

    /// Returns a user as a member of their group.
    pub async fn member(&self, user: UserId) -> Result<GroupMember, GroupError> {
        self.store.member(user).await?.ok_or(GroupError::UnknownAccount)
    }

    /// Returns the email addresses of these users; unknown ones have none.
    pub async fn emails(&self, users: Vec<UserId>) -> Result<HashMap<UserId, String>, Unavailable> {
        if users.is_empty() {
            return Ok(HashMap::new());
        }
        let emails = self.store.emails(users).await?;
        Ok(emails.into_iter().collect())
    }

    /// Returns the last use of any session of these users; those without a session have
    /// none.
    pub async fn last_uses(
        &self,
        users: Vec<UserId>,
    ) -> Result<HashMap<UserId, Timestamp>, Unavailable> {
        if users.is_empty() {
            return Ok(HashMap::new());
        }
        let last_uses = self.store.last_uses(users).await?;
        Ok(last_uses.into_iter().collect())
    }

    /// Creates a group without members, with default settings.
    pub async fn create(&self, actor: Option<UserId>, name: &str) -> Result<Group, GroupError> {
        let name = GroupName::parse(name)?;
        let group = Group {
            id: GroupId::generate(),
            name,
            is_default: false,
            external_id: None,
            created_at: self.clock.now(),
        };
        let effects = audit_effects(group.created_at, actor, group.id, "Group.Created");
        match self.store.add(group.clone(), effects).await? {
            GroupCreationOutcome::Stored => Ok(group),
            GroupCreationOutcome::NameTaken => Err(GroupError::NameTaken),
        }
    }

    /// Renames a group.
    pub async fn rename(
        &self,
        actor: Option<UserId>,
        group: GroupId,
        name: &str,
    ) -> Result<(), GroupError> {
        let name = GroupName::parse(name)?;
        let effects = audit_effects(self.clock.now(), actor, group, "Group.Renamed");
        match self.store.rename(group, name, effects).await? {
            GroupRenameOutcome::Done => Ok(()),
            GroupRenameOutcome::Unknown => Err(GroupError::Unknown),
            GroupRenameOutcome::NameTaken => Err(GroupError::NameTaken),
        }
    }

    /// Deletes a group that is not in use, with its settings.
    pub async fn delete(&self, actor: Option<UserId>, group: GroupId) -> Result<(), GroupError> {
        let effects = audit_effects(self.clock.now(), actor, group, "Group.Deleted");
        let outcome = self.store.remove(group, effects).await?;
        self.watch.group_changed(group);
        match outcome {
            GroupDeletionOutcome::Done => Ok(()),
            GroupDeletionOutcome::Unknown => Err(GroupError::Unknown),
            GroupDeletionOutcome::IsDefault => Err(GroupError::IsDefault),
            GroupDeletionOutcome::InUse(group_use) => Err(GroupError::InUse(group_use)),
        }
    }

    /// Returns the permissions and limits of a group's members.
    pub async fn settings(&self, group: GroupId) -> Result<GroupSettings, GroupError> {
        self.store.settings(group).await?.ok_or(GroupError::Unknown)
    }

    /// Applies all changes of a group's settings, or none. Other settings stay
    /// unchanged, even under concurrent changes.
    pub async fn change_settings(
        &self,
        actor: Option<UserId>,
        group: GroupId,
        changes: &[SettingChange],
    ) -> Result<GroupSettings, GroupError> {
        // Changes that are invalid in themselves are refused before the store is called.
        GroupSettings::default().with(changes)?;
        let effects = audit_effects(self.clock.now(), actor, group, "Group.SettingsChanged");
        let outcome = self.store.change(group, changes, effects).await?;
        self.watch.group_changed(group);
        match outcome {
            SettingsChangeOutcome::Done(settings) => Ok(settings),
            SettingsChangeOutcome::Unknown => Err(GroupError::Unknown),
            SettingsChangeOutcome::Refused(error) => Err(error.into()),
        }
    }

    /// Moves a user from their group into this one.
    pub async fn move_member(
        &self,
        actor: Option<UserId>,
        user: UserId,
        group: GroupId,
    ) -> Result<(), GroupError> {
        let effects = member_added_effects(self.clock.now(), actor, user, group);
        let outcome = self.store.put(user, group, effects).await?;
        self.watch.member_moved(user);
        match outcome {
            MemberMoveOutcome::Done => Ok(()),
            MemberMoveOutcome::UnknownGroup => Err(GroupError::Unknown),
            MemberMoveOutcome::UnknownAccount => Err(GroupError::UnknownAccount),
        }
    }

    /// Returns the ids and email addresses of all members, by id.
    pub async fn member_ids(&self, group: GroupId) -> Result<Vec<(UserId, String)>, Unavailable> {
        self.store.member_ids(group).await
    }

    /// Applies all of an identity provider's changes of a group's members, or
    /// none.
    pub async fn change_members(
        &self,
        group: GroupId,
        changes: &[MembershipChange],
    ) -> Result<(), GroupError> {
        let at = self.clock.now();
        let effects: MemberEffects = |user, group, at| member_added_effects(at, None, user, group);
        match self.store.change_members(group, changes, at, effects).await? {
            MembersChangeOutcome::Done(users) => {
                for user in users {
                    self.watch.member_moved(user);
                }
                Ok(())
            }
            MembersChangeOutcome::UnknownGroup => Err(GroupError::Unknown),
            MembersChangeOutcome::UnknownAccount(_) => Err(GroupError::UnknownAccount),
        }
    }

    /// Sets or clears the id that an identity provider knows a group by.
    pub async fn set_external_id(
        &self,
        group: GroupId,
        external_id: Option<&str>,
    ) -> Result<(), GroupError> {
        let id = external_id.map(str::trim);
        if !id.is_none_or(is_external_id) {
            return Err(GroupError::ExternalId);
        }

        let effects = audit_effects(self.clock.now(), None, group, "Group.ExternalIdChanged");
        match self.store.set_external_id(group, id.map(str::to_owned), effects).await? {
            ExternalIdOutcome::Done => Ok(()),
            ExternalIdOutcome::Unknown => Err(GroupError::Unknown),
            ExternalIdOutcome::Taken => Err(GroupError::ExternalIdTaken),
        }
    }
}

fn is_external_id(text: &str) -> bool {
    (1..=MAX_EXTERNAL_ID_CHARS).contains(&utf16_len(text)) && !text.chars().any(char::is_control)
}

/// Returns the side effects of moving a user into a group.
fn member_added_effects(
    at: Timestamp,
    actor: Option<UserId>,
    user: UserId,
    group: GroupId,
) -> SideEffects {
    let mut effects = audit_effects(at, actor, group, "Group.MemberAdded");
    for entry in &mut effects.audit {
        entry.subject = Some(user);
    }
    effects
}

fn audit_effects(
    at: Timestamp,
    actor: Option<UserId>,
    group: GroupId,
    action: &'static str,
) -> SideEffects {
    SideEffects::of_object(at, actor, format!("group:{group}"), action)
}

#[cfg(test)]
mod tests;
