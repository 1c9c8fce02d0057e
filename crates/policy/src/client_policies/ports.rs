//! Store of client policies; implemented in `storage-policy`.

use async_trait::async_trait;
use pia_kernel::{ClientPolicyId, GroupId, SideEffects, Timestamp, Unavailable, UserId};

use super::{
    AssignedPolicy, ClientPolicy, ClientPolicyDraft, ClientPolicyEntry, PolicyVersion,
    PolicyVersionEntry,
};

/// Store of client policies.
///
/// Every accepted write gives the catalogue its next version, so that members
/// get it with their next pull. Under concurrent writes, names of policies stay
/// unique without regard to case, no group has a deleted policy, and of two
/// updates that expect the same version one is stored. Times of changes only
/// grow, and each accepted write leaves a version with the next number.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ClientPolicyStore: Send + Sync {
    /// Loads all policies, by name without regard to case.
    async fn all(&self) -> Result<Vec<ClientPolicyEntry>, Unavailable>;

    /// Loads a policy.
    async fn find(&self, policy: ClientPolicyId) -> Result<Option<ClientPolicy>, Unavailable>;

    /// Loads the groups that have a policy, by name; `None` if there is no
    /// such policy.
    async fn groups_of(
        &self,
        policy: ClientPolicyId,
    ) -> Result<Option<Vec<(GroupId, String)>>, Unavailable>;

    /// Stores a new policy of an administrator.
    async fn create(
        &self,
        policy: ClientPolicy,
        by: UserId,
        effects: SideEffects,
    ) -> Result<PolicyStoreOutcome, Unavailable>;

    /// Replaces the contents of a policy.
    async fn replace(
        &self,
        policy: ClientPolicyId,
        update: PolicyUpdate,
        effects: SideEffects,
    ) -> Result<PolicyStoreOutcome, Unavailable>;

    /// Deletes a policy that no group has.
    async fn delete(
        &self,
        policy: ClientPolicyId,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<PolicyDeletionOutcome, Unavailable>;

    /// Loads the versions of a policy, newest first; `None` if there is no
    /// such policy.
    async fn versions(
        &self,
        policy: ClientPolicyId,
    ) -> Result<Option<Vec<PolicyVersionEntry>>, Unavailable>;

    /// Loads a version of a policy.
    async fn version(
        &self,
        policy: ClientPolicyId,
        number: i32,
    ) -> Result<Option<PolicyVersion>, Unavailable>;

    /// Loads the policy of a group; `None` if there is no such group.
    async fn of_group(&self, group: GroupId) -> Result<Option<AssignedPolicy>, Unavailable>;

    /// Assigns a policy to a group, or removes the group's policy.
    async fn assign(
        &self,
        group: GroupId,
        policy: Option<ClientPolicyId>,
        effects: SideEffects,
    ) -> Result<PolicyAssignmentOutcome, Unavailable>;
}

/// New contents of a client policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyUpdate {
    /// Contents that replace the stored ones.
    pub draft: ClientPolicyDraft,
    /// Administrator who wrote them.
    pub by: UserId,
    /// Time of the change.
    pub at: Timestamp,
    /// Time of the last change that the administrator loaded; `None` accepts any.
    pub expected: Option<Timestamp>,
}

/// Outcome of storing a client policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyStoreOutcome {
    /// Policy was stored.
    Done,
    /// No such policy.
    Unknown,
    /// Another policy has this name, in any case.
    NameTaken,
    /// Policy was changed since the administrator loaded it.
    Stale,
}

/// Outcome of deleting a client policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyDeletionOutcome {
    /// Policy was deleted.
    Done,
    /// No such policy.
    Unknown,
    /// Policy is assigned to these groups, by name.
    InUse(Vec<String>),
}

/// Outcome of assigning a client policy to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyAssignmentOutcome {
    /// Group has the policy.
    Done,
    /// No such group.
    UnknownGroup,
    /// No such policy.
    UnknownPolicy,
}
