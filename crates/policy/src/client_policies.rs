//! Client policies: settings that administrators publish to groups, and that
//! members' clients apply.
//!
//! A policy belongs to any number of groups, a group has at most one policy. Members
//! get the document with their next pull, as part of the catalogue. Every write, also
//! a `restore`, adds a version (`version.rs`); versions never change.

mod document;
mod ports;
mod version;

use std::sync::Arc;

use pia_kernel::{
    ClientPolicyId, Clock, GroupId, SideEffects, Timestamp, Unavailable, UserId, utf16_len,
};
use serde::Serialize;

pub use document::{PolicyDocument, PolicyDocumentError};
#[cfg(any(test, feature = "mock"))]
pub use ports::MockClientPolicyStore;
pub use ports::{
    ClientPolicyStore, PolicyAssignmentOutcome, PolicyDeletionOutcome, PolicyStoreOutcome,
    PolicyUpdate,
};
pub use version::{PolicyComparison, PolicyVersion, PolicyVersionEntry, SettingDifference};

/// Maximum length of a name in characters.
const MAX_NAME_CHARS: usize = 100;
/// Maximum length of a description in characters.
const MAX_DESCRIPTION_CHARS: usize = 1000;

/// Contents of a client policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClientPolicyDraft {
    /// Name: 1 to 100 characters, unique without regard to case.
    pub name: String,
    /// Description for administrators, of up to 1,000 characters.
    pub description: Option<String>,
    /// Settings for clients.
    pub document: PolicyDocument,
}

/// Client policy that administrators publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientPolicy {
    /// Id of the policy.
    pub id: ClientPolicyId,
    /// Contents of the policy.
    pub draft: ClientPolicyDraft,
    /// Time of the last change, which is the version that an update expects.
    pub updated_at: Timestamp,
}

/// Client policy in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientPolicyEntry {
    /// Id of the policy.
    pub id: ClientPolicyId,
    /// Name of the policy.
    pub name: String,
    /// Description for administrators.
    pub description: Option<String>,
    /// Size of the document in UTF-8 bytes.
    pub document_bytes: usize,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Number of groups that have it.
    pub group_count: u64,
}

/// Policy of a group; `None` if it has none, or a deleted one.
pub type AssignedPolicy = Option<ClientPolicy>;

/// Errors that prevent a client policy from being read or changed.
#[derive(Debug, thiserror::Error)]
pub enum ClientPolicyError {
    /// Name is missing.
    #[error("The policy needs a name.")]
    NameMissing,
    /// Name is too long or contains control characters.
    #[error("The name must have at most {MAX_NAME_CHARS} characters and no control characters.")]
    NameInvalid,
    /// Description is too long or contains NUL characters.
    #[error("The description must have at most {MAX_DESCRIPTION_CHARS} characters and no NUL.")]
    DescriptionInvalid,
    /// Document is invalid.
    #[error(transparent)]
    Document(#[from] PolicyDocumentError),
    /// Another policy has this name.
    #[error("Another client policy has this name.")]
    NameTaken,
    /// No such policy.
    #[error("There is no such client policy.")]
    Unknown,
    /// Policy was changed since the administrator loaded it; nothing was stored.
    #[error("The client policy was changed in the meantime. Load it again.")]
    Stale,
    /// Policy to assign does not exist.
    #[error("There is no such client policy.")]
    UnknownAssigned,
    /// No such group.
    #[error("There is no such group.")]
    UnknownGroup,
    /// Policy is assigned to groups.
    #[error("The client policy is assigned to groups.")]
    InUse {
        /// Names of the groups.
        groups: Vec<String>,
    },
    /// Store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

impl ClientPolicyDraft {
    /// Checks the contents of a policy as an administrator sent them.
    pub fn parse(
        name: Option<&str>,
        description: Option<&str>,
        document: Option<&str>,
    ) -> Result<Self, ClientPolicyError> {
        let name = name
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .ok_or(ClientPolicyError::NameMissing)?;
        if utf16_len(name) > MAX_NAME_CHARS || name.chars().any(char::is_control) {
            return Err(ClientPolicyError::NameInvalid);
        }

        let description = description.map(str::trim).filter(|it| !it.is_empty());
        let is_invalid = |it: &str| utf16_len(it) > MAX_DESCRIPTION_CHARS || it.contains('\0');
        if description.is_some_and(is_invalid) {
            return Err(ClientPolicyError::DescriptionInvalid);
        }

        Ok(Self {
            name: name.to_owned(),
            description: description.map(str::to_owned),
            document: PolicyDocument::parse(document.unwrap_or_default())?,
        })
    }

    /// Returns the form in which names are compared.
    pub fn folded_name(&self) -> String {
        self.name.to_lowercase()
    }
}

/// Creates, changes, deletes and assigns client policies.
#[derive(Clone)]
pub struct ClientPolicies {
    store: Arc<dyn ClientPolicyStore>,
    clock: Arc<dyn Clock>,
}

impl ClientPolicies {
    /// Creates the use case over a store.
    pub fn new(store: Arc<dyn ClientPolicyStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Returns all policies, by name.
    pub async fn list(&self) -> Result<Vec<ClientPolicyEntry>, ClientPolicyError> {
        Ok(self.store.all().await?)
    }

    /// Returns a policy.
    pub async fn find(&self, policy: ClientPolicyId) -> Result<ClientPolicy, ClientPolicyError> {
        self.store.find(policy).await?.ok_or(ClientPolicyError::Unknown)
    }

    /// Returns ids and names of the groups that have a policy, by name.
    pub async fn groups_of(
        &self,
        policy: ClientPolicyId,
    ) -> Result<Vec<(GroupId, String)>, ClientPolicyError> {
        self.store.groups_of(policy).await?.ok_or(ClientPolicyError::Unknown)
    }

    /// Creates a policy, and returns its id.
    pub async fn create(
        &self,
        by: UserId,
        draft: ClientPolicyDraft,
    ) -> Result<ClientPolicyId, ClientPolicyError> {
        let id = ClientPolicyId::generate();
        let updated_at = self.clock.now();
        let effects = audit_effects(updated_at, by, id, "ClientPolicy.Created");
        let policy = ClientPolicy { id, draft, updated_at };
        check_stored(self.store.create(policy, by, effects).await?).map(|()| id)
    }

    /// Replaces name, description and document of a policy. `expected` is the
    /// time of the last change that the administrator loaded, if it matters.
    pub async fn replace(
        &self,
        by: UserId,
        policy: ClientPolicyId,
        draft: ClientPolicyDraft,
        expected: Option<Timestamp>,
    ) -> Result<(), ClientPolicyError> {
        let at = self.clock.now();
        let effects = audit_effects(at, by, policy, "ClientPolicy.Updated");
        let update = PolicyUpdate { draft, by, at, expected };
        check_stored(self.store.replace(policy, update, effects).await?)
    }

    /// Returns the versions of a policy, newest first.
    pub async fn versions(
        &self,
        policy: ClientPolicyId,
    ) -> Result<Vec<PolicyVersionEntry>, ClientPolicyError> {
        self.store.versions(policy).await?.ok_or(ClientPolicyError::Unknown)
    }

    /// Returns a version of a policy.
    pub async fn version(
        &self,
        policy: ClientPolicyId,
        number: i32,
    ) -> Result<PolicyVersion, ClientPolicyError> {
        self.store.version(policy, number).await?.ok_or(ClientPolicyError::Unknown)
    }

    /// Compares a version with another one, or with the newest.
    pub async fn compare(
        &self,
        policy: ClientPolicyId,
        from: i32,
        to: Option<i32>,
    ) -> Result<PolicyComparison, ClientPolicyError> {
        let newest = self.versions(policy).await?.first().map(|it| it.number);
        let to_number = to.or(newest).ok_or(ClientPolicyError::Unknown)?;
        let from_version = self.version(policy, from).await?;
        let to_version = self.version(policy, to_number).await?;
        Ok(PolicyComparison::new(from_version, to_version))
    }

    /// Replaces the contents of a policy by those of one of its versions.
    pub async fn restore(
        &self,
        by: UserId,
        policy: ClientPolicyId,
        number: i32,
        expected: Option<Timestamp>,
    ) -> Result<(), ClientPolicyError> {
        let draft = self.version(policy, number).await?.draft;
        let at = self.clock.now();
        let effects = audit_effects(at, by, policy, "ClientPolicy.Restored");
        let update = PolicyUpdate { draft, by, at, expected };
        check_stored(self.store.replace(policy, update, effects).await?)
    }

    /// Deletes a policy that no group has.
    pub async fn delete(
        &self,
        by: UserId,
        policy: ClientPolicyId,
    ) -> Result<(), ClientPolicyError> {
        let at = self.clock.now();
        let effects = audit_effects(at, by, policy, "ClientPolicy.Deleted");
        match self.store.delete(policy, at, effects).await? {
            PolicyDeletionOutcome::Done => Ok(()),
            PolicyDeletionOutcome::Unknown => Err(ClientPolicyError::Unknown),
            PolicyDeletionOutcome::InUse(groups) => Err(ClientPolicyError::InUse { groups }),
        }
    }

    /// Returns the policy of a group.
    pub async fn of_group(&self, group: GroupId) -> Result<AssignedPolicy, ClientPolicyError> {
        self.store.of_group(group).await?.ok_or(ClientPolicyError::UnknownGroup)
    }

    /// Assigns a policy to a group, or removes the group's policy.
    pub async fn assign(
        &self,
        by: UserId,
        group: GroupId,
        policy: Option<ClientPolicyId>,
    ) -> Result<(), ClientPolicyError> {
        let object = format!("group:{group}");
        let effects =
            SideEffects::of_object(self.clock.now(), Some(by), object, "Group.ClientPolicyUpdated");
        match self.store.assign(group, policy, effects).await? {
            PolicyAssignmentOutcome::Done => Ok(()),
            PolicyAssignmentOutcome::UnknownGroup => Err(ClientPolicyError::UnknownGroup),
            PolicyAssignmentOutcome::UnknownPolicy => Err(ClientPolicyError::UnknownAssigned),
        }
    }
}

fn audit_effects(
    at: Timestamp,
    by: UserId,
    policy: ClientPolicyId,
    action: &'static str,
) -> SideEffects {
    SideEffects::of_object(at, Some(by), format!("client-policy:{policy}"), action)
}

fn check_stored(outcome: PolicyStoreOutcome) -> Result<(), ClientPolicyError> {
    match outcome {
        PolicyStoreOutcome::Done => Ok(()),
        PolicyStoreOutcome::Unknown => Err(ClientPolicyError::Unknown),
        PolicyStoreOutcome::NameTaken => Err(ClientPolicyError::NameTaken),
        PolicyStoreOutcome::Stale => Err(ClientPolicyError::Stale),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_trimmed_and_bounded() {
        let longest_name = "x".repeat(MAX_NAME_CHARS);

        let draft = ClientPolicyDraft::parse(Some(" Sales "), Some(" "), None).unwrap();

        assert_eq!(draft.name, "Sales");
        assert_eq!(draft.description, None);
        assert_eq!(draft.document, PolicyDocument::default());
        assert!(ClientPolicyDraft::parse(Some(&longest_name), None, None).is_ok());
    }

    #[test]
    fn the_first_invalid_field_of_a_draft_is_reported() {
        let long_name = "x".repeat(MAX_NAME_CHARS + 1);
        let long_description = "x".repeat(MAX_DESCRIPTION_CHARS + 1);
        let error = |name, description| {
            ClientPolicyDraft::parse(name, description, Some("[")).unwrap_err().to_string()
        };

        assert!(error(None, None).contains("needs a name"));
        assert!(error(Some(" "), None).contains("needs a name"));
        assert!(error(Some(&long_name), None).contains("at most 100"));
        assert!(error(Some("a\nb"), None).contains("control"));
        assert!(error(Some("a"), Some(&long_description)).contains("at most 1000"));
        assert!(error(Some("a"), Some("a\0")).contains("no NUL"));
        assert!(error(Some("a"), None).contains("valid JSON"));
    }
}
