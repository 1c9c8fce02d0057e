//! Store of managed personas; implemented in `storage-policy`.

use async_trait::async_trait;
use pia_kernel::{
    GroupId, GroupSelection, PersonaId, PluginId, SideEffects, Timestamp, Unavailable,
};

use super::{PersonaContent, PersonaEntry, PublishedPersona};

/// Store of managed personas.
///
/// Every accepted write gives the catalogue its next version. Under concurrent
/// writes, no group exceeds its quota of personas, and of two updates that
/// expect the same version one is stored. Times of changes grow.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait PersonaStore: Send + Sync {
    /// Loads all personas, by name.
    async fn all(&self) -> Result<Vec<PersonaEntry>, Unavailable>;

    /// Loads a persona.
    async fn find(&self, persona: PersonaId) -> Result<Option<PublishedPersona>, Unavailable>;

    /// Loads the groups of a persona, by id; `None` if there is no such persona.
    async fn groups_of(&self, persona: PersonaId) -> Result<Option<Vec<GroupId>>, Unavailable>;

    /// Loads the ids and names of the personas that are assigned to a group, by name.
    async fn names_of_group(&self, group: GroupId)
    -> Result<Vec<(PersonaId, String)>, Unavailable>;

    /// Loads the plugins of a persona, by id; `None` if there is no such
    /// persona.
    async fn plugins_of(&self, persona: PersonaId) -> Result<Option<Vec<PluginId>>, Unavailable>;

    /// Loads a persona that is active and assigned to this group.
    async fn of_group(
        &self,
        group: GroupId,
        persona: PersonaId,
    ) -> Result<Option<PublishedPersona>, Unavailable>;

    /// Stores a new persona, without groups.
    async fn create(
        &self,
        persona: PublishedPersona,
        effects: SideEffects,
    ) -> Result<(), Unavailable>;

    /// Replaces the contents of a persona.
    async fn replace(
        &self,
        persona: PersonaId,
        update: PersonaUpdate,
        effects: SideEffects,
    ) -> Result<PersonaChangeOutcome, Unavailable>;

    /// Deletes a persona. Members of its groups learn of that with their next pull.
    /// Returns false if there is no such persona.
    async fn delete(
        &self,
        persona: PersonaId,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Assigns a persona to the selected groups. Of concurrent changes none is lost.
    async fn assign(
        &self,
        persona: PersonaId,
        groups: GroupSelection,
        defaults: PersonaQuotas,
        effects: SideEffects,
    ) -> Result<PersonaAssignmentOutcome, Unavailable>;

    /// Binds exactly these plugins to a persona.
    async fn bind(
        &self,
        persona: PersonaId,
        plugins: &[PluginId],
        effects: SideEffects,
    ) -> Result<PersonaBindingOutcome, Unavailable>;
}

/// New contents of a persona.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonaUpdate {
    /// Contents that replace the stored ones.
    pub content: PersonaContent,
    /// New state; `None` leaves it unchanged.
    pub is_active: Option<bool>,
    /// Time of the change.
    pub at: Timestamp,
    /// Time of the last change that the administrator loaded; `None` accepts any.
    pub expected: Option<Timestamp>,
}

/// Outcome of replacing a persona's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonaChangeOutcome {
    /// Contents were replaced.
    Done,
    /// No such persona.
    Unknown,
    /// Persona was changed since the administrator loaded it.
    Stale,
}

/// Outcome of assigning a persona to groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonaAssignmentOutcome {
    /// Selected groups have it.
    Done,
    /// No such persona.
    Unknown,
    /// One of the groups does not exist.
    UnknownGroup(GroupId),
    /// One of the groups would search more knowledge bases than it may.
    BaseQuotaExceeded {
        /// Name of the group.
        group: String,
        /// Maximum number of its knowledge bases.
        limit: i64,
    },
    /// One of the groups has its maximum number of personas.
    QuotaExceeded {
        /// Name of the group.
        group: String,
        /// Maximum number of its personas.
        limit: i64,
    },
}

/// Limits of groups without settings of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PersonaQuotas {
    /// Personas of a group.
    pub personas: i64,
    /// Knowledge bases that a group searches, those of its personas included.
    pub knowledge_bases: i64,
}

/// Outcome of binding plugins to a persona.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonaBindingOutcome {
    /// Exactly these plugins are bound.
    Done,
    /// No such persona.
    Unknown,
    /// One of the plugins does not exist.
    UnknownPlugin(PluginId),
}
