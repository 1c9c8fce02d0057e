//! Port of knowledge bases; implemented in `storage-knowledge`.

use async_trait::async_trait;
use pia_kernel::{
    GroupId, GroupSelection, KnowledgeBaseId, PersonaId, SideEffects, Timestamp, Unavailable,
};

use crate::base::{BaseAccess, BaseRef, BaseStats, KnowledgeBase, KnowledgeBaseEntry};

/// Store of knowledge bases.
///
/// Under concurrent changes no group exceeds its quota of bases, and no two
/// bases have one name.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait BaseStore: Send + Sync {
    /// Loads the bases of this access, by name.
    async fn list(&self, access: BaseAccess) -> Result<Vec<KnowledgeBaseEntry>, Unavailable>;

    /// Loads a base; `None` if it does not exist or the access excludes it.
    async fn find(&self, base: BaseRef) -> Result<Option<KnowledgeBaseEntry>, Unavailable>;

    /// Counts the documents of a base. Tokens are those embedded since `month`.
    async fn stats(
        &self,
        base: BaseRef,
        month: Timestamp,
        defaults: GroupQuotas,
    ) -> Result<Option<BaseStats>, Unavailable>;

    /// Stores a new base.
    async fn create(
        &self,
        base: KnowledgeBase,
        defaults: GroupQuotas,
        effects: SideEffects,
    ) -> Result<BaseChangeOutcome, Unavailable>;

    /// Renames a base. Returns `NameTaken` if another base has the name.
    async fn rename(
        &self,
        base: KnowledgeBaseId,
        name: &str,
        effects: SideEffects,
    ) -> Result<BaseChangeOutcome, Unavailable>;

    /// Replaces a base's prompt. Returns false if there is no such base.
    async fn set_prompt(
        &self,
        base: BaseRef,
        prompt: Option<String>,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Deletes a base with its documents. Returns false if there is none.
    async fn delete(
        &self,
        base: KnowledgeBaseId,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Shares a base with the selected groups beside its owner. Of concurrent changes none is
    /// lost.
    async fn share(
        &self,
        base: KnowledgeBaseId,
        groups: GroupSelection,
        defaults: GroupQuotas,
        effects: SideEffects,
    ) -> Result<BaseChangeOutcome, Unavailable>;

    /// Loads the bases that are bound to a persona, by id; `None` if there is
    /// no such persona.
    async fn list_bound(
        &self,
        persona: PersonaId,
    ) -> Result<Option<Vec<KnowledgeBaseId>>, Unavailable>;

    /// Binds exactly these bases to a persona.
    async fn bind(
        &self,
        persona: PersonaId,
        bases: &[KnowledgeBaseId],
        defaults: GroupQuotas,
        effects: SideEffects,
    ) -> Result<BaseChangeOutcome, Unavailable>;
}

/// Limits of groups without settings of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupQuotas {
    /// Bases that a group searches: its own, those shared with it, and those
    /// bound to its personas.
    pub bases: i64,
    /// Documents in all bases that it owns.
    pub documents: i64,
    /// Bytes of these documents.
    pub bytes: i64,
    /// Tokens that are embedded for these bases within a calendar month, UTC.
    pub monthly_tokens: i64,
}

/// Outcome of a change of a base, its groups or its personas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseChangeOutcome {
    /// Change was stored with its effects.
    Done,
    /// No such base or persona.
    Unknown,
    /// Another base has the name.
    NameTaken,
    /// One of the groups does not exist.
    UnknownGroup(GroupId),
    /// One of the bases does not exist.
    UnknownBase(KnowledgeBaseId),
    /// A group would search more bases than it may.
    QuotaExceeded {
        /// Name of the group.
        group: String,
        /// Maximum number of bases that the group searches.
        limit: i64,
        /// Number that there would be.
        current: i64,
    },
}
