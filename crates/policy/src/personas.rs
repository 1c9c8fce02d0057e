//! Managed personas: personas that administrators publish to groups.
//!
//! A persona has groups, whose members get it with their next pull, and plugins and
//! knowledge bases that are bound to it. A deleted persona stays as a tombstone, from
//! which clients learn of the deletion.

mod draft;
mod ports;

use std::collections::BTreeSet;
use std::sync::Arc;

use pia_kernel::{
    Clock, GroupId, GroupSelection, PersonaId, PluginId, SideEffects, Timestamp, Unavailable,
    UserId,
};
use serde::Serialize;

pub use draft::{PersonaContent, PersonaDraft};
#[cfg(any(test, feature = "mock"))]
pub use ports::MockPersonaStore;
pub use ports::{
    PersonaAssignmentOutcome, PersonaBindingOutcome, PersonaChangeOutcome, PersonaQuotas,
    PersonaStore, PersonaUpdate,
};

use crate::groups::Quota;
use crate::violation::Violation;

/// Maximum number of groups or plugins in one request.
const MAX_BINDINGS: usize = 10_000;

/// Persona that administrators publish. Its contents and state are serialized for the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PublishedPersona {
    /// Id of the persona.
    #[serde(skip)]
    pub id: PersonaId,
    /// Contents of the persona.
    #[serde(flatten)]
    pub content: PersonaContent,
    /// False if members do not get it until it is reactivated.
    pub is_active: bool,
    /// Time of its creation.
    #[serde(skip)]
    pub created_at: Timestamp,
    /// Time of the last change, which is the version that an update expects.
    #[serde(skip)]
    pub updated_at: Timestamp,
}

/// Managed persona in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonaEntry {
    /// Persona as it is published.
    pub persona: PublishedPersona,
    /// Number of groups that it is assigned to.
    pub group_count: u64,
    /// Number of plugins that are bound to it.
    pub plugin_count: u64,
}

/// Errors that prevent a managed persona from being read or changed.
#[derive(Debug, thiserror::Error)]
pub enum PersonaError {
    /// Contents are invalid.
    #[error("Some fields of the persona are invalid.")]
    Invalid(Vec<Violation>),
    /// No such persona.
    #[error("There is no such persona.")]
    Unknown,
    /// Persona was changed since the administrator loaded it.
    #[error("The persona was changed in the meantime. Load it again.")]
    Stale,
    /// One of the groups does not exist.
    #[error("There is no group with the id {0}.")]
    UnknownGroup(GroupId),
    /// One of the plugins does not exist.
    #[error("There is no plugin with the id {0}.")]
    UnknownPlugin(PluginId),
    /// Group has its maximum number of personas.
    #[error("The group {group} has its maximum of {limit} personas.")]
    QuotaExceeded {
        /// Name of the group.
        group: String,
        /// Maximum number of its personas.
        limit: i64,
    },
    /// Group would search more knowledge bases than it may.
    #[error("With this persona the group {group} would have more than {limit} knowledge bases.")]
    BaseQuotaExceeded {
        /// Name of the group.
        group: String,
        /// Maximum number of its knowledge bases.
        limit: i64,
    },
    /// Store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Creates, changes, deletes and assigns managed personas.
#[derive(Clone)]
pub struct ManagedPersonas {
    store: Arc<dyn PersonaStore>,
    clock: Arc<dyn Clock>,
}

impl ManagedPersonas {
    /// Creates the use case over a store.
    pub fn new(store: Arc<dyn PersonaStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Returns all personas, by name.
    pub async fn list(&self) -> Result<Vec<PersonaEntry>, PersonaError> {
        Ok(self.store.all().await?)
    }

    /// Returns a persona.
    pub async fn find(&self, persona: PersonaId) -> Result<PublishedPersona, PersonaError> {
        self.store.find(persona).await?.ok_or(PersonaError::Unknown)
    }

    /// Returns a persona that is active and assigned to this group.
    pub async fn of_group(
        &self,
        group: GroupId,
        persona: PersonaId,
    ) -> Result<Option<PublishedPersona>, Unavailable> {
        self.store.of_group(group, persona).await
    }

    /// Returns the groups that a persona is assigned to.
    pub async fn groups_of(&self, persona: PersonaId) -> Result<Vec<GroupId>, PersonaError> {
        self.store.groups_of(persona).await?.ok_or(PersonaError::Unknown)
    }

    /// Returns the ids and names of the personas that are assigned to a group, by name.
    pub async fn names_of_group(
        &self,
        group: GroupId,
    ) -> Result<Vec<(PersonaId, String)>, Unavailable> {
        self.store.names_of_group(group).await
    }

    /// Returns the plugins that are bound to a persona.
    pub async fn plugins_of(&self, persona: PersonaId) -> Result<Vec<PluginId>, PersonaError> {
        self.store.plugins_of(persona).await?.ok_or(PersonaError::Unknown)
    }

    /// Creates a persona without groups, active unless specified otherwise, and
    /// returns it.
    pub async fn create(
        &self,
        by: UserId,
        draft: PersonaDraft,
    ) -> Result<PublishedPersona, PersonaError> {
        let is_active = draft.is_active.unwrap_or(true);
        let content = draft.validate().map_err(PersonaError::Invalid)?;
        let id = PersonaId::generate();
        let at = self.clock.now();
        let persona = PublishedPersona { id, content, is_active, created_at: at, updated_at: at };
        let effects = self.effects(by, id, "ManagedPersona.Created");
        self.store.create(persona.clone(), effects).await?;
        Ok(persona)
    }

    /// Replaces the contents of a persona: an omitted field is cleared, except
    /// for its state. `expected` is the time of the last change that the
    /// administrator loaded, if it matters.
    pub async fn replace(
        &self,
        by: UserId,
        persona: PersonaId,
        draft: PersonaDraft,
        expected: Option<Timestamp>,
    ) -> Result<(), PersonaError> {
        let is_active = draft.is_active;
        let content = draft.validate().map_err(PersonaError::Invalid)?;
        let update = PersonaUpdate { content, is_active, at: self.clock.now(), expected };
        let effects = self.effects(by, persona, "ManagedPersona.Updated");
        match self.store.replace(persona, update, effects).await? {
            PersonaChangeOutcome::Done => Ok(()),
            PersonaChangeOutcome::Unknown => Err(PersonaError::Unknown),
            PersonaChangeOutcome::Stale => Err(PersonaError::Stale),
        }
    }

    /// Deletes a persona. Members' clients remove it with their next pull.
    pub async fn delete(&self, by: UserId, persona: PersonaId) -> Result<(), PersonaError> {
        let effects = self.effects(by, persona, "ManagedPersona.Deleted");
        let existed = self.store.delete(persona, self.clock.now(), effects).await?;
        if existed { Ok(()) } else { Err(PersonaError::Unknown) }
    }

    /// Assigns a persona to the selected groups.
    pub async fn assign(
        &self,
        by: UserId,
        persona: PersonaId,
        groups: GroupSelection,
    ) -> Result<(), PersonaError> {
        check_count("groupIds", groups.count())?;
        let limit = |quota: Quota| quota.default_limit().unwrap_or(i64::MAX);
        let defaults = PersonaQuotas {
            personas: limit(Quota::ManagedPersonas),
            knowledge_bases: limit(Quota::KnowledgeBases),
        };

        let effects = self.effects(by, persona, "ManagedPersona.GroupsUpdated");
        match self.store.assign(persona, groups, defaults, effects).await? {
            PersonaAssignmentOutcome::Done => Ok(()),
            PersonaAssignmentOutcome::Unknown => Err(PersonaError::Unknown),
            PersonaAssignmentOutcome::UnknownGroup(group) => Err(PersonaError::UnknownGroup(group)),
            PersonaAssignmentOutcome::BaseQuotaExceeded { group, limit } => {
                Err(PersonaError::BaseQuotaExceeded { group, limit })
            }
            PersonaAssignmentOutcome::QuotaExceeded { group, limit } => {
                Err(PersonaError::QuotaExceeded { group, limit })
            }
        }
    }

    /// Binds exactly these plugins to a persona.
    pub async fn bind(
        &self,
        by: UserId,
        persona: PersonaId,
        plugins: Vec<PluginId>,
    ) -> Result<(), PersonaError> {
        let plugins = distinct_bindings("pluginIds", plugins)?;
        let effects = self.effects(by, persona, "ManagedPersona.PluginsUpdated");
        match self.store.bind(persona, &plugins, effects).await? {
            PersonaBindingOutcome::Done => Ok(()),
            PersonaBindingOutcome::Unknown => Err(PersonaError::Unknown),
            PersonaBindingOutcome::UnknownPlugin(plugin) => {
                Err(PersonaError::UnknownPlugin(plugin))
            }
        }
    }

    fn effects(&self, by: UserId, persona: PersonaId, action: &'static str) -> SideEffects {
        let at = self.clock.now();
        let object = format!("managed-persona:{persona}");
        SideEffects::of_object(at, Some(by), object, action)
    }
}

/// Returns the ids in ascending order, each once.
fn distinct_bindings<T: Ord>(field: &'static str, ids: Vec<T>) -> Result<Vec<T>, PersonaError> {
    check_count(field, ids.len())?;
    Ok(BTreeSet::from_iter(ids).into_iter().collect())
}

fn check_count(field: &'static str, count: usize) -> Result<(), PersonaError> {
    if count > MAX_BINDINGS {
        let message = format!("{field} must have at most {MAX_BINDINGS} entries.");
        return Err(PersonaError::Invalid(vec![Violation { field, code: "too_many", message }]));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use pia_testkit::ManualClock;

    use super::*;

    #[tokio::test]
    async fn groups_are_assigned_with_the_default_quotas() {
        let groups = GroupSelection::Exactly(vec![GroupId::generate()]);
        let expected = groups.clone();
        let mut store = MockPersonaStore::new();
        store
            .expect_assign()
            .withf(move |_, groups, quota, effects| {
                *groups == expected && quota.personas == 50 && effects.audit.len() == 1
            })
            .returning(|_, _, _, _| Ok(PersonaAssignmentOutcome::Done));
        let clock = Arc::new(ManualClock::new(Timestamp::UNIX_EPOCH));
        let personas = ManagedPersonas::new(Arc::new(store), clock);

        let by = UserId::generate();
        personas.assign(by, PersonaId::generate(), groups).await.unwrap();
    }
}
